/** The domain of BMCs: its calls, the loop that asks them, and the operations through them. */
import { networkInterfaces } from 'node:os'
import {
  bmcAdd,
  bmcConfirm,
  bmcGet,
  bmcList,
  bmcMatch,
  bmcRemove,
  bmcUpdate,
} from '#contract/bmcs/bmcs.ts'
import { serverIdentify, serverPower } from '#contract/bmcs/power.ts'
import { serve } from '../../http/serve.ts'
import { existing } from '../../http/tags.ts'
import type { Domain } from '../../platform.ts'
import { timeLimit } from '../../time-limit.ts'
import { accounts as makeAccounts } from './accounts.ts'
import { adding } from './adding.ts'
import type { Bmcs } from './api.ts'
import { changing } from './changing.ts'
import { clients as makeClients } from './clients.ts'
import { type Asking, asking } from './contact/asking.ts'
import { loop } from './contact/loop.ts'
import { credentials } from './credentials.ts'
import type { BmcParts, BmcWorld } from './parts.ts'
import { bmcPolicy } from './policy.ts'
import { powering } from './power/powering.ts'
import { powerQueue, requesting } from './power/requesting.ts'
import { present } from './present.ts'
import * as store from './store.ts'

/** Sessions are ended within this at an ordered stop, in ms. */
const signOutMs = 5_000

const ownAddresses = (): string[] =>
  Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))

/** The domain with what only tests call. */
export interface BmcDomain extends Bmcs, Domain {
  readonly ask: Asking['ask']
}

export function bmcs(parts: BmcParts): BmcDomain {
  const { db, config, engine } = parts
  const policy = bmcPolicy({
    networks: config.bmcNetworks,
    own: ownAddresses,
    simulate: config.simulate !== undefined,
  })
  const accounts = makeAccounts(parts)
  const clients = makeClients({ ...parts, policy, accounts })
  let woken: () => void = () => undefined
  const world: BmcWorld = { ...parts, policy, accounts, clients, wake: () => woken() }
  const asks = asking(world)
  const contacts = loop(world, asks)
  woken = contacts.wake
  const { request } = adding(world, asks)
  const change = changing(world)
  const orders = requesting(world)
  engine.register({ queue: powerQueue, reconcile: powering(world, asks), concurrency: 16 })

  const stop = new AbortController()
  let running: Promise<void> | undefined
  return {
    name: 'bmcs',
    ask: asks.ask,
    async ofServer(serverId) {
      const row = await store.ofServer(db, serverId)
      return row ? present(row) : null
    },
    routes(app) {
      const on = serve(app)
      on(bmcList, async ({ query }) => {
        const { rows, total } = await store.page(db, query)
        return { items: rows.map(present), page: query.page, per_page: query.per_page, total }
      })
      on(bmcGet, async ({ params }) => present(existing(await store.find(db, params.id), 'BMC')))
      on(bmcAdd, ({ caller, body }) => request(caller, body))
      on(bmcUpdate, ({ caller, params, body, ifMatch }) =>
        change.update(caller, params.id, body, ifMatch),
      )
      on(bmcConfirm, ({ caller, params, body, ifMatch }) =>
        change.confirm(caller, params.id, body, ifMatch),
      )
      on(bmcMatch, ({ caller, params, body, ifMatch }) =>
        change.match(caller, params.id, body, ifMatch),
      )
      on(bmcRemove, ({ caller, params, ifMatch }) =>
        change.remove(caller, params.id, ifMatch).then(() => undefined),
      )
      on(serverPower, ({ caller, params, body, signal }) =>
        orders.power(caller, params.id, body, signal),
      )
      on(serverIdentify, ({ caller, params, body, signal }) =>
        orders.identify(caller, params.id, body, signal),
      )
      credentials(world)(app)
    },
    start: async () => {
      running = contacts.run(stop.signal)
    },
    stop: async () => {
      stop.abort(new Error('Steelyard is stopping'))
      await running
      await clients.signOutAll(timeLimit(signOutMs))
    },
  }
}
