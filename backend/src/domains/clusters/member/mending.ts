/**
 * Wipes a half-installed disk, so that Talos installs on it again. Wipes only the chosen install
 * disk, by its WWID or its serial, because the kernel may rename disks at each boot and a wrong
 * wipe loses data.
 */
import type { TalosClient } from '#talos/client/client.ts'
import { TalosError } from '#talos/client/errors.ts'
import { readInstallation } from '#talos/client/installation.ts'
import { type Disk, readDisks } from '#talos/client/inventory.ts'
import { type Order, orderState } from '#talos/client/orders.ts'
import type { Outcome } from '../../../engine/engine.ts'
import { bearersOf } from '../disks.ts'
import type * as store from '../store.ts'
import { Overtaken, running, waiting } from '../whole/cluster-run.ts'
import type { ServerAct } from './acts.ts'
import { adminOf, unseen } from './look.ts'
import {
  demandStillWanted,
  fail,
  type MemberChange,
  type MemberTurn,
  note,
  orderDeadlineMs,
  reread,
} from './run.ts'

type Mend = Extract<ServerAct, { act: 'mend' }>
/**
 * The last order to each server, and the number of orders, by queue key. In memory only. `order`:
 * null if its answer was lost, and for a wipe.
 */
export type Mends = Map<string, Ordered>
interface Ordered {
  readonly how: Mend['how']
  readonly times: number
  readonly at: number
  readonly order: Order | null
}

/** Maximum number of orders. */
const mostMends = 3
/**
 * A machine wipes a disk before it answers, and shows that within a second. A machine that still
 * shows Talos on the disk after this time, in ms, is told again. So is one whose answer was lost
 * and that goes on as if it had not been told.
 */
const showsMs = 15_000

/**
 * How a person wipes a disk of a server in maintenance. The check of volumes would refuse it, and a
 * server in maintenance can't be told to restart.
 */
export const wipeByHand = (disk: string, address: string): string =>
  `wipe it with talosctl wipe disk ${disk} --skip-volume-check --insecure --nodes ${address}, turn the server off and on, then retry`

/** The disk to wipe by its current name, or why nothing is wiped. */
export function mendTarget(
  chosen: Pick<
    store.MemberRow,
    'name' | 'install_disk' | 'disk_wwids' | 'agreed_disks' | 'trouble'
  >,
  now: readonly Pick<Disk, 'id' | 'wwid' | 'serial'>[],
  halfInstalled: string | null,
  address: string,
): { disk: string } | { problem: string } {
  const { by, disks } = bearersOf(chosen, chosen.install_disk, now)
  const cause = chosen.trouble === null ? '' : `The installation failed: ${chosen.trouble}. `
  const problem = (what: string, disk: string) => ({
    problem: `${cause}${chosen.name} has a half-installed ${what}. Steelyard does not wipe this disk: ${wipeByHand(disk, address)}`,
  })
  if (by === null)
    return problem(
      `disk, and ${chosen.install_disk} has neither a WWID nor a serial that distinguishes it from other disks`,
      halfInstalled ?? 'NAME',
    )
  if (halfInstalled === null || disks.length === 0)
    return problem(`disk, and the chosen disk, ${by}, is missing`, halfInstalled ?? 'NAME')
  if (disks.length > 1)
    return problem(
      `disk, and ${disks.length} disks have the ${by} of the chosen disk`,
      halfInstalled,
    )
  if (disks[0]!.id !== halfInstalled)
    return problem(
      `Talos on /dev/${halfInstalled}, which is not the disk that was chosen, ${by}`,
      halfInstalled,
    )
  return { disk: halfInstalled }
}

/** What is recorded with an order. A reset is one order, however often it has to be repeated. */
const madeBy = ({ job, m }: MemberTurn, how: Mend['how']): MemberChange => ({
  ...(how !== 'restart' && { was_installed: false }),
  ...(how === 'reset' &&
    m.unbootable_at === null && {
      unbootable_at: new Date(job.now()),
      install_resets: m.install_resets + 1,
    }),
})

/** Name of the wipe in the journal of effects. */
const mendEffect = (m: store.MemberRow, how: Mend['how']): string =>
  `${how === 'wipe' ? 'wipe-disk' : `${how}-install`}/${m.node_id}/${m.disk_wwids[m.install_disk] ?? m.install_disk}`

