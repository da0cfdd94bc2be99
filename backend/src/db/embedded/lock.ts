/**
 * One Steelyard per data folder. The lock names the process that holds it, with the time that the system says it began, so that a number
 * used again by another process isn't taken for the holder. A dead holder's lock is taken over; a live one's never, however slow it is.
 */
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { linkSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { isAlive, type Machine } from '../../machine.ts'
import { Refusal } from '../../refusal.ts'

export class FolderInUse extends Refusal {
  override readonly name = 'FolderInUse'
  readonly pid: number
  constructor(folder: string, pid: number) {
    super(`Another Steelyard (process ${pid}) uses the data folder ${folder}: stop it, or set STEELYARD_DATA to another folder`)
    this.pid = pid
  }
}

/** `began`: The start time of a process as the system reports it, compared as text. */
type Holder = { pid: number; began: string }

/** Field 22 of /proc/<pid>/stat (proc(5)), after the name in parentheses, which may hold anything; elsewhere what ps says. */
function beganAt(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  } catch {
    return spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).stdout?.trim() ?? ''
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
 * A look before anything is loaded or changed; what decides is `lockFolder`.
 * @throws FolderInUse where a living process holds the folder
 */
export function assertFree(folder: string, machine: Machine): void {
  const holder = read(path.join(folder, 'steelyard.pid'))
  if (lives(machine, holder)) throw new FolderInUse(folder, holder.pid)
}

/**
 * Takes the folder for this process. Answers how to give it back.
 * @throws FolderInUse where a living process holds it
 */
export function lockFolder(folder: string, machine: Machine): () => void {
  const { pid } = machine
  const file = path.join(folder, 'steelyard.pid')
  const mine = `${file}.${randomUUID()}`
  writeFileSync(mine, JSON.stringify({ pid, began: beganAt(pid) } satisfies Holder), { mode: 0o600 })
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
      // Another may have taken it over between the reading and the renaming: then it gets its lock back.
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
