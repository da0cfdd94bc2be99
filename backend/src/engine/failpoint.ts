/**
 * Named points at which the process kills itself, for the tests that prove that nothing is lost.
 * `FAILPOINT=name:before` or `FAILPOINT=name:after`: `name` is an effect's name, or the part before
 * its first slash. `#17:before` is the 17th effect since the start. `@/path/to/file`: the file has
 * the point, and no point as long as it doesn't exist; so a test names the next point without a
 * restart.
 */
import { existsSync, readFileSync } from 'node:fs'

export type Failpoint = ReturnType<typeof failpoint>

interface Point {
  readonly name: string
  readonly when: string
}

/** @throws RangeError if the text isn't a point */
function pointIn(text: string): Point {
  const { name, when } = /^(?<name>.+):(?<when>before|after)$/.exec(text)?.groups ?? {}
  if (!name || !when)
    throw new RangeError(`FAILPOINT must look like name:before or #17:after, not ${text}`)
  return { name, when }
}

/** The point that the setting names now; undefined: none. */
function reader(setting: string | undefined): () => Point | undefined {
  if (!setting) return () => undefined
  if (setting.startsWith('@')) {
    const file = setting.slice(1)
    return () => (existsSync(file) ? pointIn(readFileSync(file, 'utf8')) : undefined)
  }
  const point = pointIn(setting)
  return () => point
}

/**
 * @param setting the text of `FAILPOINT`; undefined: there is no failpoint
 * @param kill ends the process at once, without a chance to clean up
 * @throws RangeError if the text isn't a valid failpoint
 */
export function failpoint(setting: string | undefined, kill: () => never) {
  const read = reader(setting)
  let reached = 0
  return {
    /** Called before and after every effect. Doesn't return at the failpoint. */
    reach(effect: string, now: 'before' | 'after'): void {
      if (now === 'before') reached += 1
      const point = read()
      if (
        now === point?.when &&
        [effect, effect.split('/', 1)[0], `#${reached}`].includes(point.name)
      )
        kill()
    },
  }
}
