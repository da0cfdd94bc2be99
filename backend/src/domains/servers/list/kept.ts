/**
 * A server as the catalogue keeps it in memory: what lists show of it as JSON text, and what they
 * are sorted, filtered and searched by. The rest, above all its hardware, is four fifths of a
 * server's JSON, and is read from the database when it is asked for.
 */
import { hash } from 'node:crypto'
import { capacityOf, unitsOf } from '#contract/capacity.ts'
import type { Labels } from '#contract/labels/selector.ts'
import { ListedServer, type Server } from '#contract/servers/server.ts'
import { type Entry, present } from '../present.ts'
import type { ServerRow } from '../store.ts'
import { type Claim, claimsOf } from './duplicates.ts'
import { matchOf, type Searchable, searchable } from './search.ts'

export interface Kept extends Entry, Searchable {
  /**
   * JSON of the fields that lists show (`fields=list`), without the closing brace, because in search
   * results another field follows.
   */
  readonly listed: string
  /** The server's number in the search index. */
  readonly slot: number
  /** The addresses and MACs that are its own. */
  readonly claims: readonly Claim[]
}

export type ServerPage = ReturnType<typeof joined>

const listedFields = Object.keys(ListedServer.shape)
const pick = (from: object, fields: readonly string[]): object =>
  Object.fromEntries(Object.entries(from).filter(([field]) => fields.includes(field)))
const shownOfTalos = Object.keys(ListedServer.shape.talos.shape)
const shownOfIdentity = Object.keys(ListedServer.shape.identity.shape)

/** JSON without the closing brace. */
const openJson = (server: ListedServer): string => JSON.stringify(server).slice(0, -1)

const listedJson = (server: Server): string =>
  openJson({
    ...pick(server, listedFields),
    talos: pick(server.talos, shownOfTalos),
    identity: pick(server.identity, shownOfIdentity),
  } as ListedServer)

const mostSets = 1_000
const sets = new Map<string, Labels>()
/**
 * Servers with the same labels share one object, so that the labels of 10,000 servers are few
 * objects in memory, and for a filter that looks at all of them.
 */
function sharedLabels(labels: Labels): Labels {
  const text = JSON.stringify(labels)
  const known = sets.get(text)
  if (known) return known
  if (sets.size >= mostSets) sets.clear()
  sets.set(text, labels)
  return labels
}

/**
 * What the catalogue keeps of a server, made from the server's row and the time of the last
 * contact.
 */
export function digested(full: ServerRow, contact: Date | null): Omit<Kept, 'slot'> {
  const {
    hardware,
    hardware_at: _read,
    identity_since: _known,
    talos_noted_at: _noted,
    updated_at: _changed,
    ...row
  } = full
  const server = present(full, contact)
  const capacity = hardware && capacityOf(hardware)
  return {
    row: { ...row, labels: sharedLabels(row.labels) },
    contact,
    facts: {
      hasHardware: hardware !== null,
      addresses: server.nodeAddresses,
      linkAddresses: (hardware?.links ?? []).flatMap((l) =>
        l.addresses.map((a) => a.split('/', 1)[0]!),
      ),
      capacity,
      computeUnits: capacity && unitsOf(capacity),
      isEligible: server.ineligible === null,
    },
    claims: claimsOf(full),
    listed: listedJson(server),
    ...searchable(full),
  }
}

/** Notes the time of a contact, which is far more frequent than any other change of a server. */
export function noteContact(entry: Kept, contact: Date): void {
  const { talos, ...server } = listedOf(entry)
  const listed = openJson({
    ...server,
    talos: { ...talos, last_contact_at: contact.toISOString() },
  })
  Object.assign(entry, { contact, listed })
}

/**
 * Joins servers to a page as JSON text. Its tag is weak, because the compressed text has the same
 * tag. `whole`: the servers themselves, in the order of `entries`, if the page shows more than the
 * fields of lists. `needles`: the search terms; each server then contains the value that matched.
 */
export function joined(
  entries: readonly Kept[],
  {
    whole,
    needles,
    page,
    per_page,
    total,
  }: {
    whole: readonly Server[] | undefined
    needles: readonly string[]
    page: number
    per_page: number
    total: number
  },
) {
  const items = entries.map((entry, i) => {
    const matched = matchOf(entry, needles)
    return `${whole ? openJson(whole[i]!) : entry.listed}${matched ? `,"matched":${JSON.stringify(matched)}` : ''}}`
  })
  const bytes = Buffer.from(
    `{"items":[${items.join(',')}],"page":${page},"per_page":${per_page},"total":${total}}`,
  )
  return { bytes, etag: `W/"${hash('sha256', bytes, 'base64url').slice(0, 22)}"` }
}

/** The fields that lists show. */
export const listedOf = (kept: Kept): ListedServer => JSON.parse(`${kept.listed}}`) as ListedServer
