/** Lines of a log that comes in pieces: a piece may end within a line, and only the newest lines are kept. */
export interface LogText {
  lines: readonly string[]
  /** The piece of a line that has not ended yet. */
  rest: string
  /** How many lines were let go of, so that numbers of lines stay. */
  dropped: number
}

export const emptyLog: LogText = { lines: [], rest: '', dropped: 0 }

const mostLines = 5000
/** A line longer than this is cut: a service may write anything. */
export const mostCharacters = 4000

export function appended(log: LogText, piece: string, most = mostLines): LogText {
  const parts = (log.rest + piece).split('\n')
  const rest = (parts.pop() ?? '').slice(0, mostCharacters)
  const all = [...log.lines, ...parts.map((line) => line.replace(/\r$/, '').slice(0, mostCharacters))]
  const over = Math.max(0, all.length - most)
  return { lines: over === 0 ? all : all.slice(over), rest, dropped: log.dropped + over }
}
