/**
 * Named points at which the process kills itself, for the tests that prove that nothing is lost. `FAILPOINT=name:before` or
 * `FAILPOINT=name:after` names an effect (or its name up to the first slash); `#17:before` is the 17th effect since the start.
 */
export interface Failpoint {
  /** Called around every effect. Doesn't return at the failpoint. */
  reach(effect: string, when: 'before' | 'after'): void
}

/**
 * @param setting the text of `FAILPOINT`; undefined: no point is ever met
 * @param kill ends the process at once, without a chance to clean up
 * @throws RangeError where the text isn't a failpoint
 */
export function failpoint(setting: string | undefined, kill: () => never): Failpoint {
  if (!setting) return { reach: () => undefined }
  const match = /^(?<name>.+):(?<when>before|after)$/.exec(setting)
  if (!match) throw new RangeError(`FAILPOINT must look like name:before or #17:after, not ${setting}`)
  const { name, when } = match.groups as { name: string; when: string }
  let reached = 0
  return {
    reach(effect, now) {
      if (now === 'before') reached += 1
      const meant = name === effect || name === effect.split('/', 1)[0] || name === `#${reached}`
      if (meant && now === when) kill()
    },
  }
}
