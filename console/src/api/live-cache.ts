import type { QueryClient } from '@tanstack/react-query'
import type { EventKind } from '#contract/events.ts'
import type { Message } from '../lib/sse.ts'

/** A message of the live stream. `event` is a name such as `server.updated`. */
export type LiveMessage = Omit<Message, 'data'> & { data: unknown }

/**
 * For each kind of changed object, prefixes of the names of the queries whose responses contain
 * such objects.
 */
const concerned: Record<EventKind, readonly string[]> = {
  server: ['server', 'overview', 'datacenter', 'cc', 'historyList', 'rack', 'sharedPatch'],
  shared_patch: ['sharedPatch', 'serverSharedPatches'],
  shared_view: ['sharedView'],
  rack: ['rack', 'serverGroups'],
  bmc: ['bmc', 'serverGet'],
  bmc_credential: ['bmc'],
  template: ['template'],
  patch: ['overview', 'historyList', 'patchList', 'patchGet', 'serverGet', 'serverConfig'],
  cluster: [
    'cluster',
    'server',
    'overview',
    'datacenter',
    'operation',
    'subnet',
    'restoration',
    'cc',
    'historyList',
  ],
  datacenter: [
    'datacenter',
    'server',
    'cluster',
    'overview',
    'subnet',
    'joinToken',
    'image',
    'cc',
    'rack',
  ],
  subnet: ['subnet', 'cluster', 'overview', 'datacenter'],
  cc: ['cc'],
  image: ['image'],
  join_token: ['joinToken', 'image'],
  operation: ['operation', 'overview', 'cluster', 'historyList', 'sharedPatch'],
  // A cluster counts its servers that are not well.
  finding: ['finding', 'overview', 'historyList', 'clusterList', 'clusterGet'],
  // Who has an incident has its findings too.
  incident: ['incident', 'finding', 'overview'],
  offer: ['offer', 'cluster', 'cc'],
  store: ['store'],
  channel: ['channel', 'alertRule'],
  alert_rule: ['alertRule'],
  silence: ['silence', 'overview'],
  delivery: ['delivery', 'channel'],
  // A backup of Steelyard is a snapshot of the kind that has no cluster.
  snapshot: ['snapshot', 'backup', 'cluster'],
  user: ['user', 'profile', 'waitlist'],
  invitation: ['invitation', 'waitlist'],
  waitlist: ['waitlist'],
}

/**
 * Whether a cached response may be out of date. `happened`: ids of the changed objects by kind. A
 * response about one unchanged object stays current.
 */
export function changes(
  key: readonly unknown[],
  happened: ReadonlyMap<EventKind, ReadonlySet<string>>,
): boolean {
  const name = String(key[0])
  for (const [kind, ids] of happened) {
    if (!(concerned[kind] ?? []).some((start) => name.startsWith(start))) continue
    const params = (key[1] as { params?: { id?: string; patchId?: string } } | undefined)?.params
    // The id of the queried object. In queries about a patch this is `patchId`, because `id` is the
    // server's.
    const about = kind === 'patch' ? params?.patchId : params?.id
    if (about === undefined || !name.startsWith(kind) || ids.has(about) || ids.has('*')) return true
  }
  return false
}

const hasContact = (
  value: unknown,
): value is { id: string; talos: { last_contact_at: string | null } } =>
  typeof value === 'object' &&
  value !== null &&
  'talos' in value &&
  typeof value.talos === 'object' &&
  value.talos !== null

/**
 * Writes the times of servers' last responses into cached data, without a request. `data` maps
 * server ids to times, directly or under `contacts`.
 */
export function applyContacts(client: QueryClient, data: unknown): void {
  const times = ((data as { contacts?: unknown }).contacts ?? data) as Record<string, unknown>
  const touch = <T>(value: T): T => {
    if (!hasContact(value)) return value
    const at = times[value.id]
    return typeof at === 'string' && at > (value.talos.last_contact_at ?? '')
      ? { ...value, talos: { ...value.talos, last_contact_at: at } }
      : value
  }
  client.setQueriesData<{ items: unknown[] }>({ queryKey: ['servers'] }, (page) =>
    page === undefined ? page : { ...page, items: page.items.map(touch) },
  )
  client.setQueriesData<unknown>({ queryKey: ['serverGet'] }, (server: unknown) => touch(server))
}
