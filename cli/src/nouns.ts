/**
 * The kinds of objects that commands accept: how an operand names an object, and how its id is
 * found.
 */
import * as z from 'zod/mini'
import { bmcCredentialList } from '#contract/bmcs/credentials.ts'
import { bmcList, bmcPlace } from '#contract/bmcs/bmcs.ts'
import { type Cluster, clusterGet, clusterList } from '#contract/clusters/clusters.ts'
import { datacenterList } from '#contract/datacenters.ts'
import { joinTokenList } from '#contract/join-tokens.ts'
import { findingList } from '#contract/findings/findings.ts'
import { findingKinds } from '#contract/findings/kinds.ts'
import { incidentList } from '#contract/incidents/incidents.ts'
import { channelList } from '#contract/alerts/channels.ts'
import { alertRuleList } from '#contract/alerts/rules.ts'
import { type AnyList, type ItemOf, longestFilterText } from '#contract/list.ts'
import { OfferId, offerIdSentence, offerList } from '#contract/marketplace/offers.ts'
import { ccList } from '#contract/marketplace/ccs.ts'
import { subnetList } from '#contract/network/subnets.ts'
import type { Operation } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { patchGet, patchList } from '#contract/patches.ts'
import { apiTokenList } from '#contract/people/api-tokens.ts'
import { invitationList, waitlistList } from '#contract/people/invitations.ts'
import { rackList } from '#contract/racks/racks.ts'
import { sharedPatchList } from '#contract/shared-patches/shared-patches.ts'
import { serverList, serverRows } from '#contract/servers/servers.ts'
import { storeList } from '#contract/storage/stores.ts'
import { templateList } from '#contract/templates/templates.ts'
import { type Person, userList } from '#contract/users.ts'
import type { Api } from './api/client.ts'
import type { Noun } from './command.ts'
import { CliError } from './exit.ts'
import { oneLine } from './text.ts'

const isId = (text: string) => z.safeParse(z.uuid(), text).success
const longestQuery = 200

function found<T>(what: string, text: string, items: readonly T[], nameOf: (item: T) => string): T {
  const item = items.find((i) => nameOf(i) === text.trim())
  if (!item) throw new CliError('not_found', `There is no ${what} ${oneLine(text)}`)
  return item
}

interface Search<Item> {
  /** Converts the entered name to the form of the stored names, such as upper case. */
  readonly fold?: (text: string) => string
  /** A shorter form of the list's call, and the query parameters that ask for it. */
  readonly short?: { readonly call: Operation; readonly query: object }
  /** Selects one of several objects with the same name. */
  readonly prefers?: (item: Item) => boolean
}

/** Objects with a name, found by the search of their list. */
function named<L extends AnyList>(
  operand: Pick<Noun, 'value' | 'help' | 'example' | 'names'>,
  list: Operation & { readonly list: L },
  nameOf: (item: ItemOf<L>) => string,
  { fold = (text) => text, short, prefers = () => false }: Search<ItemOf<L>> = {},
): Noun {
  const find: Noun['find'] = async (api, text) => {
    if (isId(text)) return { id: text, name: text }
    const { items } = (await api.call<Operation>(short?.call ?? list, {
      query: { q: text.slice(0, longestQuery), per_page: list.list.mostPerPage, ...short?.query },
    })) as Page<ItemOf<L> & { readonly id: string }>
    const { id } = found(
      list.list.nouns[0],
      fold(text),
      items.toSorted((a, b) => Number(prefers(b)) - Number(prefers(a))),
      nameOf,
    )
    return { id, name: text }
  }
  return { ...operand, find }
}

/** Objects without a name, found by id. */
const unnamed = (
  what: 'operation' | 'image' | 'session' | 'snapshot' | 'backup' | 'silence' | 'delivery',
): Noun => ({
  value: what.toUpperCase(),
  help: `Id of the ${what}`,
  example: '0198c0de-0000-7000-8000-000000000001',
  names: [`${what} list`, '.id'],
  async find(_api, text) {
    if (isId(text)) return { id: text, name: text }
    throw new CliError(
      'usage',
      `${oneLine(text)} is not the id of ${/^[bds]/.test(what) ? 'a' : 'an'} ${what}`,
      { hint: `steelyard ${what} list shows them` },
    )
  },
})

