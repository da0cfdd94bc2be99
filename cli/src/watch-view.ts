/** `--watch`: shows a list or an object again after each change. */
import type { Api } from './api/client.ts'
import { CliError, exitCodes } from './exit.ts'
import type { Terminal } from './terminal.ts'
import { cut, safeJson } from './text.ts'

interface Viewing {
  readonly terminal: Terminal
  readonly api: Api
  readonly json: boolean
  readonly line: (value: unknown) => string
}

export const watchOption = {
  watch: {
    kind: 'flag',
    help: 'Show it again after each change, until Ctrl-C; with -o json a line of JSON for each',
  },
} as const

/** Shortest time between two reads, so that many changes at once cause one read. */
const pauseMs = 500
/**
 * How often to read although no event has arrived: times such as "3 min ago" change without one.
 */
const refreshMs = 10_000
/** How often to read while there is no stream of events. */
const pollMs = 2_000

/**
 * Replaces what is on the screen. Lines that don't fit are counted, because the terminal would
 * scroll and show the end instead of the beginning.
 */
function screen(terminal: Terminal, text: string): string {
  const time = new Date(terminal.now()).toTimeString().slice(0, 8)
  const lines = [
    `${time}  Shown again after each change; Ctrl-C ends it`,
    '',
    ...text.trimEnd().split('\n'),
  ]
  const rows = terminal.rows ?? lines.length + 1
  const fitting =
    lines.length < rows
      ? lines
      : [...lines.slice(0, rows - 2), `${lines.length - rows + 2} more lines`]
  const width = terminal.columns
  return `\u001b[H${fitting.map((line) => `${width !== null && !line.includes('\u001b') ? cut(line, width) : line}\u001b[K\n`).join('')}\u001b[J`
}

/**
 * Shows what `read` returns, and shows it again when it has changed, until Ctrl-C. On a terminal it
 * replaces the screen. Otherwise it prints a whole view for each change: for a program a line
 * of JSON, else text after a line with the time. Throws CliError if the first read fails, or if the
 * session ends; later, it goes on when Steelyard answers again.
 */
export async function watchView<T>(
  { terminal, api, json, line }: Viewing,
  read: () => Promise<T>,
  draw: (value: T) => string,
): Promise<number> {
  const failed = new AbortController()
  const stop = AbortSignal.any([terminal.interrupted(), failed.signal])
  const isScreen = terminal.columns !== null && !json
  let changed = new AbortController()
  let isLive = false
  const listening = (async () => {
    while (!stop.aborted) {
      try {
        await api.listen(stop, () => {
          isLive = true
          changed.abort()
        })
      } catch {
        // Without a stream, the loop below reads at intervals, and reports errors.
      }
      isLive = false
      await terminal.sleep(pollMs, stop)
    }
  })()
  let before: string | undefined
  let isSilent = false
  try {
    while (!stop.aborted) {
      changed = new AbortController()
      try {
        const value = await read()
        if (isSilent) terminal.err('Steelyard answers again.\n')
        isSilent = false
        const now = safeJson(value)
        if (json && now !== before) terminal.out(line(value))
        else if (isScreen)
          terminal.out(`${before === undefined ? '\u001b[2J' : ''}${screen(terminal, draw(value))}`)
        else if (now !== before)
          terminal.out(
            `${before === undefined ? '' : '\n'}${new Date(terminal.now()).toTimeString().slice(0, 8)}\n${draw(value)}`,
          )
        before = now
      } catch (e) {
        if (stop.aborted) break
        if (!(e instanceof CliError) || e.exit !== 'unreachable' || before === undefined) throw e
        if (!isSilent) terminal.err(`${e.message}. Trying again.\n`)
        isSilent = true
      }
      await terminal.sleep(pauseMs, stop)
      await terminal.sleep(isLive ? refreshMs : pollMs, AbortSignal.any([stop, changed.signal]))
    }
  } finally {
    // Ends the stream too, so that the process can end.
    failed.abort()
    await listening
  }
  return exitCodes.interrupted
}
