/**
 * Which links selectors and aliases mean (Talos `internal/app/machined/pkg/controllers/network`:
 * `device_config.go`, `link_alias_config.go`).
 */
import { type CelFacts, celSelects, globMatches } from '../config/cel.ts'
import type { KnownLink } from './facts.ts'
import type { Network, Selector } from './read.ts'

/** A field's value that is known of a port; undefined or null if it isn't. */
const fieldOf: Readonly<Record<string, (link: KnownLink) => string | null | undefined>> = {
  hardwareAddr: (link) => link.hardware_addr,
  permanentAddr: (link) => link.hardware_addr,
  driver: (link) => link.driver,
  busPath: (link) => link.bus_path,
  pciID: (link) => link.pci_id,
}

/** Whether Talos's selector matches a link; null if it can't be told. */
export function matches(selector: Selector, link: KnownLink): boolean | null {
  const { physical = '' } = selector
  let answer: boolean | null = physical === '' ? false : (physical === 'true') === link.physical
  if (physical !== '' && !answer) return false
  for (const [field, pattern] of Object.entries(selector)) {
    if (field === 'physical' || pattern === '') continue
    const value = fieldOf[field]?.(link)
    if (value === undefined || value === null) {
      // A virtual link has neither a driver nor a bus.
      if (!link.physical && !globMatches(pattern, '')) return false
      answer = null
    } else if (!globMatches(pattern, value)) return false
    else if (answer === false) answer = true
  }
  return answer
}

/** Names of the links that a selector matches; null if it can't be told. */
export function selected(selector: Selector, links: readonly KnownLink[]): string[] | null {
  const answers = links.map((link) => matches(selector, link))
  return answers.includes(null) ? null : links.filter((_, i) => answers[i]).map((link) => link.name)
}

/** The fields of a port that an expression may ask for, as far as they are known. */
function celFacts(link: KnownLink): CelFacts {
  const mac = link.hardware_addr
  const bytes = mac === null ? null : Buffer.from(mac.replaceAll(':', ''), 'hex')
  const known = {
    kind: '',
    permanent_addr: bytes,
    hardware_addr: bytes,
    driver: link.driver,
    bus_path: link.bus_path,
    pciid: link.pci_id,
  }
  return Object.fromEntries(
    Object.entries(known).flatMap(([key, value]) =>
      value === null || value === undefined ? [] : [[key, value]],
    ),
  )
}

/** Whether the expression of an alias chooses the port; null if it can't be told. */
export const isChosen = (expression: string, link: KnownLink): boolean | null =>
  celSelects(expression, 'link', celFacts(link))

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
