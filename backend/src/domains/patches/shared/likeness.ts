/** What a shared patch changes on a server, in a form that is the same for servers that are alike. */

/**
 * A line with the values of a server replaced by the variables of the patch. Only whole words are
 * values: `3` isn't one in `vlan3`.
 */
const generalised = (line: string, names: ReadonlyMap<string, string>): string =>
  line.replaceAll(/[A-Za-z0-9._:-]+/g, (word) => {
    const end = word.endsWith(':') ? ':' : ''
    const name = names.get(end === '' ? word : word.slice(0, -1))
    return name === undefined ? word : `{{${name}}}${end}`
  })

/** The changed lines of a unified diff, without their places, and with variables for values. */
export function changedLines(diff: string, filled: Readonly<Record<string, string>>): string[] {
  const names = new Map(Object.entries(filled).map(([name, value]) => [value, name]))
  return diff
    .split('\n')
    .filter((line) => /^[+#-]/.test(line))
    .map((line) => (names.size === 0 ? line : line.slice(0, 1) + generalised(line.slice(1), names)))
}
