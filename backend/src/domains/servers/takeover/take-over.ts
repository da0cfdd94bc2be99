/** Makes machines of a cluster that is taken over ready servers. Nothing is sent to them. */
import { Problem } from '#contract/errors.ts'
import type { Clock } from '../../../clock.ts'
import type { Recorder } from '../../../record.ts'
import type { Fleet } from '../../../talos-fleet/fleet.ts'
import type { ForClusters, TakenMachine } from '../for-clusters.ts'
import { readingColumns } from '../contact/observe.ts'
import { audited, factsOf } from '../present.ts'
import * as store from '../store.ts'

export interface TakingOverParts {
  readonly clock: Clock
  readonly recorder: Recorder
  readonly fleet: Fleet
}

export function takingOver({ clock, recorder: { record }, fleet }: TakingOverParts): Pick<ForClusters, 'connectionAt' | 'among' | 'takeOver'> {
  const columnsOf = ({ cluster, datacenterId, name, address, role, identity, reading }: TakenMachine, at: Date) =>
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
      uuid: identity.uuid,
      serial: identity.serial,
      manufacturer: identity.manufacturer,
      product: identity.product,
      seen_uuid: null,
      seen_serial: null,
      // Fingerprints exist only in maintenance.
      fingerprint: null,
      stage: reading.status.stage,
      unmet: JSON.stringify(reading.status.unmet),
      reachable: true,
      unreachable_since: null,
      reason: null,
      ...readingColumns(reading, at),
    }) as const

  return {
    connectionAt: (address) => fleet.connection({ id: `address ${address}`, name: address, address, uuid: null, serial: null }),

    async among(on, { uuids, names }) {
      if (uuids.length + names.length === 0) return []
      const rows = await store
        .live(on)
        .where((e) =>
          e.or([...(uuids.length > 0 ? [e('server.uuid', 'in', [...uuids])] : []), ...(names.length > 0 ? [e('server.name', 'in', [...names])] : [])]),
        )
        .execute()
      return rows.map((row) => factsOf(row, null))
    },

    async takeOver(tx, caller, machine) {
      const at = new Date(clock.now())
      const known = await store.liveByUuid(tx, machine.identity.uuid)
      const before = known && (await store.lockOne(tx, known.id))
      if (before?.cluster_id) throw new Problem('server_taken', `${before.name} has been taken by the cluster ${before.cluster_name}`)
      const columns = columnsOf(machine, at)
      const taken = (name: string) => new Problem('name_taken', `Another server is called ${name}: rename it first`)
      if (before) {
        // Checked before the write, because a unique violation would abort the transaction.
        if (before.name !== machine.name && (await store.live(tx).where('server.name', '=', machine.name).executeTakeFirst())) throw taken(machine.name)
        fleet.forget(before.id)
      }
      const after = before
        ? await store.update(tx, before.id, columns, at)
        : await store.insert(tx, { ...columns, predecessor_id: null, created_at: at, updated_at: at } as store.NewServer)
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