export const server = named(
  {
    value: 'SERVER',
    help: 'Name or id of the server',
    example: 'brave-otter-042',
    names: ['server list', '.name'],
  },
  serverList,
  (s) => s.name,
  {
    short: { call: serverRows, query: { fields: 'list' } },
  },
)
export const cluster = named(
  {
    value: 'CLUSTER',
    help: 'Name or id of the cluster',
    example: 'web',
    names: ['cluster list', '.name'],
  },
  clusterList,
  (c) => c.name,
)
export const datacenter = named(
  {
    value: 'CODE',
    help: 'Code or id of the datacenter',
    example: 'PL-POZ-1',
    names: ['datacenter list', '.code'],
  },
  datacenterList,
  (d) => d.code,
  {
    fold: (text) => text.toUpperCase(),
  },
)
/** Racks of several datacenters may have one name, so the datacenter may stand before it. */
export const rack: Noun = {
  value: 'RACK',
  help: 'Name or id of the rack, or DATACENTER/NAME',
  example: 'A-07',
  names: ['rack list', '.name'],
  async find(api, text) {
    if (isId(text)) return { id: text, name: text }
    const wanted = text.trim().toLowerCase()
    const searched = async (name: string) =>
      (await api.call(rackList, { query: { q: name.slice(0, longestQuery), per_page: 1000 } }))
        .items
    const all = (await searched(wanted)).filter((r) => r.name.toLowerCase() === wanted)
    const [code = '', ...rest] = wanted.split('/')
    const name = rest.join('/').trim()
    const inside =
      all.length > 0 || name === ''
        ? all
        : (await searched(name)).filter(
            (r) => r.name.toLowerCase() === name && r.datacenter.code.toLowerCase() === code.trim(),
          )
    const [one, other] = inside
    if (!one) throw new CliError('not_found', `There is no rack ${oneLine(text)}`)
    if (other)
      throw new CliError(
        'usage',
        `${oneLine(one.datacenter.code)} and ${oneLine(other.datacenter.code)} have a rack ${oneLine(text)} each: write ${oneLine(one.datacenter.code)}/${oneLine(text)}`,
      )
    return { id: one.id, name: one.name }
  },
}
export const subnet = named(
  {
    value: 'SUBNET',
    help: 'Name or id of the subnet',
    example: 'edge-pool',
    names: ['subnet list', '.name'],
  },
  subnetList,
  (s) => s.name,
)
/** Prefers usable tokens, because a new token may have the same name as a revoked token. */
export const joinToken = named(
  {
    value: 'TOKEN',
    help: 'Name or id of the join token',
    example: 'rack-3',
    names: ['token list', '.name'],
  },
  joinTokenList,
  (t) => t.name,
  {
    prefers: (t) => t.status === 'usable',
  },
)
export const apiToken = named(
  {
    value: 'TOKEN',
    help: 'Name or id of the API token',
    example: 'ci',
    names: ['api-token list', '.name'],
  },
  apiTokenList,
  (t) => t.name,
)
export const sharedPatch = named(
  {
    value: 'SHARED_PATCH',
    help: 'Name or id of the shared patch',
    example: 'vlan-storage',
    names: ['shared-patch list', '.name'],
  },
  sharedPatchList,
  (p) => p.name,
)
export const store = named(
  {
    value: 'STORE',
    help: 'Name or id of the store',
    example: 'offsite',
    names: ['store list', '.name'],
  },
  storeList,
  (s) => s.name,
)
export const bmcCredential = named(
  {
    value: 'CREDENTIAL',
    help: 'Name or id of the credential',
    example: 'rack-a',
    names: ['bmc-credential list', '.name'],
  },
  bmcCredentialList,
  (c) => c.name,
)
/** A BMC by its address, or by the server that it switches. */
export const bmc: Noun = {
  value: 'BMC',
  help: 'Address or id of the BMC, or the name of its server',
  example: '10.0.8.11',
  names: ['bmc list', '.address'],
  async find(api, text) {
    if (isId(text)) return { id: text, name: text }
    const wanted = text.trim()
    const { items } = await api.call(bmcList, {
      query: { q: wanted.slice(0, longestQuery), per_page: bmcList.list.mostPerPage },
    })
    const found = items.filter((b) => [b.address, bmcPlace(b), b.server?.name].includes(wanted))
    if (found.length === 1) return { id: found[0]!.id, name: bmcPlace(found[0]!) }
    throw new CliError(
      'not_found',
      found.length === 0
        ? `There is no BMC ${oneLine(text)}`
        : `There are several BMCs ${oneLine(text)}: give the port too, or the id`,
    )
  },
}
export const template = named(
  {
    value: 'TEMPLATE',
    help: 'Name or id of the template',
    example: 'shop',
    names: ['template list', '.name'],
  },
  templateList,
  (t) => t.name,
)
export const channel = named(
  {
    value: 'CHANNEL',
    help: 'Name or id of the channel',
    example: 'on-call',
    names: ['channel list', '.name'],
  },
  channelList,
  (c) => c.name,
)
export const alertRule = named(
  {
    value: 'RULE',
    help: 'Name or id of the rule',
    example: 'urgent',
    names: ['alert-rule list', '.name'],
  },
  alertRuleList,
  (r) => r.name,
)
const lowerCase = { fold: (text: string) => text.trim().toLowerCase() }
export const invitation = named(
  {
    value: 'EMAIL',
    help: 'Email or id of the invitation',
    example: 'grace@example.com',
    names: ['invitation list', '.email'],
  },
  invitationList,
  (i) => i.email,
  lowerCase,
)
export const waiting = named(
  {
    value: 'EMAIL',
    help: 'Email or id of the entry',
    example: 'grace@example.com',
    names: ['waitlist list', '.email'],
  },
  waitlistList,
  (e) => e.email,
  lowerCase,
)
/**
 * A server's name stands for its newest commitment, which is the only one that may not have ended.
 */
