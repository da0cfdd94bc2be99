/** Stores what a BMC told: its status, the power of its server, and which server that is. */
import type { BmcStatus, PowerState } from '#contract/bmcs/state.ts'
import { uuidsOf } from '#redfish/identity.ts'
import { inTransaction, type Tx } from '../../../db/db.ts'
import { system } from '../../../http/caller.ts'
import type { MarkedServer, Marks } from '../../servers/api.ts'
import { matchOf } from '../matching.ts'
import type { BmcWorld } from '../parts.ts'
import { audited } from '../present.ts'
import type { BmcRow } from '../store.ts'
import * as store from '../store.ts'
import type { Learned } from './learning.ts'

export interface Keeping {
  readonly setStatus: (
    tx: Tx,
    row: BmcRow,
    status: BmcStatus,
    reason: string | null,
  ) => Promise<BmcRow>
  /** Stores the power that was just read. */
  readonly notePower: (
    tx: Tx,
    row: BmcRow,
    power: PowerState,
    more?: { readonly lit?: boolean | null },
  ) => Promise<void>
  /** Stores what was read of a BMC and its server. */
  readonly keep: (id: string, learned: Learned) => Promise<void>
}

const marksOf = ({ uuid, serial, macs }: Pick<Learned, 'uuid' | 'serial' | 'macs'>): Marks => ({
  uuids: uuidsOf(uuid),
  serials: serial === null ? [] : [serial],
  macs,
})

/** The server that it switches: found by its marks, decided by a user, or a new box. */
async function match(
  { clock, servers }: Pick<BmcWorld, 'clock' | 'servers'>,
  tx: Tx,
  row: BmcRow,
  learned: Learned,
): Promise<string | null> {
  if (row.server_id !== null) return row.server_id
  const marks = marksOf(learned)
  const known: MarkedServer[] = await servers.marked(tx, marks)
  const found = matchOf(row.id, marks, known)
  if (found.kind === 'server') return found.server.id
  if (found.kind === 'doubt') {
    await store.update(
      tx,
      row.id,
      { candidates: JSON.stringify(found.candidates), reason: found.reason },
      new Date(clock.now()),
    )
    return null
  }
  const { wishes } = row
  const box = await servers.addBox(tx, system, {
    bmc_id: row.id,
    uuid: learned.uuid,
    serial: learned.serial,
    manufacturer: learned.manufacturer,
    product: learned.product,
    hardware: learned.hardware,
    datacenterId: wishes.datacenter_id ?? null,
    labels: wishes.labels ?? {},
  })
  return box.id
}

/** The columns of what was read. */
const columnsOf = (learned: Learned) =>
  ({
    uuid: learned.uuid,
    serial: learned.serial,
    macs: learned.macs,
    vendor: learned.vendor,
    firmware: learned.firmware,
    system_path: learned.systemPath,
    power: learned.power,
    lit: learned.lit,
    capabilities: JSON.stringify({
      media: learned.media,
      http_boot: learned.httpBoot,
      pxe: learned.pxe,
      led: learned.led,
      sensors: learned.sensors,
    }),
  }) satisfies store.BmcChange

export function keeping(world: BmcWorld): Keeping {
  const { db, clock, record, tell, servers } = world
  const now = () => new Date(clock.now())
  const updated = async (tx: Tx, row: BmcRow): Promise<void> =>
    tell(tx, system, {
      name: 'bmc.updated',
      object: { kind: 'bmc', id: row.id },
      version: row.version,
    })

  const setStatus = async (
    tx: Tx,
    row: BmcRow,
    status: BmcStatus,
    reason: string | null,
  ): Promise<BmcRow> => {
    if (row.status === status && row.reason === reason) return row
    const since = row.status === status ? {} : { status_since: now() }
    const after = await store.update(tx, row.id, { status, reason, ...since }, now())
    if (row.status !== status && (status === 'changed' || status === 'denied'))
      await record(tx, system, {
        action: status === 'changed' ? 'bmc.alarm' : 'bmc.denied',
        target: { kind: 'bmc', id: row.id, name: row.address },
        after: { ...audited(after), reason },
        event: { name: 'bmc.updated', version: after.version },
      })
    else await updated(tx, after)
    return after
  }

  const notePower: Keeping['notePower'] = async (tx, row, power, { lit } = {}) => {
    const isOther = row.power !== power
    const at = now()
    await store.updateContact(tx, row.id, { power_seen_at: at })
    if (isOther || row.power_since === null || (lit !== undefined && lit !== row.lit)) {
      const since = isOther || row.power_since === null ? at : row.power_since
      const after = await store.update(
        tx,
        row.id,
        { power, power_since: since, ...(lit !== undefined && { lit }) },
        at,
      )
      await updated(tx, after)
      if (row.server_id !== null)
        await servers.notePower(tx, row.server_id, { bmc_id: row.id, state: power, since })
    }
  }

  const keep = async (id: string, learned: Learned): Promise<void> =>
    inTransaction(db, async (tx) => {
      const row = await store.lock(tx, id)
      if (!row) return
      const isOther =
        row.uuid !== null &&
        learned.uuid !== null &&
        !uuidsOf(row.uuid).includes(learned.uuid) &&
        row.serial !== learned.serial
      if (isOther) {
        await setStatus(
          tx,
          row,
          'changed',
          `It tells of other hardware: serial ${learned.serial ?? 'unknown'} instead of ${row.serial ?? 'unknown'}`,
        )
        return
      }
      const server_id = await match(world, tx, row, learned)
      const since = row.power === learned.power ? (row.power_since ?? now()) : now()
      const after = await store.update(
        tx,
        id,
        {
          server_id,
          ...(server_id !== null && { candidates: '[]' }),
          ...columnsOf(learned),
          model: learned.model ?? row.model,
          power_since: since,
        },
        now(),
      )
      await store.updateContact(tx, id, { inventory_at: now(), power_seen_at: now() })
      await setStatus(tx, after, 'ready', server_id === null ? after.reason : null)
      await updated(tx, after)
      if (server_id !== null)
        await servers.notePower(tx, server_id, { bmc_id: id, state: learned.power, since })
    })

  return { setStatus, notePower, keep }
}
