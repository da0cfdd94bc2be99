/** What the code editor needs to know of text, apart from any browser. */

/**
 * Spaces that a new line begins with where the one above opens a mapping or a block, so that what is typed next stands in it: "machine:" or "- name:".
 * `before` is the line up to the cursor. Null: the line opens nothing, and the new one begins as its neighbours do.
 */
export function indentBelow(before: string): number | null {
  // Without the sign of a block: "script: |".
  const text = before.trimEnd().replace(/[|>][+-]?$/, '')
  const opens = /^(\s*(?:- +)*)[^\s#"'{[|>-][^#"'{[]*:$/.exec(text.trimEnd())
  return opens === null ? null : opens[1]!.length + 2
}

/**
 * The editor tells of each change and is given the text back a moment later, when more may have been typed. `told` are the texts that it told and was not given back yet.
 * What is left of them once `given` came back; null where it is none of them: then it came from elsewhere, and takes the place of what is typed.
 */
export function afterBack(told: readonly string[], given: string): string[] | null {
  const at = told.indexOf(given)
  return at === -1 ? null : told.slice(at + 1)
}
