/** What other domains may call of alerts: the messages about findings to channels. */
import type { SilenceTerms } from '#contract/alerts/silences.ts'
import type { Tx } from '../../db/db.ts'
import type { Engine } from '../../engine/engine.ts'

export {
  type ChannelCondition,
  channelCondition,
  channelsSaid,
  channelTroubles,
} from './channel-trouble.ts'

export { endTold, silenceOf } from './deciding.ts'
export { tellAgain } from './store-deliveries.ts'

/** The queue whose one object decides what is sent. */
export const alertQueue = 'alerts'
export const alertKey = 'all'

/**
 * Called in the transaction that changes findings, rules, silences or channels: what is to be sent
 * is decided after its commit.
 */
export const wakeAlerts = (engine: Engine, tx: Tx): Promise<void> =>
  engine.wake(tx, alertQueue, alertKey)

export interface Alerts {
  readonly silencesInForce: () => Promise<SilenceTerms[]>
}
