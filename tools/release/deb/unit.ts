/** The systemd unit of the Debian package, for tests on machines on which systemd doesn't run. */

export interface Unit {
  readonly user: string
  readonly environment: Readonly<Record<string, string>>
  readonly environmentFile: string
  readonly command: string
  /** Folders that systemd makes for the user before a start, as absolute paths. */
  readonly folders: readonly string[]
}

const parents = {
  RuntimeDirectory: '/run',
  StateDirectory: '/var/lib',
  CacheDirectory: '/var/cache',
} as const

/** Reads what a start of the service needs. @throws Error if the unit lacks it */
export function readUnit(text: string): Unit {
  const all = (name: string): string[] =>
    text
      .split('\n')
      .flatMap((line) => (line.startsWith(`${name}=`) ? [line.slice(name.length + 1)] : []))
  const one = (name: string): string => {
    const [value, ...more] = all(name)
    if (value === undefined || more.length > 0) throw new Error(`The unit needs one ${name}=`)
    return value
  }
  return {
    user: one('User'),
    environment: Object.fromEntries(
      all('Environment').map((pair): [string, string] => {
        const at = pair.indexOf('=')
        return [pair.slice(0, at), pair.slice(at + 1)]
      }),
    ),
    environmentFile: one('EnvironmentFile'),
    command: one('ExecStart'),
    folders: Object.entries(parents).map(([name, parent]) => `${parent}/${one(name)}`),
  }
}
