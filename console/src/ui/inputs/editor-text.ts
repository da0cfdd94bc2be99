/** Text functions of the code editor. They need no browser. */

/**
 * Indentation, in spaces, of a new line below a line that opens a mapping or a block, such as
 * "machine:" or "- name:". `before` is the line up to the cursor. Null if the line opens nothing.
 */
export function indentBelow(before: string): number | null {
  // Removes a block indicator, such as the bar in "script: |".
  const text = before.trimEnd().replace(/[|>][+-]?$/, '')
  const opens = /^(\s*(?:- +)*)[^\s#"'{[|>-][^#"'{[]*:$/.exec(text.trimEnd())
  return opens === null ? null : opens[1]!.length + 2
}

/**
 * The editor reports each change, and its prop `value` gets the reported text a moment later, when
 * the user may have typed more. `told`: reported texts that have not arrived as `value` yet.
 * `given`: the new `value`. Returns the texts of `told` after `given`. Null if `given` is not in
 * `told`: then the text comes from elsewhere and replaces the editor's text.
 */
export function afterBack(told: readonly string[], given: string): string[] | null {
  const at = told.indexOf(given)
  return at === -1 ? null : told.slice(at + 1)
}
