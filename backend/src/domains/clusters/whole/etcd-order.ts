/**
 * The order to start etcd as the first member of a cluster. Each Bootstrap on an empty data folder
 * stops etcd and starts it anew, and an unfinished pull of its image begins again (Talos
 * `services/etcd.go`, BootstrapEtcd). So the order is repeated only if the machine shows that it
 * isn't being carried out.
 */
import { type EtcdMember, messageOf, type TalosClient } from '#talos/client/client.ts'
import { TalosError } from '#talos/client/errors.ts'
import { type Pull, readPull } from '#talos/client/pulls.ts'
import { atTime } from '../../../sentences.ts'

/** What a control plane shows of its etcd. */
export interface EtcdSeen {
  readonly bootId: string
  /** State of the service; null if Talos hasn't loaded it yet. */
  readonly state: string | null
  /** The service's last message. */
  readonly message: string | null
  /**
   * When Talos has last started etcd, on the machine's clock, as text; null if it has not yet. No
   * order is sent then.
   */
  readonly start: string | null
  readonly members: readonly EtcdMember[]
  /** The pull of etcd's image, if the machine reports one. */
  readonly pull: Pull | null
}

/** An order as stored before it was sent, with what the machine showed then. */
export interface EtcdOrder {
  readonly called_at: Date | null
  readonly boot_id: string | null
  readonly etcd_start: string | null
}

/**
 * The members that the machine's etcd reports; none if it doesn't report any, as before it has a
 * leader. Only the end of the caller's work is thrown.
 */
async function membersOrNone(client: TalosClient): Promise<readonly EtcdMember[]> {
  try {
    return await client.etcdMembers()
  } catch (error) {
    if (error instanceof TalosError && error.kind !== 'cancelled') return []
    throw error
  }
}

/** Whether the machine's etcd reports members. Throws TalosError. */
export async function reportsMembers(client: TalosClient): Promise<boolean> {
  const etcd = (await client.services()).find((s) => s.id === 'etcd')
  return etcd?.state === 'Running' && (await membersOrNone(client)).length > 0
}

/** Throws TalosError. */
export async function seeEtcd(client: TalosClient): Promise<EtcdSeen> {
  const [services, bootId] = await Promise.all([client.services(), client.bootId()])
  const etcd = services.find((s) => s.id === 'etcd')
  return {
    bootId,
    state: etcd?.state ?? null,
    message: etcd === undefined ? null : messageOf(etcd),
    start: etcd?.startedAt?.toISOString() ?? null,
    members: etcd?.state === 'Running' ? await membersOrNone(client) : [],
    pull: etcd === undefined ? null : await readPull(client, etcd),
  }
}

/**
 * Why no order is sent yet; null if etcd takes one. While its service waits for others, an order
 * has no effect that could be seen. Without a start before the order, a later start would prove
 * nothing.
 */
export function notYet({ state, start, message }: EtcdSeen): string | null {
  if (state === 'Waiting') return message ?? 'its service etcd waits for others'
  return start === null ? 'Talos has not started its service etcd yet' : null
}

/** What is stored of an order before it is sent. */
export const orderOf = ({ bootId, start }: EtcdSeen, now: Date): EtcdOrder => ({
  called_at: now,
  boot_id: bootId,
  etcd_start: start,
})

/**
 * Pause in ms between an order and the next one if etcd has failed, or stops: a failing etcd fails
 * within seconds, and Talos stops it within seconds.
 */
export const breakMs = 15_000

/**
 * Whether an order is to be sent, or is being carried out. `why`: why an order that was sent is
 * over.
 */
type Standing = { readonly isDue: true } | { readonly isDue: false; readonly why: string | null }

const due: Standing = { isDue: true }
const carriedOut: Standing = { isDue: false, why: null }

/**
 * The evidence: a restart undoes an order, unless etcd has data, and then the machine refuses the
 * next order. Only a bootstrap starts etcd anew within a boot. A failed etcd stays so until the
 * next bootstrap (`system.go`, Start). `elapsedMs`: time since the order was sent.
 */
export function standingOf(
  { called_at: called, boot_id: boot, etcd_start: before }: EtcdOrder,
  seen: EtcdSeen,
  elapsedMs: (since: Date) => number,
): Standing {
  if (called === null || boot !== seen.bootId) return due
  const isFresh = elapsedMs(called) < breakMs
  if (seen.state === 'Failed') return isFresh ? { isDue: false, why: seen.message } : due
  if (seen.start !== before) return carriedOut
  return isFresh && (seen.state === 'Stopping' || seen.state === 'Finished') ? carriedOut : due
}

/** What a machine does that carries an order out. */
export function progressOf(
  name: string,
  called: Date,
  { pull }: Pick<EtcdSeen, 'pull'>,
  { why }: Extract<Standing, { isDue: false }>,
): string {
  if (why !== null) return `etcd failed on ${name}: ${why}. It is started again`
  return pull === null
    ? `etcd was started on ${name} at ${atTime(called)}; waiting for its first member`
    : pullText('etcd', pull, name)
}

/**
 * `etcd's image registry.k8s.io/etcd:v3.6.12 is being pulled on db-1 (29 MiB of 50 MiB)`. `name`:
 * the server, if the reader doesn't know it.
 */
export const pullText = (service: string, { image, progress }: Pull, name?: string): string => {
  const [doing, how] =
    progress === 'unpacking'
      ? ['unpacked', '']
      : ['pulled', progress === null ? '' : ` (${progress})`]
  return `${service}'s image ${image} is being ${doing}${name === undefined ? '' : ` on ${name}`}${how}`
}
