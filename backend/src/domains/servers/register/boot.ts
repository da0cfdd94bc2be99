/** Finds the row of a box that only its BMC knew, when its machine answers for the first time. */
import { isSharedSerial, isSharedUuid } from '#contract/servers/identity.ts'
import type { Identity } from '#talos/client/inventory.ts'
import { uuidsOf } from '#redfish/identity.ts'
import type { Db, Tx } from '../../../db/db.ts'
import * as store from '../store.ts'

interface Machine extends Pick<Identity, 'uuid' | 'serial'> {
  readonly macs: readonly string[]
}

const uuidsIn = (uuid: string | null): string[] => uuidsOf(uuid).filter((one) => !isSharedUuid(one))
const serialsIn = (serial: string | null): string[] =>
  serial === null || isSharedSerial(serial) ? [] : [serial]

/** Number of the three marks that agree. */
function agreeing(
  machine: Machine,
  box: { uuid: string | null; serial: string | null; macs: readonly string[] | null },
): number {
  const share = (a: readonly string[], b: readonly string[]) => a.some((one) => b.includes(one))
  const macs = machine.macs.map((mac) => mac.toLowerCase())
  return [
    share(uuidsIn(machine.uuid), uuidsIn(box.uuid)),
    share(serialsIn(machine.serial), serialsIn(box.serial)),
    share(macs, box.macs ?? []),
  ].filter(Boolean).length
}

const candidates = (on: Db | Tx, machines: readonly Machine[]) =>
  store.marked(
    on,
    {
      uuids: machines.flatMap(({ uuid }) => uuidsIn(uuid)),
      serials: machines.flatMap(({ serial }) => serialsIn(serial)),
      macs: machines.flatMap(({ macs }) => macs.map((mac) => mac.toLowerCase())),
    },
    'boxes',
  )

/** The indexes of the machines that may be boxes: `register` decides. */
export async function boxesAmong(on: Db | Tx, machines: readonly Machine[]): Promise<Set<number>> {
  const boxes = await candidates(on, machines)
  if (boxes.length === 0) return new Set()
  return new Set(
    machines.flatMap((machine, i) => (boxes.some((box) => agreeing(machine, box) >= 2) ? [i] : [])),
  )
}

/** The box of a machine, its row locked; undefined if none agrees in two of three marks, or several. */
export async function boxOf(
  tx: Tx,
  { uuid, serial }: Pick<Identity, 'uuid' | 'serial'>,
  macs: readonly string[],
): Promise<store.ServerRow | undefined> {
  const machine = { uuid, serial, macs }
  const found = (await candidates(tx, [machine])).filter((box) => agreeing(machine, box) >= 2)
  if (found.length !== 1) return undefined
  const row = await store.lockOne(tx, found[0]!.id)
  return row?.stage === 'not_booted' && row.status !== 'deleted' ? row : undefined
}
