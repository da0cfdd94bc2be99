/** The failpoint of a running program, which a test can change without a restart. */
import { renameSync, rmSync, writeFileSync } from 'node:fs'

/** `file`: a path in the test's own folder. */
export const failpointFile = (file: string) => ({
  /** The program's environment. */
  setting: { FAILPOINT: `@${file}` },
  set(point: string): void {
    writeFileSync(`${file}.next`, point)
    // In one step, because the program reads the file at every effect.
    renameSync(`${file}.next`, file)
  },
  clear: (): void => rmSync(file, { force: true }),
})
