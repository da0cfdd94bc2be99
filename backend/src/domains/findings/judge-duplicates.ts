/** Judges addresses and MACs that several servers have. Pure functions. */
import { count, enumerated } from '#contract/words.ts'
import type { Duplicate } from '../servers/api.ts'
import { type Judged, sentence } from './judged.ts'

/** Most values of a server that its sentence names. */
const mostNamed = 3

interface Words {
  readonly kind: Judged['kind']
  readonly of: string
  readonly more: string
  /** Why it matters, and what to do. */
  readonly advice: string
}
const words: Readonly<Record<Duplicate['what'], Words>> = {
  mac: {
    kind: 'server_mac_duplicate',
    of: 'MAC',
    more: 'MACs',
    advice:
      'In one network, switches send frames to one of them at a time. Give one of them another MAC, or remove a server that is recorded twice',
  },
  address: {
    kind: 'server_address_duplicate',
    of: 'address',
    more: 'addresses',
    advice: 'Connections reach one of them at a time. Give one of them another address',
  },
}

/** "db-2 (enp1s0) and db-3 in DE-FRA-1" */
function named({ others, count: all, server }: Duplicate): string {
  const names = others.map(
    ({ name, link, datacenter }) =>
      `${name}${link === null ? '' : ` (${link})`}${datacenter === null || datacenter === server.datacenter_code ? '' : ` in ${datacenter}`}`,
  )
  const more = all - names.length
  return enumerated(more > 0 ? [...names, `${count(more)} more`] : names)
}

function judge(what: Duplicate['what'], all: readonly Duplicate[]): Judged {
  const { kind, of, more, advice } = words[what]
  const { id, name, cluster_id, cluster_name, datacenter_id, datacenter_code } = all[0]!.server
  const inOrder = all.toSorted((a, b) => (a.value < b.value ? -1 : 1))
  const said = inOrder
    .slice(0, mostNamed)
    .map(
      (one) =>
        `${of} ${one.value}${one.link === null ? '' : ` of ${one.link}`} is also that of ${named(one)}`,
    )
  const rest = all.length - said.length
  const parts = rest > 0 ? [...said, `${count(rest)} more ${rest === 1 ? of : more}`] : said
  return {
    kind,
    object: { kind: 'server', id, name },
    cluster:
      cluster_id !== null && cluster_name !== null ? { id: cluster_id, name: cluster_name } : null,
    datacenter:
      datacenter_id !== null && datacenter_code !== null
        ? { id: datacenter_id, code: datacenter_code }
        : null,
    since: null,
    reason: `${sentence(`Its ${parts.join('; ')}`)} ${sentence(advice)}`,
  }
}

/** A finding for each server with MACs that others have, and one for addresses. */
export const judgeDuplicates = (duplicates: readonly Duplicate[]): Judged[] =>
  [...Map.groupBy(duplicates, ({ server, what }) => `${what} ${server.id}`).values()].map((all) =>
    judge(all[0]!.what, all),
  )
