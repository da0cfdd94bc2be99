/**
 * Confirms the disks that a command wipes: by an option, or by typing if the API reports that a
 * disk isn't empty.
 */
import type { NewClusterInput } from '#contract/clusters/clusters.ts'
import { defaultInstallDisk } from '#contract/disks/choice.ts'
import { type ConfirmedDisk, devicePath, type DiskToConfirm } from '#contract/disks/disks.ts'
import { type ChosenDisks, diskSentence, disksToConfirm } from '#contract/disks/wipe.ts'
import { serverGet } from '#contract/servers/servers.ts'
import type { Context } from '../command.ts'
import { CliError } from '../exit.ts'
import { oneLine } from '../text.ts'

export const confirmOption = {
  'confirm-disk': {
    kind: 'text',
    value: 'DISK=CONTENT',
    many: true,
    whole: true,
    help: 'A disk that may be wiped: its serial or WWID, and its content as `server show` prints it. You are asked about other disks with content',
  },
} as const

/** A server to be installed, with its chosen or default disks. */
type AskedServer = Pick<
  NewClusterInput['servers'][number],
  'node_id' | 'install_disk' | 'workload_disks'
>

/**
 * Parses `DISK=CONTENT` pairs. A DISK with a WWID prefix of the kernel (`naa.`, `eui.`, `t10.`,
 * `nvme.`, `uuid.`) is a WWID, otherwise a serial.
 */
export function confirmedDisks(pairs: readonly string[]): ConfirmedDisk[] {
  return pairs.map((pair) => {
    const [disk = '', content = ''] = pair.split(/=(.*)/s)
    if (disk === '' || content === '')
      throw new CliError('usage', `--confirm-disk takes DISK=CONTENT, not ${oneLine(pair)}`)
    return /^(?:naa|eui|t10|nvme|uuid)\./.test(disk)
      ? { wwid: disk, content }
      : { serial: disk, content }
  })
}

/** The servers' chosen or default disks, without those that need no confirmation. */
async function disksOf(
  { api }: Context,
  servers: readonly AskedServer[],
): Promise<DiskToConfirm[]> {
  const chosen: ChosenDisks[] = []
  for (const asked of servers) {
    const { name, resources, talos } = await api.call(serverGet, { params: { id: asked.node_id } })
    const workload = (asked.workload_disks ?? []).map(devicePath)
    const fallback = defaultInstallDisk(resources.disks, workload)
    const install = asked.install_disk ?? talos.installed?.disk ?? fallback?.id
    const devices = [...(install === undefined ? [] : [devicePath(install)]), ...workload]
    chosen.push({
      server: name,
      disks: resources.disks,
      devices,
      kept: talos.installed?.disk ?? null,
    })
  }
  return disksToConfirm(chosen)
}

/**
 * Asks the user to type the serial of each disk that would be wiped and isn't confirmed yet.
 * Returns all confirmations, or null if there is no terminal or a disk has neither serial nor WWID.
 * Throws CliError if the user types something else.
 */
async function askForDisks(
  { terminal }: Context,
  disks: readonly DiskToConfirm[],
  given: readonly ConfirmedDisk[],
): Promise<ConfirmedDisk[] | null> {
  const confirmed = [...given]
  for (const one of disks) {
    const { by } = one
    if (by === null) return null
    const isSaid = confirmed.some(
      (c) =>
        c.content === by.content &&
        (c.wwid === undefined ? c.serial === by.serial : c.wwid === by.wwid),
    )
    if (isSaid) continue
    const word = by.serial ?? by.wwid!
    const answer = await terminal.ask(
      `${oneLine(diskSentence(one))}. It will be wiped. Type ${oneLine(word)} to continue: `,
      { secret: false },
    )
    if (answer === null) return null
    if (answer.trim() !== word) throw new CliError('failure', 'Nothing was done')
    confirmed.push(by)
  }
  return confirmed
}

/**
 * Calls the API with the confirmed disks and asks the user about disks that the API refuses.
 * `servers`: the servers to be installed, or a function that finds them. Throws CliError.
 */
export async function withDisks<T>(
  context: Context,
  servers: readonly AskedServer[] | (() => Promise<readonly DiskToConfirm[]>),
  given: readonly ConfirmedDisk[],
  call: (confirmed: ConfirmedDisk[]) => Promise<T>,
): Promise<T> {
  try {
    return await call([...given])
  } catch (error) {
    if (!(error instanceof CliError) || error.body?.code !== 'disk_not_confirmed') throw error
    const disks = typeof servers === 'function' ? await servers() : await disksOf(context, servers)
    const confirmed = await askForDisks(context, disks, given)
    if (confirmed === null)
      throw new CliError(error.exit, error.message, {
        body: error.body,
        hint: "Confirm the disk: --confirm-disk 'SERIAL=CONTENT'",
        cause: error,
      })
    return call(confirmed)
  }
}
