/**
 * Boxes that nobody has booted yet: rows that a BMC has told of. They have no address, so nothing
 * dials them, and no cluster, offer or commitment takes them. A machine that announces itself and
 * agrees in two of three marks becomes the same row (`register.ts`).
 */
import { isSharedSerial, isSharedUuid } from '#contract/servers/identity.ts'
import { uuidsOf } from '#redfish/identity.ts'
import { system } from '../../../http/caller.ts'
import type { Platform } from '../../../platform.ts'
import type { Boxes, NewBox } from '../api.ts'
import { audited } from '../present.ts'
import * as store from '../store.ts'
import { newName } from './name.ts'

const mostNames = 50

export function boxes({
  clock,
  random,
  record,
  tell,
}: Pick<Platform, 'clock' | 'random' | 'record' | 'tell'>): Boxes {
  const rowOf = (
    { bmc_id, uuid, serial, manufacturer, product, hardware, datacenterId, labels }: NewBox,
    at: Date,
  ): store.NewServer => ({
    name: newName(random),
    datacenter_id: datacenterId,
    labels: JSON.stringify(labels),
    address: '',
    stage: 'not_booted',
    // A user has confirmed the BMC that tells of it.
    identity_state: 'confirmed',
    identity_since: at,
    uuid: uuid !== null && !isSharedUuid(uuid) ? uuid : null,
    serial,
    manufacturer,
    product,
    hardware: JSON.stringify(hardware),
    hardware_at: at,
    bmc_id,
    created_at: at,
    updated_at: at,
  })
  return {
    async marked(on, marks) {
      const rows = await store.marked(on, {
        uuids: marks.uuids.filter((uuid) => !isSharedUuid(uuid)),
        serials: marks.serials.filter((serial) => !isSharedSerial(serial)),
        macs: marks.macs,
      })
      return rows.map(({ id, name, uuid, serial, macs, bmc_id }) => ({
        id,
        name,
        bmc_id,
        uuids: uuidsOf(uuid).filter((one) => !isSharedUuid(one)),
        serials: serial !== null && !isSharedSerial(serial) ? [serial] : [],
        macs: macs ?? [],
      }))
    },
    async addBox(tx, caller, box) {
      const at = new Date(clock.now())
      for (let tries = 0; tries < mostNames; tries++) {
        const [made] = await store.insert(tx, [rowOf(box, at)])
        if (!made) continue
        await record(tx, caller, {
          action: 'server.added',
          target: { kind: 'server', id: made.id, name: made.name },
          after: audited(made),
          event: { name: 'server.created', version: made.version },
        })
        return { id: made.id, name: made.name }
      }
      throw new Error('No name is free for a new server')
    },
    async removeBox(tx, caller, id) {
      const row = await store.lockOne(tx, id)
      if (row?.stage !== 'not_booted' || row.status === 'deleted') return
      const at = new Date(clock.now())
      const after = await store.update(
        tx,
        id,
        { status: 'deleted', removed_at: at, bmc_id: null, power: null, power_since: null },
        at,
      )
      await record(tx, caller, {
        action: 'server.removed',
        target: { kind: 'server', id, name: row.name },
        before: audited(row),
        event: { version: after.version },
      })
    },
    async notePower(tx, id, power) {
      const row = await store.lockOne(tx, id)
      if (!row) return
      const columns = {
        bmc_id: power?.bmc_id ?? null,
        power: power?.state ?? null,
        power_since: power?.since ?? null,
      }
      if (row.bmc_id === columns.bmc_id && row.power === columns.power) return
      const { version } = await store.update(tx, id, columns, new Date(clock.now()))
      await tell(tx, system, { name: 'server.updated', object: { kind: 'server', id }, version })
    },
  }
}
