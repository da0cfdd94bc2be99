/** Splits streamed log chunks into lines and keeps the newest. */
export interface LogText {
  lines: readonly string[]
  /** The incomplete last line. */
  rest: string
  /** Number of dropped lines, so that line numbers stay stable. */
  dropped: number
}

export const emptyLog: LogText = { lines: [], rest: '', dropped: 0 }

const mostLines = 5000
/** Longer lines are cut. */
export const mostCharacters = 4000

export function appended(log: LogText, piece: string, most = mostLines): LogText {
  const parts = (log.rest + piece).split('\n')
  const rest = (parts.pop() ?? '').slice(0, mostCharacters)
  const all = [...log.lines, ...parts.map((line) => line.replace(/\r$/, '').slice(0, mostCharacters))]
  const over = Math.max(0, all.length - most)
  return { lines: over === 0 ? all : all.slice(over), rest, dropped: log.dropped + over }
}