/**
 * Sends the wipe, the reset or the restart. Returns what was ordered, or why nothing was sent.
 * @throws TalosError; Overtaken if it is no longer wanted
 */
async function orderMend(
  client: TalosClient,
  turn: MemberTurn,
  how: Mend['how'],
  address: string,
): Promise<{ order: Order | null } | { problem: string }> {
  if (how === 'restart') {
    await demandStillWanted(turn)
    return { order: await client.reboot({ mode: 'force', deadlineMs: orderDeadlineMs }) }
  }
  const [disks, installation] = await Promise.all([readDisks(client), readInstallation(client)])
  // The previous wipe has taken effect.
  if (installation.state === 'none' || installation.state === 'wiped') return { order: null }
  const target = mendTarget(turn.m, disks, installation.disk, address)
  if ('problem' in target) return target
  await demandStillWanted(turn)
  // On a running server the disk's volumes are mounted, and only a reset unmounts them.
  if (how === 'reset')
    return {
      order: await client.reset(
        { graceful: false, reboot: true, mode: 'system_disk' },
        { deadlineMs: orderDeadlineMs },
      ),
    }
  await client.wipeDisk(target.disk, { deadlineMs: orderDeadlineMs })
  return { order: null }
}

/**
 * Whether the last order is being carried out, or may still begin. A machine that refuses it, or
 * that goes on as before, is told again. @throws TalosError
 */
async function isUnderWay({ parts, job, m }: MemberTurn, { at, order }: Ordered): Promise<boolean> {
  const sinceMs = job.elapsedMs(at)
  if (order === null) return sinceMs < showsMs
  const credentials = await adminOf({ parts, job, m })
  if (credentials === null) return false
  const connection = await parts.servers.connection(m.node_id)
  return (
    (await connection.secure(credentials, (client) => orderState(client, order, sinceMs), {
      signal: job.signal,
    })) !== 'refused'
  )
}

/**
 * Wipes a half-installed disk, resets a server that runs from memory, or restarts it by force. The
 * next run decides what remains to be done. `change`: what was seen, such as the cause, which the
 * order may erase on the machine.
 */
export async function mend(
  turn: MemberTurn,
  { how, at, reason, disk }: Mend,
  mends: Mends,
  change: MemberChange,
): Promise<Outcome | 'again'> {
  const { parts, job, m } = turn
  const failed = async (error: unknown): Promise<Outcome> => {
    const seen = unseen(error, job.signal)
    const isRefused =
      error instanceof TalosError &&
      ['invalid_argument', 'unimplemented', 'failed_precondition', 'permission_denied'].includes(
        error.kind,
      )
    const failure = `${reason}, which did not work: ${seen.reason}`
    if (isRefused || seen.kind === 'stranger') return fail(await reread(turn), at, failure)
    await note(await reread(turn), at, waiting(failure))
    return { againMs: 2_000 }
  }
  const last = mends.get(job.key)
  const before = last?.how === how ? last : undefined
  const times = before?.times ?? 0
  try {
    if (before !== undefined && (await isUnderWay(turn, before))) {
      await note(turn, at, waiting(reason))
      return { againMs: 1_000 }
    }
    const connection = await parts.servers.connection(m.node_id)
    if (times >= mostMends) {
      mends.delete(job.key)
      const byHand = wipeByHand(disk ?? 'NAME', connection.address)
      return fail(
        turn,
        at,
        `${reason}. Steelyard has tried this ${mostMends} times. Turn the server off and on. If its disk then still holds Talos, ${byHand}`,
      )
    }
    if (!(await note(turn, at, running(reason), { ...change, ...madeBy(turn, how) })))
      return 'again'
    const act = (client: TalosClient) => orderMend(client, turn, how, connection.address)
    const options = { signal: job.signal, deadlineMs: orderDeadlineMs }
    const credentials = await parts.secrets.talosAdmin(m.cluster_id)
    // Until it is answered, the order may have reached the machine.
    mends.set(job.key, { how, times: times + 1, at: job.now(), order: null })
    const done = await job.effect(mendEffect(m, how), () =>
      how === 'wipe'
        ? connection.maintenance(act, options)
        : connection.secure(credentials!, act, options),
    )
    if ('problem' in done) return fail(await reread(turn), at, done.problem)
    mends.set(job.key, { how, times: times + 1, at: job.now(), order: done.order })
    return { againMs: 500 }
  } catch (error) {
    if (error instanceof Overtaken) return 'again'
    return failed(error)
  }
}
