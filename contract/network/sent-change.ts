/** What undoes a change of a server's network, in words. */
/** "60 s", "5 min" */
export const undoTime = (seconds: number): string =>
  seconds >= 120 && seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`

const onceConfirmed = 'Once its loss is confirmed, the change is tried first'

/** What a refusal says of the loss, for who chooses beside it what undoes the change. */
export const lossPart = (refusal: string): string => refusal.split(`. ${onceConfirmed}`, 1)[0]!

/** Whether a trial reaches a change of a server's network; if none does, why. */
export type Reach = { readonly tried: true } | { readonly tried: false; readonly why: string }

/** A change of the network of a server, as far as it says what undoes the change. */
interface SentChange {
  /** Name of the server. */
  readonly name: string
  readonly reach: Reach
  /** Seconds after which Talos undoes it; null: it is sent for good. */
  readonly undoAfterSeconds: number | null
  /** Why Steelyard would lose the server; null if it wouldn't. */
  readonly loss?: string | null
  /** `asked`: the loss is not confirmed yet. `running`: the machine has the change. */
  readonly when?: 'asked' | 'chosen' | 'running'
}

/**
 * What undoes a change of a server's network, and whether Steelyard would lose the server. All
 * previews, plans, dialogs, refusals and events say it in these words. If nothing undoes the
 * change, that comes first.
 */
export function sentChangeSentence({
  name,
  reach,
  undoAfterSeconds,
  loss = null,
  when = 'chosen',
}: SentChange): string {
  const change = `The change of the network of ${name}`
  const undone =
    undoAfterSeconds === null
      ? ''
      : `Talos undoes it after ${undoTime(undoAfterSeconds)} unless Steelyard reaches the server with it`
  const lost = loss === null ? [] : [`Steelyard would lose ${name}: ${loss}`]
  if (!reach.tried)
    return [`${change} can't be tried, because ${reach.why}: nothing will undo it`, ...lost].join(
      '. ',
    )
  if (undoAfterSeconds === null)
    return [`${change} is sent for good: nothing will undo it`, ...lost].join('. ')
  if (when === 'running') return `The change is on trial: ${undone}`
  return when === 'asked' && loss !== null
    ? [...lost, `${onceConfirmed}: ${undone}`].join('. ')
    : [...lost, `${change} is tried first: ${undone}`].join('. ')
}