export const commitment: Noun = {
  value: 'COMMITMENT',
  help: 'Name of the server, or id of the commitment',
  example: 'brave-otter-042',
  names: ['cc list', '.server.name'],
  async find(api, text) {
    if (isId(text)) return { id: text, name: text }
    const { items } = await api.call(ccList, {
      query: { server: text.slice(0, longestFilterText), sort: '-created_at', per_page: 1 },
    })
    const [newest] = items
    if (!newest) throw new CliError('not_found', `${oneLine(text)} has no capacity commitment`)
    return { id: newest.id, name: newest.server.name }
  },
}
export const operation = unnamed('operation')
/**
 * The open finding or incident about an object of this name. @throws CliError if there is none, or
 * several
 */
function onlyOne<T extends { readonly id: string; readonly object: { readonly name: string } }>(
  items: readonly T[],
  name: string,
  {
    nouns: [noun, nouns],
    say,
  }: { nouns: readonly [one: string, several: string]; say: (one: T) => string },
): T {
  const [one, ...more] = items.filter(({ object }) => object.name === name.trim())
  if (!one)
    throw new CliError('not_found', `There is no open ${noun} of ${oneLine(name)}`, {
      hint: `steelyard ${nouns} shows them`,
    })
  if (more.length > 0)
    throw new CliError(
      'usage',
      `${oneLine(name)} has ${more.length + 1} open ${nouns}: ${[one, ...more].map((o) => `${o.id} (${say(o)})`).join(', ')}`,
    )
  return one
}
/** A message and the list name what a finding is about, so its name is enough if that is clear. */
export const finding: Noun = {
  value: 'FINDING',
  help: 'Id of the finding, or the name of what it is about if that has one open finding',
  example: '0198c0de-0000-7000-8000-000000000001',
  names: ['findings', '.id'],
  async find(api, text) {
    if (isId(text)) return { id: text, name: text }
    const { items } = await api.call(findingList, {
      query: { q: text.slice(0, longestQuery), per_page: findingList.list.mostPerPage },
    })
    const one = onlyOne(items, text, {
      nouns: ['finding', 'findings'],
      say: ({ kind }) => findingKinds[kind].title,
    })
    return { id: one.id, name: text }
  },
}
/** Often there is one incident of an object, so the object's name is enough. */
export const incident: Noun = {
  value: 'INCIDENT',
  help: 'Id of the incident, or the name of what it is about if that has one open incident',
  example: '0198c0de-0000-7000-8000-000000000002',
  names: ['incidents', '.id'],
  async find(api, text) {
    if (isId(text)) return { id: text, name: text }
    const { items } = await api.call(incidentList, {
      query: { q: text.slice(0, longestQuery), per_page: incidentList.list.mostPerPage },
    })
    const one = onlyOne(items, text, {
      nouns: ['incident', 'incidents'],
      say: ({ title }) => oneLine(title),
    })
    return { id: one.id, name: one.title }
  },
}
export const image = unnamed('image')
export const session = unnamed('session')
export const snapshot = unnamed('snapshot')
export const backup = unnamed('backup')
export const silence = unnamed('silence')
export const delivery = unnamed('delivery')
export const user: Noun = {
  value: 'EMAIL',
  help: 'Email or id of the user',
  example: 'grace@example.com',
  names: ['user list', '.email'],
  async find(api, text) {
    const { id, email } = await userOf(api, text)
    return { id, name: email }
  },
}

