/** Alerts: channels, rules, silences, and the messages that follow from incidents. */
import {
  channelCreate,
  channelGet,
  channelList,
  channelRemove,
  channelTest,
  channelUpdate,
} from '#contract/alerts/channels.ts'
import { deliveryGet, deliveryList, deliveryRetry } from '#contract/alerts/deliveries.ts'
import {
  alertRuleCreate,
  alertRuleGet,
  alertRuleList,
  alertRuleRemove,
  alertRuleUpdate,
} from '#contract/alerts/rules.ts'
import { silenceCreate, silenceGet, silenceList, silenceRemove } from '#contract/alerts/silences.ts'
import { endpointPolicy } from '../../endpoints/policy.ts'
import { serve, signedIn } from '../../http/serve.ts'
import type { Domain, Platform } from '../../platform.ts'
import type { Clusters } from '../clusters/api.ts'
import { silencesInForce } from './deciding.ts'
import type { Incidents } from '../incidents/api.ts'
import type { Operations } from '../operations/api.ts'
import type { Servers } from '../servers/api.ts'
import type { Alerts } from './api.ts'
import { alerting } from './alerting.ts'
import { channelCondition } from './channel-trouble.ts'
import { channels as makeChannels } from './channels.ts'
import { delivering } from './delivering.ts'
import { deliveries as makeMessages } from './deliveries.ts'
import { type RuleParts, rules as makeRules, termsOf } from './rules.ts'
import * as deliveries from './store-deliveries.ts'
import * as store from './store.ts'

/** How long messages and silences that have ended are kept. */
const keptMs = 30 * 24 * 3_600_000

export function alerts(
  parts: Platform &
    RuleParts & {
      readonly incidents: Pick<Incidents, 'standing' | 'told'>
      readonly operations: Pick<Operations, 'touched'>
      readonly servers: Pick<Servers, 'conditions'>
      readonly clusters: Pick<Clusters, 'conditions'>
    },
): Alerts & Domain {
  const { db, clock, config, engine } = parts
  const policy = endpointPolicy(config.alertNetworks, {
    setting: 'STEELYARD_ALERT_NETWORKS',
    encrypted: 'the connection must be encrypted (https://, or STARTTLS or TLS for mail)',
  })
  const channels = makeChannels({ ...parts, policy })
  const rules = makeRules(parts)
  const messages = makeMessages(parts)
  engine.register(alerting(parts))
  engine.register(delivering({ ...parts, channels, policy }))

  return {
    name: 'alerts',
    async figures() {
      const { failing } = await channelCondition(db)
      return { steelyard_channels_failing: [{ value: failing.length }] }
    },
    async silencesInForce() {
      const now = new Date(clock.now())
      return silencesInForce((await store.silencesAfter(db, now)).map(termsOf), now)
    },
    routes(app) {
      const on = serve(app)
      on(channelList, ({ caller, query }) => channels.list(caller, query))
      on(channelGet, ({ caller, params }) => channels.get(caller, params.id))
      on(channelCreate, ({ caller, body }) => channels.create(caller, body))
      on(channelUpdate, ({ caller, params, body, ifMatch }) =>
        channels.update(caller, params.id, body, ifMatch),
      )
      on(channelRemove, ({ caller, params, ifMatch }) =>
        channels.remove(caller, params.id, ifMatch).then(() => undefined),
      )
      on(channelTest, ({ caller, params, signal }) => channels.test(caller, params.id, signal))
      on(alertRuleList, ({ query }) => rules.list(query))
      on(alertRuleGet, ({ params }) => rules.get(params.id))
      on(alertRuleCreate, ({ caller, body }) => rules.create(caller, body))
      on(alertRuleUpdate, ({ caller, params, body, ifMatch }) =>
        rules.update(caller, params.id, body, ifMatch),
      )
      on(alertRuleRemove, ({ caller, params, ifMatch }) =>
        rules.remove(caller, params.id, ifMatch).then(() => undefined),
      )
      on(silenceList, ({ query }) => rules.silences(query))
      on(silenceGet, ({ params }) => rules.silence(params.id))
      on(silenceCreate, ({ caller, body }) => rules.silenceFor(signedIn(caller), body))
      on(silenceRemove, ({ caller, params, ifMatch }) =>
        rules.endSilence(signedIn(caller), params.id, ifMatch).then(() => undefined),
      )
      on(deliveryList, ({ caller, query }) => messages.list(signedIn(caller), query))
      on(deliveryGet, ({ caller, params }) => messages.get(signedIn(caller), params.id))
      on(deliveryRetry, ({ caller, params }) => messages.again(signedIn(caller), params.id))
    },
    async removeOld() {
      const before = new Date(clock.now() - keptMs)
      await deliveries.forget(db, before)
      await store.forgetSilences(db, before)
    },
  }
}
