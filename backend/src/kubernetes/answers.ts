import { lateBy, OutOfTime } from '#contract/connections/causes.ts'
import { Told } from '../causes/told.ts'

/** An error response (`Status`) is far shorter; only the beginning of a longer one is read. */
const longestStatus = 16 * 1024

/**
 * `message` is part of a sentence for users; `status` is the HTTP status, undefined without a
 * response.
 */
export class KubernetesError extends Told {
  readonly status: number | undefined
  constructor(message: string, status?: number, options?: ErrorOptions) {
    const hasAnswered = status !== undefined && status !== 429 && status < 500
    super(message, { ...options, meaning: hasAnswered ? 'peer_refused' : 'peer_silent' })
    this.name = 'KubernetesError'
    this.status = status
  }
}

export interface KubernetesNode {
  readonly name: string
  readonly ready: boolean
  /** Kubernetes' reason if the node isn't Ready. */
  readonly reason: string | null
  /** Internal addresses (`InternalIP`). */
  readonly addresses: readonly string[]
}

export interface Reply {
  readonly status: number
  readonly bytes: Buffer<ArrayBuffer>
}

/** Makes a text from a cluster safe to show: at most 256 printable ASCII characters. */
export const printable = (text: string): string =>
  text.replaceAll(/[^\x20-\x7e]/g, '�').slice(0, 256)

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Kubernetes' message in an error response (`Status`, meta/v1). */
export function messageOf(reply: Reply): string {
  const body = bodyOf(reply)
  if (typeof body === 'string') return printable(body.slice(0, 120))
  return isRecord(body) && typeof body['message'] === 'string' ? printable(body['message']) : ''
}

/** The body of an error response; its text if it is no JSON. */
function bodyOf({ bytes }: Reply): unknown {
  const text = bytes.toString('utf8', 0, longestStatus)
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === 'string' ? null : body
  } catch {
    return text
  }
}

/**
 * What the budget says that forbids an eviction, or Kubernetes' message: only the cause names the
 * budget (Kubernetes `pkg/registry/core/pod/storage/eviction.go`).
 */
export function budgetOf(reply: Reply): string {
  const body = bodyOf(reply)
  const details = isRecord(body) ? body['details'] : undefined
  const causes = isRecord(details) ? details['causes'] : undefined
  const cause = (Array.isArray(causes) ? (causes as unknown[]) : []).find(
    (one) => isRecord(one) && one['reason'] === 'DisruptionBudget',
  )
  return isRecord(cause) && typeof cause['message'] === 'string' && cause['message'] !== ''
    ? printable(cause['message'])
    : messageOf(reply)
}

export function refused(reply: Reply): KubernetesError {
  const message = messageOf(reply)
  return new KubernetesError(
    `the API server answered ${reply.status}${message ? `: ${message}` : ''}`,
    reply.status,
  )
}

/** One page of a list (meta/v1 ListMeta, "Retrieving large results sets in chunks"). */
export function readPage(body: unknown): { items: unknown[]; next: string } {
  const items = isRecord(body) ? body['items'] : undefined
  if (!isRecord(body) || !Array.isArray(items))
    throw new KubernetesError('the API server sent invalid data (list)')
  const next = isRecord(body['metadata']) ? body['metadata']['continue'] : undefined
  if (next !== undefined && (typeof next !== 'string' || next.length > 4096))
    throw new KubernetesError('the API server sent invalid data (continue)')
  return { items: items as unknown[], next: next ?? '' }
}

/** The first internal addresses of a node (core/v1 NodeAddress). */
const addressesOf = (addresses: unknown): string[] =>
  (Array.isArray(addresses) ? (addresses as unknown[]) : [])
    .slice(0, 16)
    .flatMap((a) =>
      isRecord(a) && a['type'] === 'InternalIP' && typeof a['address'] === 'string'
        ? [printable(a['address'])]
        : [],
    )

export function readNode(item: unknown): KubernetesNode {
  const metadata = isRecord(item) ? item['metadata'] : undefined
  const status = isRecord(item) ? item['status'] : undefined
  const name = isRecord(metadata) ? metadata['name'] : undefined
  if (typeof name !== 'string' || name.length > 253)
    throw new KubernetesError('the API server sent invalid data (node name)')
  const conditions =
    isRecord(status) && Array.isArray(status['conditions'])
      ? (status['conditions'] as unknown[])
      : []
  const ready = conditions.find(
    (c): c is Record<string, unknown> => isRecord(c) && c['type'] === 'Ready',
  )
  const said =
    ready &&
    [ready['reason'], ready['message']]
      .filter((t): t is string => typeof t === 'string' && t !== '')
      .join(': ')
  const reason = ready?.['status'] === 'True' ? null : printable(said || 'it has not reported yet')
  return {
    name,
    ready: reason === null,
    reason,
    addresses: isRecord(status) ? addressesOf(status['addresses']) : [],
  }
}

/**
 * Statuses after which the same request may succeed later: unauthorized, timeout, too many
 * requests.
 */
const passingStatuses: ReadonlySet<number> = new Set([401, 408, 429])
export const isPassing = (status: number): boolean => passingStatuses.has(status)

/** Whether the cluster refused the request permanently. */
export const isRefusal = (error: unknown): error is KubernetesError =>
  error instanceof KubernetesError &&
  error.status !== undefined &&
  error.status >= 400 &&
  error.status < 500 &&
  !isPassing(error.status)

/**
 * Runs `act` with a total limit of `ms`, so that a cluster that delays every response counts as
 * silent.
 * @throws KubernetesError after that time
 */
export async function within<T>(
  signal: AbortSignal,
  ms: number,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const end = new AbortController()
  const timer = setTimeout(() => end.abort(new OutOfTime(ms)), ms)
  try {
    return await act(AbortSignal.any([signal, end.signal]))
  } catch (error) {
    if (error !== end.signal.reason) throw error
    throw new KubernetesError(lateBy(ms), undefined, { cause: error })
  } finally {
    clearTimeout(timer)
  }
}
