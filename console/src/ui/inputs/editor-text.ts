/** What the code editor needs to know of text, apart from any browser. */

/**
 * Indentation of a new line below one that opens a mapping or a block, such as "machine:" or "- name:", in spaces.
 * `before` is the line up to the cursor. Null if the line opens nothing.
 */
export function indentBelow(before: string): number | null {
  // Without a block indicator: "script: |".
  const text = before.trimEnd().replace(/[|>][+-]?$/, '')
  const opens = /^(\s*(?:- +)*)[^\s#"'{[|>-][^#"'{[]*:$/.exec(text.trimEnd())
  return opens === null ? null : opens[1]!.length + 2
}

/**
 * The editor reports each change and gets the text back as `value` a moment later, when more may have been typed. `told` are the reported texts that have not come back.
 * Returns what is left of them after `given`; null if `given` is none of them, so it comes from elsewhere and replaces the text.
 */
export function afterBack(told: readonly string[], given: string): string[] | null {
  const at = told.indexOf(given)
  return at === -1 ? null : told.slice(at + 1)
}
