/**
 * Named points at which the process kills itself, for the tests that prove that nothing is lost.
 * `FAILPOINT=name:before` or `FAILPOINT=name:after`: `name` is an effect's name, or the part before
 * its first slash. `#17:before` is the 17th effect since the start.
 */
export type Failpoint = ReturnType<typeof failpoint>

/**
 * @param setting the text of `FAILPOINT`; undefined: there is no failpoint
 * @param kill ends the process at once, without a chance to clean up
 * @throws RangeError if the text isn't a valid failpoint
 */
export function failpoint(setting: string | undefined, kill: () => never) {
  const match = /^(?<name>.+):(?<when>before|after)$/.exec(setting ?? '')
  if (setting && !match)
    throw new RangeError(`FAILPOINT must look like name:before or #17:after, not ${setting}`)
  const { name, when } = match?.groups ?? {}
  let reached = 0
  return {
    /** Called before and after every effect. Doesn't return at the failpoint. */
    reach(effect: string, now: 'before' | 'after'): void {
      if (now === 'before') reached += 1
      if (now === when && [effect, effect.split('/', 1)[0], `#${reached}`].includes(name)) kill()
    },
  }
}
