import { readFileSync } from 'node:fs'

/** Facts about the machine and this process. Only `main.ts` reads them, from `process`. */
export interface Machine {
  readonly pid: number
  /** Undefined on systems without user ids. */
  readonly uid: number | undefined
  readonly platform: string
  readonly arch: string
  /** The system's folder for temporary files. */
  readonly temporary: string
  /** Like `process.kill`: signal 0 only checks whether the process exists. */
  readonly kill: (pid: number, signal: NodeJS.Signals | 0) => void
  /**
   * Calls the synchronous `act` when this process exits for any reason. Returns a function that
   * cancels it.
   */
  readonly atExit: (act: () => void) => () => void
}

/**
 * Whether the process has ended, but its parent has not collected its exit status yet: state Z in
 * the field after the name, which may contain any character (proc(5)). False on systems without
 * /proc.
 */
function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat[stat.lastIndexOf(')') + 2] === 'Z'
  } catch {
    return false
  }
}

/** Whether a process with this id runs, including processes of other accounts. */
export function isAlive(machine: Machine, pid: number | undefined): boolean {
  if (pid === undefined) return false
  try {
    machine.kill(pid, 0)
    return !isZombie(pid)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