/** The id of an offer as the user entered it. Throws CliError `usage`. */
export function offerIdOf(text: string): string {
  if (z.safeParse(OfferId, text).success) return text
  throw new CliError('usage', `${oneLine(text)} is not the id of an offer. ${offerIdSentence}`, {
    hint: 'steelyard offer list shows them',
  })
}

/** A cluster has at most one offer, so the name of the cluster names the offer too. */
export const offer: Noun = {
  value: 'OFFER',
  help: 'Id of the offer, or name or id of its cluster',
  example: 'web',
  names: ['offer list', '.cluster.name'],
  async find(api, text) {
    if (/^0x/i.test(text)) return { id: offerIdOf(text), name: text }
    const [one] =
      text.length > longestFilterText
        ? []
        : (await api.call(offerList, { query: { cluster: text } })).items
    if (one) return { id: one.id, name: text }
    throw new CliError('not_found', `There is no offer of a cluster ${oneLine(text)}`, {
      hint: 'steelyard offer list shows the offers',
    })
  },
}

export const idOf = async (api: Api, noun: Noun, text: string): Promise<string> =>
  (await noun.find(api, text)).id

/** A user, by email or id. */
export async function userOf(api: Api, text: string): Promise<Person> {
  const query = isId(text)
    ? { per_page: 1000 }
    : { q: text.trim().toLowerCase().slice(0, longestQuery), per_page: 1000 }
  const { items } = await api.call(userList, { query })
  return isId(text)
    ? found('user', text, items, (u) => u.id)
    : found('user', text.toLowerCase(), items, (u) => u.email)
}

/** The cluster and its servers. */
export const clusterOf = async (api: Api, text: string): Promise<Cluster> =>
  api.call(clusterGet, { params: { id: await idOf(api, cluster, text) } })

/**
 * The id of a current or former server of the cluster. Searches only these servers, because a new
 * server may have the name of a former one.
 */
export function memberId({ name, servers, former_servers }: Cluster, text: string): string {
  if (isId(text)) return text
  return found(`server of ${oneLine(name)}`, text, [...servers, ...former_servers], (s) => s.name)
    .node_id
}

/**
 * Finds a patch of a server by name or id. The ids of the two system layers are words, not UUIDs.
 */
export async function patchOf(api: Api, serverId: string, text: string) {
  const { items } = await api.call(patchList, { params: { id: serverId } })
  const patch = items.find((p) => p.patch_id === text || p.name === text)
  if (!patch) throw new CliError('not_found', `The server has no patch ${oneLine(text)}`)
  return patch.body_listed === false
    ? api.call(patchGet, { params: { id: serverId, patchId: patch.patch_id } })
    : patch
}
