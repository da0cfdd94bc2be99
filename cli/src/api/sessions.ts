import { chmod, mkdir, readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import * as z from 'zod/mini'
import { CliError } from '../exit.ts'
import { replaceFile } from './kept-file.ts'
import { withLock } from './lock.ts'

const Session = z.object({ email: z.string(), access_token: z.string(), refresh_token: z.string() })
export type Session = z.infer<typeof Session>
const Stored = z.object({
  current: z.nullable(z.string()),
  sessions: z.record(z.string(), Session),
  devices: z.optional(z.record(z.string(), z.string())),
})
type Stored = z.infer<typeof Stored>

const none: Stored = { current: null, sessions: {} }

export type Sessions = ReturnType<typeof openSessions>

/**
 * Sessions of this user on this machine, one per address, in a file that only the user can read
 * (XDG Base Directory Specification: $XDG_CONFIG_HOME, else ~/.config).
 */
export function openSessions(env: Readonly<Record<string, string | undefined>>) {
  const folder = join(
    env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config'),
    'steelyard',
  )
  const path = join(folder, 'sessions.json')

  const load = async (): Promise<Stored> => {
    const text = await readFile(path, 'utf8').catch((e: unknown) => {
      if (e instanceof Error && 'code' in e && e.code === 'ENOENT') return null
      throw new CliError(
        'failure',
        `${path} can't be read: ${e instanceof Error ? e.message : String(e)}`,
      )
    })
    if (text === null) return none
    // Restricts the file again, because a copied or edited file may be readable by other users.
    if (process.platform !== 'win32' && ((await stat(path)).mode & 0o077) !== 0)
      await chmod(path, 0o600)
    try {
      return z.parse(Stored, JSON.parse(text))
    } catch {
      throw new CliError('failure', `${path} is damaged`, {
        hint: 'Remove the file and sign in again: steelyard login',
      })
    }
  }

  /** Calls the function with the stored sessions while holding the lock. */
  const alone = async <T>(act: (stored: Stored) => Promise<T>): Promise<T> => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    return withLock(`${path}.lock`, async () => act(await load()))
  }

  const store = (stored: Stored) => replaceFile(path, `${JSON.stringify(stored, null, 2)}\n`)

  return {
    path,
    /** The address of the last sign-in, or of the context in use. */
    current: async () => (await load()).current,
    /** Makes an address the current one. */
    use: (url: string) => alone((stored) => store({ ...stored, current: url })),
    read: async (url: string): Promise<Session | null> => (await load()).sessions[url] ?? null,
    /** The device cookie of an address. The cookie outlives the session. */
    device: async (url: string) => (await load()).devices?.[url] ?? null,
    keepDevice: (url: string, cookie: string) =>
      alone((stored) => store({ ...stored, devices: { ...stored.devices, [url]: cookie } })),
    /**
     * Replaces the session of an address with the result of `next`, under a lock. A null result
     * removes the session. Resolves to the stored session. Throws CliError `conflict` and stores
     * nothing if the session was changed meanwhile: while this process was suspended, another one
     * may have taken over its lock, and somebody else may have signed in.
     */
    change: (url: string, next: (now: Session | null) => Promise<Session | null>) =>
      alone(async (stored) => {
        const before = stored.sessions[url] ?? null
        const after = await next(before)
        if (after === before) return after
        const now = await load()
        if (now.sessions[url]?.refresh_token !== before?.refresh_token)
          throw new CliError(
            'conflict',
            `Another steelyard process has changed the session for ${url}`,
            { hint: 'Run the command again' },
          )
        const { [url]: _, ...others } = now.sessions
        const current = after ? url : now.current === url ? null : now.current
        await store({ ...now, current, sessions: after ? { ...others, [url]: after } : others })
        return after
      }),
  }
}
