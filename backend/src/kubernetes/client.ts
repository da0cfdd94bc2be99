/**
 * Client of a cluster's Kubernetes API with the few calls that Steelyard needs. It calls the
 * control planes' addresses on port 6443, one after another, with a certificate of the cluster's
 * own authority. Responses are bounded and treated as hostile; the client uses no redirects,
 * proxies or host names.
 */
import { request } from 'node:https'
import { type ConnectionCause, connectionFault, OutOfTime } from '#contract/connections/causes.ts'
import { connectionReason } from '#contract/connections/words.ts'
import { Problem } from '#contract/errors.ts'
import type { Credentials } from '#talos/pki/certificates.ts'
import { collector, limitInformational } from '../reading/collect.ts'
import { readJson, UnreadableJson } from '../reading/json.ts'
import type { Reader } from '../reading/reader.ts'
import { sentBy } from '../reading/asker.ts'
import type { DialPolicy } from '../talos-fleet/dial-policy.ts'
import { ofHttp, tracedRequest } from '../tracing/requests.ts'
import type { Tracing } from '../tracing/tracing.ts'
import { lineFilter } from './lines.ts'
import {
  type Reply,
  KubernetesError,
  refused,
  readPage,
  type KubernetesNode,
  readNode,
  budgetOf,
  isPassing,
} from './answers.ts'
import { timeLimit } from '../time-limit.ts'

export const kubernetesPort = 6443
const deadlineMs = 8_000
const largestAnswer = 8 * 1024 * 1024
/** Limit of the lines that are kept of a metric. */
const largestMetric = 256 * 1024
/**
 * Limit of all bytes from which lines are kept. The metrics of a large API server are some 30 MiB.
 */
const largestMetrics = 128 * 1024 * 1024
/**
 * A response in more parts than `manyParts` that are shorter than this on average, in bytes, is
 * refused: Node.js reads up to 2 MiB of a socket in one turn, and each chunk of a byte costs some
 * µs. A server of Go sends chunks of 2 KiB or more.
 */
const shortPart = 64
const manyParts = 10_000
const mostNodes = 1024
/** Objects per response. With managed fields an object seldom exceeds 30 KiB. */
const pageSize = 250
/** Field manager of applied objects (Kubernetes, "Server-Side Apply"). */
export const fieldManager = 'steelyard'

export interface KubernetesTarget {
  readonly name: string
  readonly address: string
}

export type Kubernetes = ReturnType<typeof kubernetes>
/** The calls about objects of any kind. */
export type ObjectCalls = Pick<Kubernetes, 'readyz' | 'nodes' | 'apply' | 'remove' | 'get' | 'list'>

export interface ListOptions<T> {
  /** Maximum number of objects. */
  readonly most: number
  /** Maps each unvalidated object; an object is skipped if the result is undefined. */
  readonly keep: (object: unknown) => T | undefined
  /**
   * Such as `spec.type=LoadBalancer`. The API server, which isn't trusted, applies this selector,
   * so check the objects too.
   */
  readonly fieldSelector?: string
  /** Such as `tier=control-plane`. The objects must be checked as well. */
  readonly labelSelector?: string
}

export interface KubernetesParts {
  /** Checks the address before each connection. */
  readonly dial: Pick<DialPolicy, 'check'>
  /** Reads long responses. */
  readonly read: Reader
  readonly tracing?: Tracing | undefined
}

