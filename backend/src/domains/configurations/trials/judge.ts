/**
 * The next act of a trial, from what is stored of it and what its machine shows. Pure. How Talos's
 * mode `try` behaves is in `docs/decisions/028-network-effect.md`.
 */
import { undoTime } from '#contract/network/sent-change.ts'

export type Phase = 'trying' | 'confirming' | 'confirmed' | 'undoing' | 'undone'

export interface Trial {
  readonly cluster_id: string
  readonly node_id: string
  readonly generation: number
  readonly hash: string
  readonly former_hash: string
  readonly attempt: string
  readonly address: string
  readonly phase: Phase
  readonly lasts_ms: number
  readonly began_at: Date
  readonly answered_at: Date | null
  readonly confirmed_at: Date | null
  readonly reason: string | null
}

type Which = 'trial' | 'former' | 'other'
/** Which configurations the machine has; null if it doesn't answer. */
export type Sight = { readonly active: Which; readonly stored: Which } | null

export type Act =
  /** `reason` says what it waits for. */
  | { readonly act: 'wait'; readonly reason: string }
  /** Send the configuration for good, or again the former one. */
  | { readonly act: 'confirm' | 'undo' }
  /** The machine has the configuration: wait a moment until it has surely stored it. */
  | { readonly act: 'settle' }
  | { readonly act: 'hold' }
  /** The machine has not got it, and may get it anew. */
  | { readonly act: 'drop' }
  /** The machine has its former configuration again. */
  | { readonly act: 'end'; readonly reason: string }

/** Attempt of patches that were saved for one server. Others are of operations. */
export const patchesAttempt = 'patches'

/**
 * Whether the operation on the server began the trial, and so takes its steps. All other trials are
 * followed by `configuring`: of saved patches, and of operations that have ended.
 */
export const isFollowedByOperation = (
  { attempt }: Pick<Trial, 'attempt'>,
  { operation_id }: { readonly operation_id: string | null },
): boolean => operation_id !== null && attempt.startsWith(`${operation_id}/`)

/** Deadline of the call that begins a trial: the machine may accept it until then, in ms. */
export const tryDeadlineMs = 15_000
/**
 * Talos answers before its controllers act on the change (`SetConfig` in `v1alpha2_state.go`), and
 * a bond notices dead ports only after some seconds. A server that is reached earlier than this
 * after the answer, in ms, may still be where it was.
 */
const actsMs = (lastsMs: number): number => Math.min(5_000, lastsMs / 4)
/** Talos writes STATE after its answer: the configuration is read back after this time, in ms. */
const settlesMs = 3_000
/** An accepted configuration counts without being read back after this time, in ms. */
const unreadMs = 120_000
/** The machine's timer and Steelyard's clock may differ by this, in ms. */
const marginMs = 2_000

/**
 * Whether the other servers of the cluster still wait for a trial that has not ended. A machine that
 * stays silent for longer has undone its change, or never will.
 */
export const isWaitedFor = ({ lasts_ms }: Pick<Trial, 'lasts_ms'>, elapsedMs: number): boolean =>
  elapsedMs < lasts_ms + tryDeadlineMs + marginMs

/** The sentence of a trial of which it is not known whether the machine has got the change. */
export const checkingSentence = (name: string): string =>
  `Steelyard checks whether ${name} has received the change`

/** The sentence of a trial whose operation has ended first. */
export const givenUpSentence = (name: string): string =>
  `The operation that changed the network of ${name} has ended before the change was confirmed, so ${name} keeps its former configuration`

/** The sentence of a trial that was not confirmed in time. */
export const undoneSentence = (lastsMs: number): string =>
  `The server did not answer within ${undoTime(Math.round(lastsMs / 1000))} with the change, so Talos has undone it`

/** The refusal of a machine to try a change whose loss was confirmed only for a time. */
export const untriableSentence = (name: string): string =>
  `${name} has to restart for the change, so nothing would undo it: confirm its loss for good, or leave the change`

/** Pause before a machine on trial is looked at again, in ms: a long trial is followed less often. */
export const againMs = (
  { began_at, phase }: Pick<Trial, 'began_at' | 'phase'>,
  now: number,
): number =>
  phase === 'trying' ? Math.min(5_000, Math.max(500, (now - began_at.getTime()) / 60)) : 500

/** @param now milliseconds since 1970 */
export function nextOf(trial: Trial, name: string, sight: Sight, now: number): Act {
  const { phase, lasts_ms: lastsMs } = trial
  const since = (at: Date): number => now - at.getTime()
  const surelyOverMs = lastsMs + marginMs + (trial.answered_at === null ? tryDeadlineMs : 0)
  const sinceAnswer = since(trial.answered_at ?? trial.began_at)
  const isOver = sinceAnswer >= surelyOverMs
  const wait = (reason: string): Act => ({ act: 'wait', reason })
  const silent = isOver
    ? `${name} does not answer. Talos undoes the change by itself; Steelyard waits until the server answers`
    : `The change of ${name} is on trial: Steelyard waits for an answer at ${trial.address}`

  switch (phase) {
    case 'trying':
      if (sight === null) return wait(silent)
      if (sight.stored === 'trial') return { act: 'settle' }
      // A clock that was set back doesn't prolong the wait.
      if (sight.active === 'trial')
        return sinceAnswer >= 0 && sinceAnswer < actsMs(lastsMs)
          ? wait(
              `${name} answers with the change on trial: Steelyard looks again before it confirms the change`,
            )
          : { act: 'confirm' }
      if (sight.active === 'other')
        return isOver
          ? {
              act: 'end',
              reason: `${name} has another configuration than the one on trial: somebody else has sent it one`,
            }
          : wait(silent)
      if (trial.answered_at === null && since(trial.began_at) < tryDeadlineMs + marginMs)
        return wait(checkingSentence(name))
      // Without an answer, the change may have been tried and undone: it is not sent again by itself.
      if (since(trial.began_at) >= lastsMs - marginMs)
        return { act: 'end', reason: undoneSentence(lastsMs) }
      return trial.answered_at === null
        ? { act: 'drop' }
        : {
            act: 'end',
            reason: `${name} has restarted while the change was on trial, so it has its former configuration`,
          }
    case 'confirming':
      if (sight === null) return wait(`${name} has not answered the confirmation of its change yet`)
      if (sight.stored === 'trial') return { act: 'settle' }
      if (sight.active === 'trial') return { act: 'confirm' }
      return {
        act: 'end',
        reason: `The confirmation of the change did not reach ${name} in time, so Talos has undone it`,
      }
    case 'confirmed':
      // A clock that was set back doesn't prolong the wait.
      if (since(trial.confirmed_at!) >= 0 && since(trial.confirmed_at!) < settlesMs)
        return wait(`The change of ${name} is confirmed: its configuration is read back`)
      if (sight === null)
        return since(trial.confirmed_at!) >= unreadMs
          ? { act: 'hold' }
          : wait(`The change of ${name} is confirmed, but the server does not answer`)
      if (sight.stored === 'trial') return { act: 'hold' }
      return sight.active === 'trial' ? { act: 'confirm' } : { act: 'drop' }
    case 'undoing':
      if (sight === null)
        return wait(`${name} gets its former configuration again as soon as it answers`)
      return sight.active === 'trial' ? { act: 'undo' } : { act: 'end', reason: trial.reason! }
    default:
      return { act: 'end', reason: trial.reason! }
  }
}
