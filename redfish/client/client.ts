/**
 * A client of one BMC: signs in, reads documents, writes and acts. It holds one session, which the
 * caller may keep and hand in again, and speaks HTTP Basic to a BMC that has no sessions.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { RedfishError } from '../errors.ts'
import { type Limits, usualLimits } from '../limits.ts'
import type { DocumentKind, Read } from '../readers/readers.ts'
import { type Answers, answers, type DocumentReader, okay } from './answers.ts'
import { locationPath, pathOf, printable, rootPath } from './paths.ts'
import { type Account, type OnSignedIn, type SignedIn, type Signing, signing } from './signing.ts'
import { type Place, type Reply, transport } from './transport.ts'

export type { DocumentReader } from './answers.ts'
export type { Account, SignedIn } from './signing.ts'

export interface ClientParts {
  readonly place: Place & { readonly fingerprint: string }
  readonly account: Account
  readonly read: DocumentReader
  /** Of an earlier client, to go on with. */
  readonly signedIn?: SignedIn | null
  readonly onSignedIn?: OnSignedIn
  readonly limits?: Limits
}

/** Documents that may still be read in one sweep. */
export interface Sweep {
  left: number
}

/** A document with the tag of its version. */
export interface Fetched<K extends DocumentKind> {
  readonly document: Read<K>
  readonly etag: string | null
}

export interface Done {
  readonly status: number
  /** What the BMC answered, in words; null if nothing. */
  readonly message: string | null
  /** The task that goes on after the answer (202). */
  readonly task: string | null
}

export interface RedfishClient {
  /** The service root, without a sign-in. @throws RedfishError */
  readonly root: (signal: AbortSignal) => Promise<Read<'root'>>
  readonly get: <K extends DocumentKind>(
    kind: K,
    path: string,
    signal: AbortSignal,
    sweep?: Sweep,
  ) => Promise<Fetched<K>>
  /** Paths of the members of a collection, over its pages. */
  readonly members: (path: string, signal: AbortSignal, sweep?: Sweep) => Promise<string[]>
  /** An action, or a new member of a collection. */
  readonly post: (path: string, body: object, signal: AbortSignal) => Promise<Done>
  /** Changes a document, with its tag where it has one. */
  readonly patch: (
    path: string,
    change: object,
    signal: AbortSignal,
    etag?: string | null,
  ) => Promise<Done>
  /** Waits for the end of a task. @throws RedfishError if it failed, or after `limitMs` */
  readonly finished: (task: string, signal: AbortSignal, limitMs: number) => Promise<void>
  /** Ends the session, if there is one. Never throws for what the BMC answers. */
  readonly signOut: (signal: AbortSignal) => Promise<void>
}

/** The tags to try, one after another: as read, as a strong one, none (`sushy` `_etag_handler`). */
export const tagLadder = (etag: string | null | undefined): (string | null)[] => {
  const tag = etag?.trim() ?? ''
  if (tag === '' || tag === '""') return [null]
  const strong = tag.replace(/^W\//, '')
  const weak = `W/${strong}`
  return [...new Set([tag, weak, strong]), null]
}

/** Waits for tasks. */
function waiting({
  ask,
  refusal,
  parse,
}: Pick<Answers, 'refusal' | 'parse'> & Pick<Signing, 'ask'>): RedfishClient['finished'] {
  return async (task, signal, limitMs) => {
    const until = performance.now() + limitMs
    for (let misses = 0; ;) {
      const reply = await ask({ method: 'GET', path: task, signal })
      // iDRAC answers 404 for a job that it has just made (`sushy/notes`).
      if (reply.status === 404 && misses++ < 3) await wait(1_000, undefined, { signal })
      else if (!okay(reply.status)) throw await refusal(reply, 'to show the task')
      else {
        if (reply.status !== 202 && reply.bytes.length === 0) return
        const state = await parse('task', reply, task)
        const word = state.TaskState ?? (reply.status === 202 ? 'Running' : 'Completed')
        if (/^(?:exception|killed|cancelled|interrupted)$/i.test(word))
          throw new RedfishError(
            'refused',
            `The task of the BMC failed${state.Messages[0]?.Message ? `: ${state.Messages[0].Message}` : ` (${word})`}`,
          )
        if (/^completed$/i.test(word)) return
        const after = Number(reply.headers['retry-after'] ?? '1')
        await wait(
          Math.min(Math.max(Number.isFinite(after) ? after : 1, 1), 30) * 1_000,
          undefined,
          {
            signal,
          },
        )
      }
      if (performance.now() > until)
        throw new RedfishError('busy', 'The task of the BMC has not ended in time')
    }
  }
}

export function redfishClient({
  place,
  account,
  read,
  signedIn: given = null,
  onSignedIn,
  limits = usualLimits,
}: ClientParts): RedfishClient {
  const wire = transport(place, limits)
  const { said, refusal, parse } = answers(read, () => signer.secrets())
  let known: Read<'root'> | null = null

  const root = async (signal: AbortSignal): Promise<Read<'root'>> => {
    if (known) return known
    const reply = await wire.ask({ method: 'GET', path: rootPath, signal })
    if (reply.status === 404)
      throw new RedfishError('unsupported', 'This BMC speaks no Redfish', { status: 404 })
    if (!okay(reply.status)) throw await refusal(reply, 'to show its Redfish service')
    known = await parse('root', reply, rootPath)
    return known
  }

  const signer = signing({
    wire,
    account,
    said,
    root,
    given,
    onSignedIn,
  })
  const { ask } = signer

  const spend = (sweep: Sweep | undefined): void => {
    if (sweep && --sweep.left < 0)
      throw new RedfishError(
        'unreadable',
        `The BMC has more than ${limits.documents} documents to read`,
      )
  }

  const get: RedfishClient['get'] = async (kind, path, signal, sweep) => {
    spend(sweep)
    const reply = await ask({ method: 'GET', path, signal })
    if (!okay(reply.status)) throw await refusal(reply, `to show ${printable(path, 100)}`)
    return { document: await parse(kind, reply, path), etag: reply.headers.etag ?? null }
  }

  const done = async (reply: Reply, what: string): Promise<Done> => {
    if (!okay(reply.status)) throw await refusal(reply, what)
    const { location } = reply.headers
    return {
      status: reply.status,
      message: await said(reply),
      task: reply.status === 202 && location !== undefined ? locationPath(location, wire) : null,
    }
  }

  return {
    root,
    get,
    async members(path, signal, sweep) {
      const found: string[] = []
      const seen = new Set<string>()
      for (let next: string | null = path; next !== null && !seen.has(next);) {
        seen.add(next)
        const { document }: Fetched<'collection'> = await get('collection', next, signal, sweep)
        found.push(...document.Members)
        const more: string | null = document['Members@odata.nextLink']
        next = more === null ? null : pathOf(more)
      }
      return [...new Set(found)]
    },
    post: async (path, body, signal) =>
      done(await ask({ method: 'POST', path, body, signal }), 'the act'),
    async patch(path, change, signal, etag) {
      let reply: Reply | undefined
      for (const tag of tagLadder(etag)) {
        reply = await ask({
          method: 'PATCH',
          path,
          body: change,
          signal,
          headers: tag === null ? {} : { 'If-Match': tag },
        })
        if (reply.status !== 412) break
      }
      return done(reply!, 'the change')
    },
    finished: waiting({ ask, refusal, parse }),
    signOut: signer.signOut,
  }
}
