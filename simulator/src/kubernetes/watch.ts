import { type Body, object, text } from '../config/shape.ts'
import type { EtcdCluster } from '../cluster/etcd.ts'
import { type Change, historyOf } from './history.ts'
import { apiVersionOf, type Target } from './kinds.ts'
import type { Source } from './reading/reported.ts'
import { chooser } from './reading/selectors.ts'
import { badRequest, Refusal } from './refusal.ts'

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED'

/** Receiver of a watch's events. */
export interface Stream {
  send(event: { type: EventType | 'BOOKMARK' | 'ERROR'; object: object }): void
  end(): void
}

/** Starts to send events. Returns a function that stops sending. */
export type Watch = (stream: Stream) => () => void

const BOOKMARK_EVERY_MS = 60_000
const OBSERVE_EVERY_MS = 500
/** Kubernetes ends a watch after half an hour to an hour. */
const DEFAULT_TIMEOUT_S = 1_800

/**
 * Watches changes from a version on, or lists all objects and then watches. If changes after the
 * version were dropped, the stream gets an error 410 and the caller lists again (Kubernetes:
 * docs/reference/using-api/api-concepts, "Efficient detection of changes"). `observe`, if given, is
 * called twice a second to detect changes of computed fields. Throws a `Refusal` for an invalid
 * query.
 */
export const watch = (
  cluster: EtcdCluster,
  objects: Source,
  { kind, namespace, name }: Target,
  query: URLSearchParams,
  present: (body: Body) => object,
  observe: (() => void) | null,
): Watch => {
  const asked = query.get('resourceVersion') ?? ''
  if (!/^\d{0,15}$/.test(asked))
    throw badRequest(
      `Invalid value: ${JSON.stringify(asked)}: strconv.ParseUint: parsing ${JSON.stringify(asked)}: invalid syntax`,
    )
  const seconds = Number(query.get('timeoutSeconds') ?? DEFAULT_TIMEOUT_S)
  if (!(seconds >= 0)) throw badRequest('timeoutSeconds must be a number')
  const isChosen = chooser(kind, query)
  const wantsInitial = query.get('sendInitialEvents') === 'true'
  const bookmarks = query.get('allowWatchBookmarks') === 'true'
  const isHere = (body: Body | null): body is Body =>
    body !== null && (name === '' || text(object(body.metadata).name) === name) && isChosen(body)

  return (stream) => {
    const history = historyOf(cluster)
    const bookmark = (annotations?: Body): void => {
      const metadata = {
        resourceVersion: objects.resourceVersion,
        ...(annotations && { annotations }),
      }
      stream.send({
        type: 'BOOKMARK',
        object: { kind: kind.kind, apiVersion: apiVersionOf(kind), metadata },
      })
    }
    const tell = (change: Change): void => {
      if (
        change.kind.group !== kind.group ||
        change.kind.plural !== kind.plural ||
        (namespace !== '' && change.namespace !== namespace)
      )
        return
      const { before, after } = change
      if (isHere(after))
        stream.send({ type: isHere(before) ? 'MODIFIED' : 'ADDED', object: present(after) })
      else if (isHere(before))
        // The object's last state that this watcher has seen, with the version of the removal.
        stream.send({
          type: 'DELETED',
          object: present({
            ...before,
            metadata: { ...object(before.metadata), resourceVersion: String(change.version) },
          }),
        })
    }

    const isFresh = wantsInitial || asked === '' || asked === '0'
    const missed = isFresh ? [] : history.after(Number(asked))
    if (missed === null) {
      const gone = new Refusal(
        410,
        'Expired',
        `too old resource version: ${asked} (${history.oldest})`,
      )
      stream.send({ type: 'ERROR', object: gone.status })
      stream.end()
      return () => undefined
    }
    if (isFresh)
      for (const body of objects.list(kind, namespace))
        if (isHere(body)) stream.send({ type: 'ADDED', object: present(body) })
    for (const change of missed) tell(change)
    if (wantsInitial && bookmarks) bookmark({ 'k8s.io/initial-events-end': 'true' })

    const forget = history.listen(tell)
    const { reported } = objects
    const compare =
      reported &&
      comparing(
        () => reported(namespace).filter(isHere),
        (type, body) => stream.send({ type, object: present(body) }),
      )
    const timers = [
      setTimeout(() => stream.end(), seconds * 1000),
      ...(bookmarks ? [setInterval(bookmark, BOOKMARK_EVERY_MS)] : []),
      ...(compare ? [setInterval(compare, OBSERVE_EVERY_MS)] : []),
      ...(observe ? [setInterval(observe, OBSERVE_EVERY_MS)] : []),
    ]
    for (const timer of timers) timer.unref()
    return () => {
      forget()
      for (const timer of timers) clearTimeout(timer)
    }
  }
}

/**
 * A function that sends how objects differ from those at its last call. Their versions don't count,
 * because reported objects have those of their nodes.
 */
function comparing(read: () => Body[], send: (type: EventType, body: Body) => void): () => void {
  const current = (): Map<string, { body: Body; state: string }> =>
    new Map(
      read().map((body) => {
        const { resourceVersion: _, ...metadata } = object(body.metadata)
        return [
          `${text(metadata.namespace)}/${text(metadata.name)}`,
          { body, state: JSON.stringify({ ...body, metadata }) },
        ]
      }),
    )
  let known = current()
  return () => {
    const before = known
    known = current()
    for (const [name, { body, state }] of known) {
      const old = before.get(name)
      if (old?.state !== state) send(old ? 'MODIFIED' : 'ADDED', body)
    }
    for (const [name, { body }] of before) if (!known.has(name)) send('DELETED', body)
  }
}
