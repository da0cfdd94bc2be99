/**
 * Search for servers by name, ids, addresses and identifiers of parts. MAC addresses and WWIDs have
 * many notations (on a label, on a switch, in udev); all notations are found.
 */
import { formatAddress, parseAddress } from '#contract/network/addresses.ts'
import type { SearchedPart, Server } from '#contract/servers/servers.ts'
import type { ServerRow } from '../store.ts'

type Searched = Pick<
  ServerRow,
  | 'name'
  | 'id'
  | 'uuid'
  | 'serial'
  | 'address'
  | 'cluster_name'
  | 'manufacturer'
  | 'product'
  | 'hardware'
>

/** The searchable values of a server, compact, because every server's are kept in memory. */
export interface Searchable {
  /** All values in lower case, one per line, in the order of preference for the reported match. */
  readonly text: string
  /** For each line the part that it belongs to; null for the name. */
  readonly parts: readonly (SearchedPart | null)[]
  /** For each line the value in the machine's own notation; null if that is the line itself. */
  readonly exact: readonly (string | null)[]
}

/** Lists of parts by their text. Servers with as many parts of each kind share one. */
const known = new Map<string, readonly (SearchedPart | null)[]>()
const mostKnown = 2_000
function shared(parts: readonly (SearchedPart | null)[]): readonly (SearchedPart | null)[] {
  const key = parts.join()
  const one = known.get(key)
  if (one) return one
  if (known.size >= mostKnown) known.clear()
  const made = [...parts]
  known.set(key, made)
  return made
}

const oneSpaced = (text: string): string => text.trim().replaceAll(/\s+/g, ' ')

export function searchable(row: Searched): Searchable {
  const [lines, parts, exact]: [string[], (SearchedPart | null)[], (string | null)[]] = [[], [], []]
  const add = (part: SearchedPart | null, value: string | null | undefined) => {
    const text = oneSpaced(value ?? '')
    const line = text.toLowerCase()
    if (
      text === '' ||
      lines.some((l, i) => parts[i] === part && l === line && (exact[i] ?? l) === text)
    )
      return
    lines.push(line)
    parts.push(part)
    exact.push(line === text ? null : text)
  }
  add(null, row.name)
  for (const address of [row.address, ...(row.hardware?.addresses ?? [])]) add('address', address)
  add('serial', row.serial)
  add('cluster', row.cluster_name)
  add('id', row.id)
  add('uuid', row.uuid)
  if (row.hardware) {
    const { interfaces, links, disks, processors } = row.hardware
    for (const link of [...interfaces, ...links]) add('mac', link.hardware_addr)
    for (const disk of disks) add('wwid', disk.wwid)
    add('model', `${row.manufacturer ?? ''} ${row.product ?? ''}`)
    for (const disk of disks) add('model', disk.model)
    for (const processor of processors) add('model', processor.product_name)
    for (const link of interfaces) add('model', `${link.vendor ?? ''} ${link.product ?? ''}`)
  }
  return { text: lines.join('\n'), parts: shared(parts), exact: exact.slice() }
}

const colons = (hex: string): string => hex.replaceAll(/(..)(?=.)/g, '$1:')

/**
 * Normalises a MAC address, or at least its first half, to `aa:bb:cc:dd:ee:ff`. Accepts this form,
 * `aa-bb-…` (IEEE 802), `aabb.ccdd.eeff` (Cisco), `aabbcc-ddeeff` (HPE) and `aabbccddeeff`. Null
 * for other text.
 */
function macOf(text: string): string | null {
  const parts = text.split(/[:.-]/)
  const hex = parts.join('')
  if (hex.length < 6 || hex.length > 12 || !/^[0-9a-f]+$/.test(hex)) return null
  const isEven = parts.every(
    (p, i) =>
      p.length === parts[0]!.length || (i === parts.length - 1 && p.length < parts[0]!.length),
  )
  const isNotation = parts.length === 1 || (isEven && [2, 4, 6].includes(parts[0]!.length))
  return isNotation ? colons(hex) : null
}

/** Search terms in lower case and in all stored notations. Empty without a query. */
export function needlesOf(q: string): string[] {
  const text = oneSpaced(q).toLowerCase()
  if (text === '') return []
  const address = parseAddress(text)
  // IPv6 addresses are stored in canonical form.
  if (address) return [formatAddress(address)]
  const mac = macOf(text)
  // In /dev/disk/by-id, udev adds a prefix to the kernel's WWID.
  const wwid = text.replace(/^(?:nvme-(?=eui\.|uuid\.|nvme\.)|(?:wwn-)?0x)/, '')
  return [...new Set([text, ...(mac === null ? [] : [mac]), ...(wwid.length < 6 ? [] : [wwid])])]
}

/**
 * The first matching value in the machine's own notation; undefined if the name matched or nothing
 * did.
 */
export function matchOf(
  { text, parts, exact }: Searchable,
  needles: readonly string[],
): Server['matched'] {
  let at = Infinity
  for (const needle of needles) {
    const found = text.indexOf(needle)
    if (found >= 0 && found < at) at = found
  }
  if (at === Infinity) return undefined
  let line = 0
  let start = 0
  let end = text.indexOf('\n')
  for (; end >= 0 && end < at; end = text.indexOf('\n', start)) {
    line++
    start = end + 1
  }
  const part = parts[line]
  return part
    ? { what: part, value: exact[line] ?? text.slice(start, end < 0 ? undefined : end) }
    : undefined
}
