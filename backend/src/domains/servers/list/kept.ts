/**
 * A server as the catalogue keeps it in memory: its JSON as bytes, and what lists are sorted, filtered and searched by. The hardware itself isn't kept,
 * because as objects it takes several times the memory of the JSON. The parts of the JSON that are equal for many servers are kept once.
 */
import { createHash, hash } from 'node:crypto'
import { capacityOf, unitsOf } from '#contract/capacity.ts'
import type { Server } from '#contract/servers/server.ts'
import { type Entry, present } from '../present.ts'
import type { ServerRow } from '../store.ts'
import { matchOf, type Searchable, searchable } from './search.ts'

/** A server's JSON without the closing brace, because in search results another field follows. Two parts are cut out and shared with other servers. */
interface Json {
  json: Buffer
  /** Places in `json` between which are the fields of `talos` and, to the end, those after `identity.seen` that lists don't show. */
  talosEnd: number
  identityStart: number
  identityEnd: number
  /** Processors and memory, which servers of the same model have in common: a third of the JSON. `specsAt`: their place in `json`. */
  specs: Buffer
  specsAt: number
  /** The checks of the eligibility, and their place in `json`. */
  checks: Buffer
  checksAt: number
}

export interface Kept extends Entry, Searchable, Json {
  row: Entry['row']
  contact: Date | null
  facts: Entry['facts']
  /** The server's number in the search index. */
  readonly slot: number
  /** Hash of the JSON and the searched text; undefined until a page needs it. */
  digest: string | undefined
}

export type ServerPage = ReturnType<typeof joined>

const mark = (text: string) => Buffer.from(text)
// A quote inside a JSON string is escaped, so these texts occur only as keys. `present` writes the fields in this order.
const contactKey = mark('"last_contact_at":')
const talosEnd = mark(',"schematic":')
const identityStart = mark('},"identity":')
const identityEnd = mark(',"fingerprint":')
const specsStart = mark(',"processors":')
const specsEnd = mark(',"disks":')
const checksStart = mark(',"eligibility":')
const checksEnd = mark(',"version":')

/** Memory in which a text is cut. */
let scratch = Buffer.allocUnsafeSlow(16_384)
/** Shared parts by their bytes. */
const parts = new Map<string, Buffer>()
/** With more different parts than this the earlier ones are no longer shared with new servers. */
const mostParts = 2_000

/** A copy of the bytes that takes exactly their memory; other ways of creating a Buffer may take up to half more. */
function copyOf(...sources: readonly Buffer[]): Buffer {
  const bytes = Buffer.allocUnsafeSlow(sources.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const source of sources) at += source.copy(bytes, at)
  return bytes
}
function shared(bytes: Buffer): Buffer {
  const key = bytes.toString('latin1')
  const known = parts.get(key)
  if (known) return known
  if (parts.size >= mostParts) parts.clear()
  const part = copyOf(bytes)
  parts.set(key, part)
  return part
}

function jsonOf(text: string): Json {
  const size = Buffer.byteLength(text)
  if (size > scratch.length) scratch = Buffer.allocUnsafeSlow(size * 2)
  const all = scratch.subarray(0, scratch.write(text))
  const talos = all.indexOf(talosEnd)
  const identity = all.indexOf(identityStart, talos)
  const shown = all.indexOf(identityEnd, identity)
  const specs = all.indexOf(specsStart, shown)
  const specsTo = all.indexOf(specsEnd, specs)
  const checks = all.indexOf(checksStart, specsTo)
  const checksTo = all.indexOf(checksEnd, checks)
  return {
    json: copyOf(all.subarray(0, specs), all.subarray(specsTo, checks), all.subarray(checksTo)),
    talosEnd: talos,
    identityStart: identity,
    identityEnd: shown,
    specs: shared(all.subarray(specs, specsTo)),
    specsAt: specs,
    checks: shared(all.subarray(checks, checksTo)),
    checksAt: specs + checks - specsTo,
  }
}

/** Columns whose values many servers share. Equal values are kept once, because the database's driver makes a new text for each. */
const repeated = [
  ...(['datacenter_id', 'datacenter_code', 'cluster_id', 'cluster_name', 'status', 'type', 'stage', 'identity_state', 'commitment_status'] as const),
  ...(['manufacturer', 'product', 'talos_version', 'schematic', 'system_disk', 'reason'] as const),
]
const texts = new Map<string | null, string | null>()
const once = (text: string | null): string | null => texts.get(text) ?? (texts.set(text, text), text)

const contactText = (contact: Date | null): string => JSON.stringify(contact)

