/**
 * The image factory: which Talos versions it builds, with which extensions, and the registration of
 * schematics (image-factory `docs/api.md`). Lists are cached. While the factory doesn't answer, the
 * old list is shown with the reason.
 */
import * as z from 'zod/mini'
import { type Extension, extensionTiers } from '#contract/images.ts'
import { text as printable } from '#talos/client/text.ts'
import { minors } from '#talos/versions.ts'
import type { Platform } from '../../platform.ts'
import { type CallLimits, factoryCalls, FactoryError } from './factory-call.ts'

/** A list, with the reason if the list is not current. */
export interface Listed<T> {
  readonly items: readonly T[]
  readonly simulated: boolean
  /** Why the factory wasn't called or gave no answer; null if the list is current. */
  readonly reason: string | null
}

export type Factory = ReturnType<typeof factory>

/** Versions that are offered if the factory can't be queried. */
export const ownVersions: readonly string[] = minors.map((m) => m.version).toReversed()

const keepMs = 10 * 60_000
/**
 * Minimum interval in ms between calls while the factory doesn't answer, because each call may take
 * its whole time limit.
 */
const leaveAloneMs = 15_000
const mostVersionsKept = 64
const mostListBytes = 1024 ** 2
const mostSchematicBytes = 256 * 1024

const Versions = z.array(z.string().check(z.maxLength(64))).check(z.maxLength(5000))
const ExtensionAnswer = z.object({
  name: z.string().check(z.maxLength(200)),
  ref: z._default(z.string().check(z.maxLength(500)), ''),
  author: z._default(z.string().check(z.maxLength(500)), ''),
  description: z._default(z.string().check(z.maxLength(20_000)), ''),
})
const Extensions = z.array(ExtensionAnswer).check(z.maxLength(2000))
const Created = z.object({
  id: z.string().check(z.regex(/^[0-9a-f]{64}$/)),
  schematic: z.optional(z.string()),
})

const versionPattern = /^v(\d{1,4})\.(\d{1,4})\.(\d{1,4})(?:-(alpha|beta|rc)\.(\d{1,4}))?$/
export const isPrerelease = (version: string): boolean => version.includes('-')

const rank = (version: string): number[] => {
  const [, major, minor, patch, kind, number] = versionPattern.exec(version) ?? []
  return [
    Number(major),
    Number(minor),
    Number(patch),
    kind === undefined ? 3 : ['alpha', 'beta', 'rc'].indexOf(kind),
    Number(number ?? 0),
  ]
}
/**
 * Negative if `a` is older. A prerelease comes before its release. Both versions are in the
 * factory's notation.
 */
export function compareVersions(a: string, b: string): number {
  const [x, y] = [rank(a), rank(b)]
  const at = x.findIndex((n, i) => n !== y[i])
  return at < 0 ? 0 : x[at]! - y[at]!
}
const newestFirst = (a: string, b: string): number => compareVersions(b, a)

const line = (text: string, most: number): string =>
  printable(text.replaceAll(/\s+/g, ' ').trim(), most)
const tierPattern = new RegExp(`^\\[(${extensionTiers.join('|')})\\]\\s*`)

/**
 * Converts an extension. The tier, with which the factory's description begins, becomes a separate
 * field.
 */
function extensionOf({
  name,
  ref,
  author,
  description,
}: z.output<typeof ExtensionAnswer>): Extension {
  const said = line(description, 2000)
  const tier = tierPattern.exec(said)
  return {
    name,
    ref: line(ref, 300),
    author: line(author, 100),
    description: (tier ? said.slice(tier[0].length) : said).slice(0, 1000),
    tier: (tier?.[1] as Extension['tier'] | undefined) ?? null,
  }
}

/** The last call that got no answer; undefined after a call that was answered. */
type Silence = () => { readonly reason: string; readonly at: number } | undefined

/**
 * A cached list; concurrent callers share one fetch. While the factory doesn't answer, all cached
 * lists count as outdated.
 */
function kept<T>(
  { clock, log }: FactoryParts,
  silence: Silence,
  ask: () => Promise<{ items: readonly T[]; simulated: boolean }>,
): (patient?: boolean) => Promise<Listed<T>> {
  let last: (Omit<Listed<T>, 'reason'> & { readonly at: number }) | undefined
  let failed: { readonly error: FactoryError; readonly at: number } | undefined
  let running: Promise<void> | undefined
  const fetchOnce = async (): Promise<void> => {
    try {
      last = { ...(await ask()), at: clock.now() }
      failed = undefined
    } catch (error) {
      if (!(error instanceof FactoryError)) throw error
      failed = { error, at: clock.now() }
      log.warn('image_factory.failed', { reason: error.message })
    } finally {
      running = undefined
    }
  }
  return async (patient = false) => {
    const now = clock.now()
    const fresh = last !== undefined && now - last.at < keepMs && silence() === undefined
    const quietSince = Math.max(
      failed?.at ?? -Infinity,
      last ? (silence()?.at ?? -Infinity) : -Infinity,
    )
    if (!fresh && (patient || now - quietSince >= leaveAloneMs)) await (running ??= fetchOnce())
    if (failed !== undefined && (last === undefined || failed.error.kind === 'refused'))
      throw failed.error
    return {
      items: last!.items,
      simulated: last!.simulated,
      reason: failed?.error.message ?? silence()?.reason ?? null,
    }
  }
}

