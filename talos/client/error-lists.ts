/** An error, and those that it consists of. */
interface Told {
  text: string
  of: Told[]
}

const heading = /^(.*?)(\d{1,4}) errors? occurred:$/

/**
 * Converts Go's error lists (hashicorp/go-multierror, `ListFormatFunc`: `2 errors occurred:\n\t* …\n\t* …\n\n`) to lines with a leading `- `; a list of one error
 * becomes that error. Nested lists have the same indent in Go's text, and only the counts show their ends; here they are indented by two spaces.
 */
export function errorLists(message: string): string {
  if (!/\d errors? occurred:\n\t\* /.test(message)) return message
  const lines = message.split('\n').filter((line) => line.trim() !== '')
  const shown: string[] = []
  for (let at = 0; at < lines.length;) {
    const [told, next] = read(lines, at, lines[at]!)
    show(told, 0, '', shown)
    at = next
  }
  return shown.join('\n')
}

/** Without the spaces at its end, and the colon before them. */
function withoutEnd(text: string): string {
  const end = text.trimEnd()
  return end !== text && end.endsWith(':') ? end.slice(0, -1) : end
}

/** Reads a line and its nested lists. Returns them and the index of the next line. */
function read(lines: readonly string[], at: number, line: string): [Told, number] {
  const [, before, count] = heading.exec(line) ?? []
  const told: Told = { text: withoutEnd(before ?? line), of: [] }
  let next = at + 1
  if (before === undefined) return [told, next]
  while (told.of.length < Number(count) && lines[next]?.startsWith('\t* ')) {
    const [item, after] = read(lines, next, lines[next]!.slice(3))
    told.of.push(item)
    next = after
    // An error of several lines.
    while (item.of.length === 0 && lines[next] !== undefined && !lines[next]!.startsWith('\t* ') && told.of.length < Number(count)) {
      item.text += ` ${lines[next]!.trim()}`
      next++
    }
  }
  return [told, next]
}

function show({ text, of }: Told, depth: number, before: string, shown: string[]): void {
  const said = [before, text].filter((part) => part !== '').join(': ')
  if (of.length === 1) return show(of[0]!, depth, said, shown)
  const bullet = depth === 0 ? '' : `${'  '.repeat(depth - 1)}- `
  if (said !== '') shown.push(`${bullet}${said}${of.length > 0 ? ':' : ''}`)
  for (const item of of) show(item, depth + 1, '', shown)
}
