/**
 * Which links selectors and aliases mean (Talos `internal/app/machined/pkg/controllers/network`:
 * `device_config.go`, `link_alias_config.go`).
 */
import { Environment } from '@marcbachmann/cel-js'
import type { KnownLink } from './facts.ts'
import type { Network, Selector } from './read.ts'

/** `*` stands for any characters; everything else for itself, capitals included (`ryanuber/go-glob`). */
function isGlob(pattern: string, value: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  if (rest.length === 0) return pattern === value
  if (!value.startsWith(first)) return false
  const last = rest.pop()!
  let at = first.length
  for (const part of rest) {
    const found = value.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return value.length - last.length >= at && value.endsWith(last)
}

/** A field's values that are known of a link; undefined if Steelyard doesn't read the field. */
const fieldOf: Readonly<Record<string, (link: KnownLink) => string | null | undefined>> = {
  hardwareAddr: (link) => link.hardware_addr,
  permanentAddr: (link) => link.hardware_addr,
  driver: (link) => link.driver,
}

/**
 * Names of the links that a selector matches; null if it can't be told. Talos matches all fields
 * that are set, then `physical`.
 */
export function selected(selector: Selector, links: readonly KnownLink[]): string[] | null {
  const fields = Object.keys(selector).filter((key) => key !== 'physical' && selector[key] !== '')
  const { physical = '' } = selector
  const names: string[] = []
  for (const link of links) {
    const answers = new Set(
      fields.map((field) => {
        const value = fieldOf[field]?.(link)
        // A virtual link has neither a driver nor a bus.
        if (value === undefined || value === null) return link.physical ? null : false
        return isGlob(selector[field]!, value)
      }),
    )
    if (answers.has(false) || (physical !== '' && (physical === 'true') !== link.physical)) continue
    if (answers.has(null)) return null
    if (fields.length > 0 || physical !== '') names.push(link.name)
  }
  return names
}

const environment = new Environment({ limits: { maxAstNodes: 10_000, maxDepth: 100 } })
  .registerVariable('link', 'map')
  .registerFunction('glob(string, string): bool', (pattern: string, value: string) =>
    isGlob(pattern, value),
  )
  .registerFunction('mac(bytes): string', (bytes: Uint8Array) =>
    [...bytes].map((one) => one.toString(16).padStart(2, '0')).join(':'),
  )

/** Whether an expression chooses the link; null if it can't be told from what is known. */
function isChosen(expression: string, link: KnownLink): boolean | null {
  const mac = link.hardware_addr
  const bytes = mac === null ? null : Uint8Array.from(mac.split(':'), (one) => parseInt(one, 16))
  try {
    const answer: unknown = environment.evaluate(expression, {
      link: {
        kind: '',
        ...(bytes && { permanent_addr: bytes, hardware_addr: bytes }),
        ...(link.driver !== undefined && link.driver !== null && { driver: link.driver }),
      },
    })
    return typeof answer === 'boolean' ? answer : null
  } catch {
    // A field that Steelyard doesn't read, or an expression that Talos refuses.
    return null
  }
}

export interface Aliases {
  /** Alias → link. */
  readonly names: ReadonlyMap<string, string>
  /** Aliases whose link can't be told. */
  readonly unsure: ReadonlySet<string>
}

/**
 * Aliases are given to physical links in the order of their MAC addresses. A name without a number
 * in it must match a single link.
 */
export function aliasesOf(network: Network, links: readonly KnownLink[]): Aliases {
  const physical = links
    .filter((link) => link.physical)
    .toSorted((a, b) => ((a.hardware_addr ?? '') < (b.hardware_addr ?? '') ? -1 : 1))
  const names = new Map<string, string>()
  const unsure = new Set<string>()
  const taken = new Set<string>()
  for (const { name, match } of network.aliases.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const answers = physical.map((link) => isChosen(match, link))
    const isPattern = name.includes('%d')
    if (answers.includes(null)) {
      unsure.add(name)
      continue
    }
    const matched = physical.filter((_, i) => answers[i]).map((link) => link.name)
    if (matched.length > 1 && !isPattern) continue
    matched
      .filter((link) => !taken.has(link))
      .forEach((link, i) => {
        taken.add(link)
        names.set(isPattern ? name.replace('%d', String(i)) : name, link)
      })
  }
  return { names, unsure }
}

/** Whether the name may be one of the aliases whose link can't be told. */
export const isUnsure = ({ unsure }: Aliases, name: string): boolean =>
  [...unsure].some((alias) => {
    const [before = '', after] = alias.split('%d')
    if (after === undefined) return alias === name
    return (
      name.startsWith(before) &&
      name.endsWith(after) &&
      /^\d+$/.test(name.slice(before.length, name.length - after.length))
    )
  })
