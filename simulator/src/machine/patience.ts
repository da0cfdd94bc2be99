import type { Clock } from '../clock.ts'

/**
 * How long Talos tries before it gives up, in simulated ms: to join an etcd, to promote its member
 * of etcd, and to start all services of a boot (Talos: constants.EtcdJoinTimeout and BootTimeout,
 * services/etcd.go, promoteMember).
 */
const TALOS = { etcdJoin: 1_800_000, etcdPromotion: 600_000, boot: 4_200_000 } as const
export type Limit = keyof typeof TALOS
export type Patience = { [limit in Limit]?: number }

/**
 * At a high speed half an hour is over in seconds, in which a busy computer gets nothing else done.
 * So a limit lasts at least this long in real time, unless a test sets it.
 */
const LEAST_REAL_MS = 300_000

/** What is asked of a machine: the patience and the clock of its world. */
interface InWorld {
  readonly world: { readonly patience: Patience; readonly clock: Pick<Clock, 'speed'> }
}

/** The limit in simulated ms. */
export const limitOf = ({ world: { patience, clock } }: InWorld, limit: Limit): number =>
  patience[limit] ?? Math.max(TALOS[limit], LEAST_REAL_MS * clock.speed)
