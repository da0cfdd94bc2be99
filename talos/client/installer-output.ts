/** The output of Talos's installer, a separate program. */

/** Joins pieces of a text to lines. Pieces may end anywhere, also inside a character. */
export function lineReader() {
  const decoder = new TextDecoder()
  let begun = ''
  return {
    /** The lines that this piece completes, and the line that it begins. */
    add(piece: Uint8Array): { readonly lines: readonly string[]; readonly begun: string } {
      const lines = (begun + decoder.decode(piece, { stream: true })).split('\n')
      begun = lines.pop()!
      return { lines, begun }
    },
  }
}

// A usage text of cobra (https://github.com/spf13/cobra, `usageTemplate`): headings, indented
// lines, flags. The kernel's log may drop the indent.
const usageHeading =
  /^(?:Usage|Aliases|Examples|Available Commands|Additional Commands|Flags|Global Flags|Additional help topics):$/
const usageLine = /^(?:\s*$|\s+\S|-\w, --|--?[a-z][\w-]*(?: |$)|installer \w+ \[flags\]|Use ")/

/**
 * The lines without the usage texts, which Talos's installer prints after each error up to Talos
 * 1.13. `textOf`: null for lines of other programs, which may be in between.
 */
export function withoutUsage<T>(lines: readonly T[], textOf: (line: T) => string | null): T[] {
  let isUsage = false
  return lines.filter((line) => {
    const said = textOf(line)
    if (said === null) return true
    isUsage = said === 'Usage:' || (isUsage && (usageHeading.test(said) || usageLine.test(said)))
    return !isUsage
  })
}

/**
 * The error with which an installer has ended, from its output. Cobra prints it after `Error: `, in
 * several lines if the error has several, and before its usage; then main prints it again
 * (`cmd/installer/cmd/installer/root.go`). Since Talos 1.14 it is printed once and without a
 * prefix, so it can't be told from the lines before it: null.
 */
export function installerError(lines: readonly string[]): string | null {
  const at = lines.findLastIndex((line) => line.startsWith('Error: '))
  if (at < 0) return null
  const end = lines.indexOf('Usage:', at)
  // Without the usage, only the first line is certain.
  return lines
    .slice(at, end < 0 ? at + 1 : end)
    .map((line) => line.trim())
    .join(' ')
    .slice('Error: '.length)
}
