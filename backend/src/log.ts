/**
 * Logs to standard error: JSON lines, or readable lines on a terminal. Only the fields listed in
 * `allowed` below are written: other fields are left out, so that no secret is logged as part of an
 * object (docs/security.md).
 */
export type Level = 'debug' | 'info' | 'warn' | 'error'
export const levels: readonly Level[] = ['debug', 'info', 'warn', 'error']

const allowed = [
  'request_id',
  'method',
  'path',
  'status',
  'duration_ms',
  'ip',
  'user_agent',
  'user_id',
  'session_id',
  'operation',
  'queue',
  'key',
  'fence',
  'failures',
  'effect',
  'attempt',
  'count',
  'pid',
  'port',
  'host',
  'folder',
  'file',
  'version',
  'migrations',
  'server_id',
  'cluster_id',
  'datacenter_id',
  'operation_id',
  'offer_id',
  'bmc_id',
  'address',
  'reason',
  'account',
  'code',
  'setting',
  'seq',
  'hash',
  'stage',
  'signal',
  'roles',
  'text',
] as const
type LogField = (typeof allowed)[number]
const allowedFields: ReadonlySet<string> = new Set(allowed)

export type Fields = Partial<
  Record<LogField, string | number | boolean | null | undefined | readonly string[]>
> & { error?: unknown }

export type Log = Readonly<Record<Level, (event: string, fields?: Fields) => void>>

/**
 * Line ends, escapes and other control characters become spaces, and the length is limited, so that
 * an event is always one line, whatever a client sent.
 */
export const plain = (text: string): string =>
  // oxlint-disable-next-line no-control-regex
  text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').slice(0, 2000)

/**
 * An error for the log: message, class and place in Steelyard's code, limited in length and without
 * user input.
 */
function describe(error: unknown): { error: string; at?: string } {
  if (!(error instanceof Error)) return { error: plain(String(error)) }
  const frames = (error.stack ?? '')
    .split('\n')
    .flatMap((line) => /^\s*at (.*)/.exec(line)?.[1]?.trimEnd() ?? [])
    .slice(0, 6)
  return {
    error: plain(`${error.name}: ${error.message}`),
    ...(frames.length > 0 && { at: frames.join(' < ').slice(0, 1500) }),
  }
}

/** @param readable writes readable lines instead of JSON */
export function logger({
  level,
  readable,
  now,
  write,
}: {
  level: Level
  readable: boolean
  now: () => number
  write: (line: string) => void
}): Log {
  const from = levels.indexOf(level)
  const line = (at: Level, event: string, fields: Fields = {}) => {
    const { error, ...rest } = fields
    const shown = Object.entries(rest)
      .filter(([name, value]) => allowedFields.has(name) && value !== undefined)
      .map(([name, value]) => [name, typeof value === 'string' ? plain(value) : value] as const)
    const all = Object.fromEntries(
      error === undefined ? shown : [...shown, ...Object.entries(describe(error))],
    )
    const time = new Date(now()).toISOString()
    if (!readable) return write(`${JSON.stringify({ time, level: at, event, ...all })}\n`)
    const text = Object.entries(all).map(
      ([name, value]) =>
        `${name}=${typeof value === 'string' && /[\s"]/.test(value) ? JSON.stringify(value) : String(value)}`,
    )
    write(`${time.slice(11, 23)} ${at.padEnd(5)} ${[event, ...text].join(' ')}\n`)
  }
  const nothing = () => undefined
  return Object.fromEntries(
    levels.map((at, i) => [
      at,
      i < from ? nothing : (event: string, fields?: Fields) => line(at, event, fields),
    ]),
  ) as Log
}

/** For tests that don't check logs. */
export const silent: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}