/** `targets` are tried in order, starting with the one that answered last. */
export function kubernetes(
  targets: readonly KubernetesTarget[],
  credentials: Credentials,
  { dial, read, tracing }: KubernetesParts,
) {
  let first = 0
  const who = sentBy(targets.map(({ address }) => address).join(' '))

  /** @throws KubernetesError */
  const parse = async ({ bytes }: Reply, signal: AbortSignal): Promise<unknown> => {
    try {
      return await readJson(read, { ...who, signal }, bytes)
    } catch (error) {
      if (error instanceof UnreadableJson)
        throw new KubernetesError(`the API server sent invalid data (${error.message})`)
      if (error instanceof Problem)
        throw new KubernetesError(`its response can't be read: ${error.message}`)
      throw error
    }
  }

  const one = (target: KubernetesTarget, call: Call, signal: AbortSignal) => {
    const verdict = dial.check(target.address, kubernetesPort)
    if (!verdict.ok) return Promise.reject(new KubernetesError(verdict.reason))
    const { method } = call
    return tracedRequest(
      tracing,
      { name: `kubernetes ${method}`, host: target.address, port: kubernetesPort, method },
      () => send(target, credentials, call, signal),
      ({ status }) => ofHttp(status),
    )
  }

  /**
   * Calls control planes in turn until one responds with anything but a server error or a refusal
   * that another may not share, such as one whose clock is wrong. What one has answered says more
   * than the silence of the others. @throws KubernetesError unless the response has an expected
   * status
   */
  const any = async (
    call: Call,
    expected: readonly number[],
    signal: AbortSignal,
  ): Promise<Reply> => {
    let last = new KubernetesError('the cluster has no control plane')
    for (let i = 0; i < targets.length; i++) {
      const at = (first + i) % targets.length
      let reply: Reply
      try {
        reply = await one(targets[at]!, call, signal)
      } catch (error) {
        if (signal.aborted) throw whyEnded(signal)
        if (last.status !== undefined) continue
        last =
          error instanceof KubernetesError
            ? new KubernetesError(`${targets[at]!.name}: ${error.message}`, error.status)
            : new KubernetesError(String(error))
        continue
      }
      const isExpected = expected.includes(reply.status)
      const isFinal = isExpected || (reply.status < 500 && !isPassing(reply.status))
      if (isFinal) first = at
      if (isExpected) return reply
      last = refused(reply)
      if (isFinal) break
    }
    throw last
  }

  /**
   * Lists all objects of a kind in pages. Only the results of `keep` stay in memory. null if the
   * kind doesn't exist.
   * @throws KubernetesError also if there are more than `most`
   */
  const list = async <T>(
    path: string,
    { most, fieldSelector, labelSelector, keep }: ListOptions<T>,
    signal: AbortSignal,
  ): Promise<T[] | null> => {
    const kept: T[] = []
    let seen = 0
    const query = new URLSearchParams({
      limit: String(pageSize),
      ...(fieldSelector !== undefined && { fieldSelector }),
      ...(labelSelector !== undefined && { labelSelector }),
    })
    for (let pages = 0; ; pages++) {
      const reply = await any(
        { method: 'GET', path: `${path}?${query.toString()}` },
        pages === 0 ? [200, 404] : [200],
        signal,
      )
      if (reply.status === 404) return null
      const { items, next } = readPage(await parse(reply, signal))
      for (const item of items) {
        const wanted = keep(item)
        if (wanted !== undefined) kept.push(wanted)
      }
      seen += items.length
      // Limits the number of pages, because a hostile API server may send small pages endlessly.
      if (seen > most || pages > most / 10)
        throw new KubernetesError(`the API server has more than ${most} objects at ${path}`)
      if (next === '') return kept
      query.set('continue', next)
    }
  }

  return {
    /** @throws KubernetesError unless the API server of this control plane is ready */
    async readyz(target: KubernetesTarget, signal: AbortSignal): Promise<void> {
      const reply = await one(target, { method: 'GET', path: '/readyz' }, signal)
      if (reply.status !== 200) throw refused(reply)
    },
    /**
     * The nodes, in pages, because those of a large cluster together exceed the limit of a
     * response.
     */
    nodes: async (signal: AbortSignal): Promise<KubernetesNode[]> =>
      (await list('/api/v1/nodes', { most: mostNodes, keep: readNode }, signal)) ?? [],
    /** Creates an object or changes Steelyard's fields of it (server-side apply). */
    async apply(path: string, object: object, signal: AbortSignal): Promise<void> {
      const query = `fieldManager=${fieldManager}&force=true`
      // JSON is valid YAML.
      await any(
        {
          method: 'PATCH',
          path: `${path}?${query}`,
          body: JSON.stringify(object),
          type: 'application/apply-patch+yaml',
        },
        [200, 201],
        signal,
      )
    },
    /**
     * Changes the given fields of an object, and removes those that are null (JSON Merge Patch, RFC
     * 7396).
     */
    async merge(path: string, fields: object, signal: AbortSignal): Promise<void> {
      const query = `fieldManager=${fieldManager}`
      await any(
        {
          method: 'PATCH',
          path: `${path}?${query}`,
          body: JSON.stringify(fields),
          type: 'application/merge-patch+json',
        },
        [200],
        signal,
      )
    },
    /**
     * Evicts a pod, unless a PodDisruptionBudget forbids it: Kubernetes then answers 429 with the
     * budget's name. An evicted pod still needs time to terminate. Another pod that has its name by
     * now, such as that of a StatefulSet on another node, is not evicted: 409
     * (kubernetes/kubernetes#64923).
     */
    async evict(
      {
        namespace,
        name,
        uid,
      }: { readonly namespace: string; readonly name: string; readonly uid: string },
      signal: AbortSignal,
    ): Promise<'evicted' | 'gone' | { readonly blocked: string }> {
      const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/eviction`
      const body = JSON.stringify({
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { namespace, name },
        deleteOptions: { preconditions: { uid } },
      })
      const reply = await any(
        { method: 'POST', path, body, type: 'application/json' },
        [200, 201, 404, 409, 429],
        signal,
      )
      if (reply.status === 429)
        return { blocked: budgetOf(reply) || 'a PodDisruptionBudget forbids it' }
      return reply.status === 404 || reply.status === 409 ? 'gone' : 'evicted'
    },
    /**
     * Creates an object in a collection. False: an object of this name exists, and is unchanged.
     */
    async create(collection: string, object: object, signal: AbortSignal): Promise<boolean> {
      const call = {
        method: 'POST',
        path: `${collection}?fieldManager=${fieldManager}`,
        body: JSON.stringify(object),
        type: 'application/json',
      }
      return (await any(call, [201, 409], signal)).status === 201
    },
    /** Removes an object. A missing object counts as removed. */
    remove: async (path: string, signal: AbortSignal): Promise<void> =>
      void (await any({ method: 'DELETE', path }, [200, 202, 404], signal)),
    /**
     * Removes an object if it is still this one (meta/v1 Preconditions). False: it has changed
     * since, and is unchanged.
     */
    async removeExactly(
      path: string,
      preconditions: { uid: string; resourceVersion: string },
      signal: AbortSignal,
    ): Promise<boolean> {
      const body = JSON.stringify({ apiVersion: 'v1', kind: 'DeleteOptions', preconditions })
      return (
        (
          await any(
            { method: 'DELETE', path, body, type: 'application/json' },
            [200, 202, 404, 409],
            signal,
          )
        ).status !== 409
      )
    },
    /** Gets an object or API group, unvalidated; null if missing. */
    async get(path: string, signal: AbortSignal): Promise<unknown> {
      const reply = await any({ method: 'GET', path }, [200, 404], signal)
      return reply.status === 404 ? null : parse(reply, signal)
    },
    list,
    /**
     * Applies an object as another field manager, taking over fields that others have set, and
     * returns the result. `dryRun`: nothing is stored.
     */
    async applyAs(
      path: string,
      object: object,
      { manager, dryRun }: { manager: string; dryRun: boolean },
      signal: AbortSignal,
    ): Promise<unknown> {
      const query = `fieldManager=${encodeURIComponent(manager)}&force=true${dryRun ? '&dryRun=All' : ''}`
      const call = {
        method: 'PATCH',
        path: `${path}?${query}`,
        body: JSON.stringify(object),
        type: 'application/apply-patch+yaml',
      }
      return parse(await any(call, [200, 201], signal), signal)
    },
    /** The lines of one metric of this control plane's API server (Prometheus text format). */
    async metric(target: KubernetesTarget, name: string, signal: AbortSignal): Promise<string[]> {
      const reply = await one(
        target,
        { method: 'GET', path: '/metrics', accept: 'text/plain', onlyLines: `${name}{` },
        signal,
      )
      if (reply.status !== 200) throw refused(reply)
      return reply.bytes
        .toString('utf8')
        .split('\n')
        .filter((line) => line !== '')
    },
  }
}

interface Call {
  readonly method: string
  readonly path: string
  readonly body?: string
  readonly type?: string
  /** Default: JSON. */
  readonly accept?: string
  /**
   * Only lines that begin with this text are kept, so that a long answer stays within the limit.
   */
  readonly onlyLines?: string
}

const outOfTime =
  'the certificate of the API server is expired or not valid yet: its clock and ours differ, or nothing has renewed it'
const notOfCluster = 'the API server shows a certificate that this cluster did not sign'
const noApi = 'the response is not from a Kubernetes API'

/** A caller's own time limit is told as one; any other reason is the caller's. */
const whyEnded = ({ reason }: AbortSignal): unknown =>
  reason instanceof OutOfTime
    ? new KubernetesError(connectionReason(reason), undefined, { cause: reason })
    : reason

function send(
  target: KubernetesTarget,
  { ca, crt, key }: Credentials,
  call: Call,
  signal: AbortSignal,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const limit = AbortSignal.any([signal, timeLimit(deadlineMs)])
    const fail = (error: Error) =>
      reject(
        error instanceof KubernetesError
          ? error
          : limit.reason instanceof OutOfTime
            ? new KubernetesError(connectionReason(limit.reason), undefined, {
                cause: limit.reason,
              })
            : new KubernetesError(reasonOf(error)),
      )
    const headers = {
      accept: call.accept ?? 'application/json',
      ...(call.body !== undefined && {
        'content-type': call.type,
        'content-length': Buffer.byteLength(call.body),
      }),
    }
    const asked = request(
      {
        host: target.address,
        port: kubernetesPort,
        method: call.method,
        path: call.path,
        headers,
        ca,
        cert: crt,
        key,
        agent: false,
        minVersion: 'TLSv1.2',
        signal: limit,
        maxHeaderSize: 16_384,
      },
      (answer) => {
        const refuse = (what: string): void =>
          void asked.destroy(new KubernetesError(`the API server sent ${what}`))
        const most = call.onlyLines === undefined ? largestAnswer : largestMetric
        const collected = collector(most)
        const keep = (part: Buffer): void => {
          if (!collected.take(part)) refuse(`more than ${most / 1024 ** 2} MiB`)
        }
        const lines = call.onlyLines === undefined ? undefined : lineFilter(call.onlyLines, keep)
        let [received, parts] = [0, 0]
        answer.on('data', (part: Buffer) => {
          received += part.length
          parts++
          if (parts > manyParts && received < parts * shortPart) refuse('very many short parts')
          else if (received > largestMetrics) refuse(`more than ${largestMetrics / 1024 ** 2} MiB`)
          else (lines?.take ?? keep)(part)
        })
        answer.on('end', () => {
          lines?.end()
          resolve({ status: answer.statusCode ?? 0, bytes: collected.bytes() })
        })
        answer.on('error', fail)
      },
    )
    limitInformational(
      asked,
      () => new KubernetesError('the response is not from a Kubernetes API'),
    )
    asked.on('error', fail)
    asked.end(call.body)
  })
}

/**
 * Certificates of an API server are signed by its cluster, and renewed by Talos and Kubernetes, not
 * by a person.
 */
const ofCluster: Readonly<Partial<Record<ConnectionCause, string>>> = {
  expired: outOfTime,
  not_yet_valid: outOfTime,
  self_signed: notOfCluster,
  unknown_authority: notOfCluster,
  untrusted: notOfCluster,
  plain: noApi,
  not_http: noApi,
  tls: noApi,
}
const reasonOf = (error: unknown): string =>
  ofCluster[connectionFault(error)?.cause ?? 'ended'] ?? connectionReason(error)
