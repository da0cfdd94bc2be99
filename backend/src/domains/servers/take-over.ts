/**
 * Turns the machines of a cluster that is taken over into ready servers. Nothing is sent to the
 * machines.
 */
import { Problem } from '#contract/errors.ts'
import { needsMac } from '#contract/servers/identity.ts'
import type { Platform } from '../../platform.ts'
import type { Fleet } from '../../talos-fleet/fleet.ts'
import type { Servers, TakenMachine } from './api.ts'
import { pack, readingColumns } from './contact/observe.ts'
import { macsOf, sameAmong } from './register/recognise.ts'
import { audited, factsOf } from './present.ts'
import * as store from './store.ts'

export function takingOver({
  clock,
  record,
  fleet,
}: Pick<Platform, 'clock' | 'record'> & { fleet: Fleet }): Pick<
  Servers,
  'connectionAt' | 'among' | 'takeOver'
> {
  const columnsOf = (
    { cluster, datacenterId, name, address, role, identity, reading }: TakenMachine,
    at: Date,
  ) =>
    ({
      name,
      status: 'ready',
      type: role,
      datacenter_id: datacenterId,
      cluster_id: cluster.id,
      cluster_name: cluster.name,
      operation_id: null,
      address,
      identity_state: 'confirmed',
      identity_since: at,
      identity_note: `Taken over with the cluster ${cluster.name}`,
      ...identity,
      identity_mac: needsMac(identity)
        ? (macsOf(reading.inventory.interfaces).toSorted()[0] ?? null)
        : null,
      seen_uuid: null,
      seen_serial: null,
      // Fingerprints exist only in maintenance.
      fingerprint: null,
      ...readingColumns(pack(reading), at),
    }) as const

  return {
    connectionAt: (address) =>
      fleet.connection({
        id: `address ${address}`,
        name: address,
        address,
        uuid: null,
        serial: null,
      }),

    among: async (on, what) => (await store.among(on, what)).map((row) => factsOf(row, null)),

    async takeOver(tx, caller, machine) {
      const at = new Date(clock.now())
      const known = sameAmong(await store.withUuid(tx, machine.identity.uuid), {
        ...machine,
        macs: macsOf(machine.reading.inventory.interfaces),
      })
      const before = known && (await store.lockOne(tx, known.id))
      if (before?.cluster_id)
        throw new Problem(
          'server_taken',
          `${before.name} is already in the cluster ${before.cluster_name}`,
        )
      const columns = columnsOf(machine, at)
      const taken = (name: string) =>
        new Problem('name_taken', `Another server is called ${name}: rename it first`)
      if (before) {
        // Checked before the write, because a unique violation would abort the transaction.
        if (
          before.name !== machine.name &&
          (await store.among(tx, { uuids: [], names: [machine.name] })).length > 0
        )
          throw taken(machine.name)
        fleet.forget(before.id)
      }
      const after = before
        ? await store.update(tx, before.id, columns, at)
        : (
            await store.insert(tx, [
              { ...columns, predecessor_id: null, created_at: at, updated_at: at },
            ])
          )[0]
      if (!after) throw taken(machine.name)
      await store.writeContacts(tx, [{ id: after.id, at }])
      await record(tx, caller, {
        action: 'server.taken_over',
        target: { kind: 'server', id: after.id, name: after.name },
        before: before ? audited(before) : null,
        after: audited(after),
        event: { name: before ? 'server.updated' : 'server.created', version: after.version },
      })
      return after.id
    },
  }
}
