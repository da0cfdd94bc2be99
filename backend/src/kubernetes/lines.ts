/** Reads long texts line by line. */

/** Longest line of a filtered response, in bytes. */
const longestLine = 16_384

/** Keeps only the lines that begin with a text. A line that is too long is truncated. */
export function lineFilter(
  start: string,
  keep: (line: Buffer) => void,
): { take: (part: Buffer) => void; end: () => void } {
  const head = Buffer.from(start)
  let rest: Buffer = Buffer.alloc(0)
  const line = (text: Buffer): void => {
    if (text.subarray(0, head.length).equals(head)) keep(text)
  }
  return {
    take(part) {
      let from = 0
      for (let at = part.indexOf(10); at >= 0; at = part.indexOf(10, from)) {
        line(Buffer.concat([rest, part.subarray(from, at + 1)]))
        rest = Buffer.alloc(0)
        from = at + 1
      }
      if (rest.length < longestLine)
        rest = Buffer.concat([rest, part.subarray(from)]).subarray(0, longestLine)
    },
    end: () => line(rest),
  }
}
