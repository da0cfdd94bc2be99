const unitsMs: Record<string, number> = { ns: 1e-6, us: 1e-3, µs: 1e-3, μs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** Milliseconds of a Go duration such as `1h30m`, or undefined (Go `time.ParseDuration`). */
export function durationMs(text: string): number | undefined {
  const match = /^([-+]?)((?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h)){1,8}$/.exec(text)
  if (text === '0') return 0
  if (match === null) return undefined
  const total = [...text.replace(/^[-+]/, '').matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/gy)].reduce(
    (sum, [, number, unit]) => sum + Number(number) * unitsMs[unit!]!,
    0,
  )
  return match[1] === '-' ? -total : total
}

/** A duration in Go's format: `8760h` → `8760h0m0s`, `90s` → `1m30s`. Other text is returned unchanged. */
export function goDuration(text: string): string {
  const total = durationMs(text)
  if (total === undefined) return text
  if (total === 0) return '0s'
  if (Math.abs(total) < 1000) return Math.abs(total) >= 1 ? `${total}ms` : text
  const sign = total < 0 ? '-' : ''
  const seconds = Math.abs(total) / 1000
  const hours = Math.floor(seconds / 3600)
  const minutes = Math.floor((seconds % 3600) / 60)
  const rest = `${Math.round((seconds % 60) * 1e9) / 1e9}s`
  if (hours > 0) return `${sign}${hours}h${minutes}m${rest}`
  return minutes > 0 ? `${sign}${minutes}m${rest}` : `${sign}${rest}`
}