/** `url`: without a trailing slash. */
type FactoryParts = Pick<Platform, 'clock' | 'log' | 'read'> & {
  readonly url: string
  readonly limits?: CallLimits
}

export function factory(parts: FactoryParts) {
  const { url, limits, clock } = parts
  const call = factoryCalls(parts.read, url, limits)
  let silent: ReturnType<Silence>
  const silence: Silence = () => silent
  const nonsense = (what: string) =>
    new FactoryError('unreachable', `The image factory at ${url} sent an invalid response: ${what}`)
  /**
   * Calls the factory and parses the response by a schema; `what` is the message for a response
   * that doesn't match it.
   */
  const ask = async <S extends z.ZodMiniType>(
    question: Parameters<typeof call>[0],
    schema: S,
    what: string,
  ) => {
    const { json, simulated } = await call(question).catch((error: unknown) => {
      if (error instanceof FactoryError && error.kind === 'unreachable')
        silent = { reason: error.message, at: clock.now() }
      throw error
    })
    silent = undefined
    const answer = z.safeParse(schema, json)
    if (!answer.success) throw nonsense(what)
    return { data: answer.data, simulated }
  }

  const versions = kept(parts, silence, async () => {
    const { data, simulated } = await ask(
      { path: '/versions', status: 200, mostBytes: mostListBytes },
      Versions,
      'not a list of versions',
    )
    const known = data.filter((v) => versionPattern.test(v))
    if (data.length > 0 && known.length === 0)
      throw nonsense('a list of versions in an unknown format')
    return { items: [...new Set(known)].toSorted(newestFirst), simulated }
  })

  const byVersion = new Map<string, (patient?: boolean) => Promise<Listed<Extension>>>()
  const extensions = (version: string, patient?: boolean): Promise<Listed<Extension>> => {
    const list =
      byVersion.get(version) ??
      kept(parts, silence, async () => {
        const question = {
          path: `/version/${version}/extensions/official`,
          status: 200,
          mostBytes: mostListBytes,
        } as const
        const { data, simulated } = await ask(question, Extensions, 'not a list of extensions')
        const named = data.filter((e) => /^[a-z0-9-]+\/[a-z0-9._-]+$/.test(e.name)).map(extensionOf)
        const items = [...new Map(named.map((e) => [e.name, e])).values()].toSorted((a, b) =>
          a.name < b.name ? -1 : 1,
        )
        return { items, simulated }
      })
    // Moves the list to the end: the least recently used list comes first.
    byVersion.delete(version)
    byVersion.set(version, list)
    if (byVersion.size > mostVersionsKept) byVersion.delete(byVersion.keys().next().value!)
    return list(patient)
  }

  return {
    url,
    /**
     * Talos versions that the factory builds, newest first, including unsupported ones and
     * prereleases. `patient`: calls the factory even after a recent failure, because a user waits.
     * @throws FactoryError if there is no list, not even an old one
     */
    versions,
    /**
     * Extensions for `v1.13.9`, by name. @throws FactoryError as `versions`, and `refused` if the
     * factory doesn't have this version
     */
    extensions,
    /**
     * The text of a registered schematic. @throws FactoryError, `refused` if the factory doesn't
     * know it
     */
    async schematic(id: string): Promise<string> {
      const question = {
        path: `/schematics/${id}`,
        status: 200,
        mostBytes: mostSchematicBytes,
        isText: true,
      } as const
      return (await ask(question, z.string(), 'no schematic')).data
    },
    /**
     * Registers a schematic. Returns its `id` at the factory (a lower-case hexadecimal SHA-256,
     * which callers check with `knownAs`) and its `text` as serialised by the factory (null if the
     * factory doesn't return the text).
     * @throws FactoryError
     */
    async register(schematic: string) {
      const { data, simulated } = await ask(
        { path: '/schematics', body: schematic, status: 201, mostBytes: mostSchematicBytes },
        Created,
        'no schematic id',
      )
      return { id: data.id, text: data.schematic ?? null, simulated }
    },
  }
}
