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

/** Whether a process with this id exists, including processes of other accounts. */
export function isAlive(machine: Machine, pid: number | undefined): boolean {
  if (pid === undefined) return false
  try {
    machine.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
