import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as z from 'zod/mini'
import { CliError } from '../exit.ts'
import { oneLine } from '../text.ts'
import { replaceFile } from './kept-file.ts'
import { withLock } from './lock.ts'
import type { Sessions } from './sessions.ts'

const longestName = 40
const ContextName = z
  .string()
  .check(
    z.maxLength(longestName, `The name of a context has at most ${longestName} characters`),
    z.regex(
      /^[a-z0-9]+(?:[-.][a-z0-9]+)*$/,
      'The name of a context can only contain lowercase letters, numbers, hyphens and dots',
    ),
  )
const Stored = z.record(z.string(), z.object({ url: z.string() }))
type Stored = z.infer<typeof Stored>

export type Contexts = ReturnType<typeof openContexts>

/**
 * Names of several Steelyards: each is a name for an address. They are in a file beside the
 * sessions, and not in it, because older versions of this program would drop them when they write
 * the sessions.
 */
export function openContexts({ path: sessionsPath }: Pick<Sessions, 'path'>) {
  const path = join(dirname(sessionsPath), 'contexts.json')

  const load = async (): Promise<Stored> => {
    const text = await readFile(path, 'utf8').catch((e: unknown) => {
      if (e instanceof Error && 'code' in e && e.code === 'ENOENT') return '{}'
      throw new CliError(
        'failure',
        `${path} can't be read: ${e instanceof Error ? e.message : String(e)}`,
      )
    })
    try {
      return z.parse(Stored, JSON.parse(text))
    } catch {
      throw new CliError('failure', `${path} is damaged`, {
        hint: 'Remove the file and add the contexts again: steelyard context add',
      })
    }
  }
  const change = async (next: (stored: Stored) => Stored): Promise<void> => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await withLock(`${path}.lock`, async () =>
      replaceFile(path, `${JSON.stringify(next(await load()), null, 2)}\n`),
    )
  }
  const unknown = (name: string) =>
    new CliError('not_found', `There is no context ${oneLine(name)}`, {
      hint: 'steelyard context list shows them',
    })

  return {
    list: async (): Promise<{ name: string; url: string }[]> =>
      Object.entries(await load())
        .map(([name, { url }]) => ({ name, url }))
        .toSorted((a, b) => a.name.localeCompare(b.name)),
    /** The address of a context. Throws CliError `not_found`. */
    async urlOf(name: string): Promise<string> {
      const stored = await load()
      if (!Object.hasOwn(stored, name)) throw unknown(name)
      return stored[name]!.url
    },
    /**
     * Adds a context, or gives it another address. Throws CliError `usage` for a name that isn't
     * allowed.
     */
    async add(name: string, url: string): Promise<void> {
      const read = z.safeParse(ContextName, name)
      if (!read.success) throw new CliError('usage', read.error.issues[0]!.message)
      await change((stored) => ({ ...stored, [name]: { url } }))
    },
    /** Throws CliError `not_found`. */
    remove: (name: string): Promise<void> =>
      change((stored) => {
        if (!Object.hasOwn(stored, name)) throw unknown(name)
        const { [name]: _, ...others } = stored
        return others
      }),
  }
}
