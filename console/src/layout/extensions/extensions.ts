/** Searches the extensions of a version, which are all in memory. */
import type { Extension, extensionTiers } from '#contract/images.ts'

export const perPage = 8

/** "siderolabs/gvisor" is "gvisor": the factory's own extensions share this prefix. */
export const shortName = (name: string): string => name.replace(/^siderolabs\//, '')

export const tierWords: Readonly<
  Record<(typeof extensionTiers)[number], { word: string; what: string }>
> = {
  core: { word: 'Core', what: 'Maintained by the makers of Talos' },
  extra: { word: 'Extra', what: 'Maintained by the makers of Talos as time permits' },
  contrib: { word: 'Contributed', what: 'Maintained by the community' },
}

/**
 * Extensions whose name, author or description contains every typed word. Names that start with the
 * first typed word come first.
 */
export function found(extensions: readonly Extension[], typed: string): Extension[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const text = (e: Extension) => `${e.name} ${e.author} ${e.description}`.toLowerCase()
  const rank = (e: Extension) =>
    words.length > 0 && shortName(e.name).startsWith(words[0]!)
      ? 0
      : words.some((w) => e.name.includes(w))
        ? 1
        : 2
  return extensions
    .filter((e) => words.every((w) => text(e).includes(w)))
    .toSorted((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1))
}

/**
 * Chosen extensions that don't exist for the version. Empty if the version's extensions are
 * unknown.
 */
export const missing = (
  chosen: readonly string[],
  extensions: readonly Extension[] | undefined,
): string[] =>
  extensions === undefined ? [] : chosen.filter((name) => !extensions.some((e) => e.name === name))
