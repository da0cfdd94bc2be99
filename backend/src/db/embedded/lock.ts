/**
 * One Steelyard per data folder. The lock file contains the id and the start time of the process
 * that holds it, so that another process with a reused id isn't mistaken for the holder. A dead
 * process loses its lock; a living process keeps it, however slow it is.
 */
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { linkSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { isAlive, type Machine } from '../../machine.ts'
import { Refusal } from '../../refusal.ts'
import { isListening } from './elsewhere.ts'

export class FolderInUse extends Refusal {
  override readonly name = 'FolderInUse'
  /** @param pid null: the process is in another container, where ids are counted anew */
  constructor(folder: string, pid: number | null) {
    super(
      pid === null
        ? `Another Steelyard uses the data folder ${folder}, in another container: stop it, or run this command in its container`
        : `Another Steelyard (process ${pid}) uses the data folder ${folder}: stop it, or set STEELYARD_DATA to another folder`,
    )
  }
}

/** `began`: start time of the process as the system reports it, compared as text. */
type Holder = { pid: number; began: string }

/**
 * Field 22 of /proc/<pid>/stat (proc(5)), counted after the process name, which may contain any
 * character; on other systems the output of ps.
 */
function beganAt(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  } catch {
    return (
      spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).stdout?.trim() ??
      ''
    )
  }
}

const read = (file: string): Holder | undefined => {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Holder
  } catch {
    return undefined
  }
}

const lives = (machine: Machine, holder: Holder | undefined): holder is Holder =>
  holder !== undefined && isAlive(machine, holder.pid) && beganAt(holder.pid) === holder.began

/**
 * An early check, before anything is loaded or changed. Only `lockFolder` actually takes the lock.
 * @throws FolderInUse if a living process holds the lock
 */
export function assertFree(folder: string, machine: Machine): void {
  const holder = read(path.join(folder, 'steelyard.pid'))
  if (lives(machine, holder)) throw new FolderInUse(folder, holder.pid)
}

/** Whether a Steelyard in another container uses the folder. */
export const isUsedElsewhere = async (folder: string, machine: Machine): Promise<boolean> =>
  !lives(machine, read(path.join(folder, 'steelyard.pid'))) && (await isListening(folder))

/**
 * Locks the folder for this process. Returns a function that releases it.
 * @throws FolderInUse if another living process holds the lock
 */
export function lockFolder(folder: string, machine: Machine): () => void {
  const { pid } = machine
  const file = path.join(folder, 'steelyard.pid')
  const mine = `${file}.${randomUUID()}`
  writeFileSync(mine, JSON.stringify({ pid, began: beganAt(pid) } satisfies Holder), {
    mode: 0o600,
  })
  try {
    for (;;) {
      try {
        // A link fails if the file exists, so only one of two processes succeeds.
        linkSync(mine, file)
        break
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
      const holder = read(file)
      if (lives(machine, holder)) throw new FolderInUse(folder, holder.pid)
      const aside = `${file}.${randomUUID()}`
      try {
        renameSync(file, aside)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue
        throw error
      }
      // Another process may have taken the lock between reading and renaming the file. That process
      // gets its lock back.
      const taken = read(aside)
      if (lives(machine, taken)) {
        try {
          linkSync(aside, file)
        } finally {
          unlinkSync(aside)
        }
        throw new FolderInUse(folder, taken.pid)
      }
      unlinkSync(aside)
    }
  } finally {
    unlinkSync(mine)
  }
  return () => {
    if (read(file)?.pid === pid) unlinkSync(file)
  }
}