/** What the catalogue keeps of a server, made from the server's row and the time of the last contact. */
export function digested(full: ServerRow, contact: Date | null): Omit<Kept, 'slot'> {
  const { hardware, hardware_at: _read, identity_since: _known, updated_at: _changed, ...row } = full
  const columns: Record<string, unknown> = row
  for (const column of repeated) columns[column] = once(row[column])
  const server = present(full, contact)
  const capacity = hardware && capacityOf(hardware)
  return {
    row,
    contact,
    facts: {
      hasHardware: hardware !== null,
      addresses: server.nodeAddresses,
      // `flatMap` reserves memory for 17 elements, which a copy doesn't take.
      linkAddresses: (hardware?.links ?? []).flatMap((l) => l.addresses.map((a) => a.split('/', 1)[0]!)).slice(),
      capacity,
      computeUnits: capacity && unitsOf(capacity),
      isEligible: server.ineligible === null,
    },
    ...jsonOf(JSON.stringify(server).slice(0, -1)),
    digest: undefined,
    ...searchable(full),
  }
}

/** Writes the time of a contact into the kept JSON, because a contact is far more frequent than any other change. */
export function noteContact(entry: Kept, at: Date): void {
  const start = entry.json.indexOf(contactKey) + contactKey.length
  const [before, after] = [contactText(entry.contact), contactText(at)]
  if (before.length === after.length) entry.json.write(after, start)
  else {
    const all = wholeOf(entry)
    Object.assign(entry, jsonOf(`${all.toString('utf8', 0, start)}${after}${all.toString('utf8', start + before.length)}`))
  }
  entry.contact = at
  entry.digest = undefined
}

type Fields = 'list' | undefined

/** Length of a server's JSON without the closing brace. With `fields` list: only the fields that lists show. */
const lengthOf = ({ json, specs, checks, talosEnd, identityStart, identityEnd }: Kept, fields: Fields): number =>
  fields === 'list' ? talosEnd + identityEnd - identityStart + 1 : json.length + specs.length + checks.length

/** Writes a server's JSON without the closing brace to `bytes`, from `at`. Returns the number of bytes. */
function write(bytes: Buffer, at: number, kept: Kept, fields: Fields): number {
  const { json, talosEnd, identityStart, identityEnd, specs, specsAt, checks, checksAt } = kept
  if (fields === 'list') {
    const start = json.copy(bytes, at, 0, talosEnd)
    const shown = start + json.copy(bytes, at + start, identityStart, identityEnd)
    return shown + bytes.write('}', at + shown)
  }
  let end = at + json.copy(bytes, at, 0, specsAt)
  end += specs.copy(bytes, end)
  end += json.copy(bytes, end, specsAt, checksAt)
  end += checks.copy(bytes, end)
  return end + json.copy(bytes, end, checksAt) - at
}

function wholeOf(kept: Kept): Buffer {
  const bytes = Buffer.allocUnsafe(lengthOf(kept, undefined))
  write(bytes, 0, kept, undefined)
  return bytes
}

const digestOf = (entry: Kept): string =>
  (entry.digest ??= createHash('sha256').update(entry.json).update(entry.specs).update(entry.checks).update(entry.text).digest('base64url').slice(0, 22))

/** Memory of pages that were sent. New memory for each page costs more than filling it, because V8 then collects garbage after every hundred pages. */
const spare: Buffer[] = []
const mostSpare = 16
/** Longer pages get new memory. */
const mostReused = 768 * 1024

/** Joins servers to a page as JSON text. Its tag is weak, because the compressed text has the same tag. `needles`: the search terms; each server then contains the value that matched. `isKept`: the caller keeps the page. */
export function joined(
  entries: readonly Kept[],
  { needles, fields, page, per_page, total }: { needles: readonly string[]; fields: Fields; page: number; per_page: number; total: number },
  isKept: boolean,
) {
  let digests = JSON.stringify([needles, fields, page, per_page, total])
  let length = 0
  /** The text after each server's JSON. */
  const ends = entries.map((entry, i) => {
    const matched = matchOf(entry, needles)
    const brace = i === entries.length - 1 ? '}' : '},'
    const end = matched ? `,"matched":{"what":"${matched.what}","value":${JSON.stringify(matched.value)}}${brace}` : brace
    digests += digestOf(entry)
    length += lengthOf(entry, fields) + Buffer.byteLength(end)
    return end
  })
  const head = '{"items":['
  const tail = `],"page":${page},"per_page":${per_page},"total":${total}}`
  length += head.length + tail.length
  const isReused = !isKept && length <= mostReused
  const memory = (isReused && spare.pop()) || Buffer.allocUnsafeSlow(isReused ? mostReused : length)
  const bytes = memory.subarray(0, length)
  let at = bytes.write(head)
  for (const [i, entry] of entries.entries()) {
    at += write(bytes, at, entry, fields)
    at += bytes.write(ends[i]!, at)
  }
  bytes.write(tail, at)
  const etag = `W/"${hash('sha256', digests, 'base64url').slice(0, 22)}"`
  return { bytes, etag, onSent: isReused ? (): void => void (spare.length < mostSpare && spare.push(memory)) : undefined }
}

export const serverOf = (kept: Kept): Server => JSON.parse(`${wholeOf(kept).toString()}}`) as Server
