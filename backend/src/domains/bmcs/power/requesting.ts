/**
 * Orders to switch a server. An order is an operation: power changes only in one that a person or a
 * plan began, and no reconciler ever makes wanted and observed power equal.
 */
import { canOrder, type serverIdentify, type serverPower } from '#contract/bmcs/power.ts'
import { Problem } from '#contract/errors.ts'
import type { Input } from '#contract/operation.ts'
import { type Operation, operationTable } from '#contract/operations.ts'
import { permits } from '#contract/permissions.ts'
import { setLight } from '#redfish/acts/power.ts'
import { RedfishError } from '#redfish/errors.ts'
import { inTransaction } from '../../../db/db.ts'
import type { Caller } from '../../../http/caller.ts'
import { demand } from '../../../http/errors.ts'
import { demandFree, type NewStep } from '../../operations/api.ts'
import type { BmcWorld } from '../parts.ts'
import type { BmcRow } from '../store.ts'
import * as store from '../store.ts'

export const powerQueue = 'server-power'

export const powerWords: Readonly<Record<BmcRow['power'], string>> = {
  on: 'on',
  off: 'off',
  turning_on: 'turning on',
  turning_off: 'turning off',
  unknown: 'unknown',
}

const why: Readonly<Record<Exclude<BmcRow['status'], 'ready'>, string>> = {
  unconfirmed: 'its certificate is not confirmed',
  unreachable: 'it does not answer',
  denied: 'it refuses the password',
  changed: 'it shows another certificate or other hardware',
  unsupported: 'it speaks no Redfish that can be used',
}

/** @throws Problem bmc_not_ready */
export function demandReady(row: BmcRow | undefined, server: string): BmcRow {
  if (!row) throw new Problem('bmc_not_ready', `${server} has no BMC`)
  if (row.status !== 'ready')
    throw new Problem(
      'bmc_not_ready',
      `The BMC of ${server} at ${row.address} can't be used: ${row.reason ?? why[row.status]}`,
    )
  return row
}

/** The steps of an order, in their order. */
export const powerSteps = (
  to: Input<typeof serverPower>['body']['to'],
  server: { readonly id: string; readonly name: string },
): NewStep[] =>
  (to === 'on'
    ? (['on', 'is_on'] as const)
    : to === 'off'
      ? (['off', 'is_off'] as const)
      : (['off', 'is_off', 'on', 'is_on'] as const)
  ).map((key) => ({
    key,
    title: operationTable.serverPower.steps[key](server),
    node_id: server.id,
  }))

/** A server that installs or upgrades would be left without a system. */
const busyStages: ReadonlySet<string> = new Set(['installing', 'upgrading', 'resetting'])

export interface Requesting {
  readonly power: (
    caller: Caller,
    serverId: string,
    order: Input<typeof serverPower>['body'],
    signal: AbortSignal,
  ) => Promise<{ operation: Operation }>
  readonly identify: (
    caller: Caller,
    serverId: string,
    body: Input<typeof serverIdentify>['body'],
    signal: AbortSignal,
  ) => Promise<{ lit: boolean }>
}

export function requesting(world: BmcWorld): Requesting {
  const { db, clock, record, tell, servers, operations, clusters, clients } = world
  return {
    async power(caller, serverId, { to, kind, seen, override }, signal) {
      const server = await servers.get(serverId)
      demandReady(await store.ofServer(db, serverId), server.name)
      demand(canOrder(to, seen), 'transition_refused')
      if (override !== undefined) {
        if (caller.kind !== 'user' || !permits(caller.scopes, 'bmc:manage').ok)
          throw new Problem(
            'forbidden',
            'Only an admin can switch a server against the majority of etcd',
          )
        if (override.name !== server.name)
          throw new Problem('invalid', `Type the name of the server, ${server.name}`, {
            'override.name': `Type the name of the server, ${server.name}`,
          })
      }
      if (busyStages.has(server.talos.stage))
        throw new Problem(
          'transition_refused',
          `${server.name} is ${server.talos.stage}: wait until that has ended`,
        )
      const refusal =
        to === 'on' || override !== undefined || server.cluster === null
          ? null
          : await clusters.machines.whyNotPowerOff(server.cluster.id, [serverId], signal)
      if (refusal) throw Problem.of('power_refused', refusal)
      return inTransaction(db, async (tx) => {
        const { name, operation_id } = await servers.locked(tx, serverId)
        const row = demandReady(await store.ofServer(tx, serverId), name)
        await demandFree(tx, serverId, name)
        if (operation_id !== null)
          throw new Problem('operation_running', `An operation on ${name} has not ended`)
        if (row.power !== seen)
          throw new Problem(
            'power_changed',
            `The power of ${name} is ${powerWords[row.power]} now, not ${powerWords[seen]}`,
          )
        const operation = await operations.create(tx, caller, {
          kind: 'serverPower',
          target: { id: serverId, name },
          arguments: { to, kind, seen, override: override?.reason ?? null },
          steps: powerSteps(to, { id: serverId, name }),
          queue: powerQueue,
          audit: { after: { to, kind, seen, ...(override && { override: override.reason }) } },
        })
        await servers.hold(tx, serverId, operation.id)
        return { operation }
      })
    },

    async identify(caller, serverId, { lit }, signal) {
      const { name } = await servers.get(serverId)
      const row = demandReady(await store.ofServer(db, serverId), name)
      if (row.capabilities.led === false || row.system_path === null)
        throw new Problem('bmc_refused', `The BMC of ${name} has no light to switch`)
      const client = await clients.of(row)
      try {
        await setLight(client, row.system_path, lit, signal)
      } catch (error) {
        if (!(error instanceof RedfishError)) throw error
        throw new Problem(
          error.kind === 'unreachable' ? 'bmc_unreachable' : 'bmc_refused',
          error.message,
        )
      }
      await inTransaction(db, async (tx) => {
        const before = await store.lock(tx, row.id)
        if (!before) return
        const { version } = await store.update(tx, row.id, { lit }, new Date(clock.now()))
        await record(tx, caller, {
          action: 'server.light_switched',
          target: { kind: 'server', id: serverId, name },
          after: { lit },
        })
        await tell(tx, caller, {
          name: 'bmc.updated',
          object: { kind: 'bmc', id: row.id },
          version,
        })
      })
      return { lit }
    },
  }
}
