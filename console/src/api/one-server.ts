/**
 * One server with its hardware, for the pages and dialogs of every feature. Lists don't contain
 * hardware.
 */
import { queryOptions } from '@tanstack/react-query'
import type { Page } from '#contract/page.ts'
import {
  type ListedServer,
  type Resources,
  type Server,
  serverGet,
  serverRows,
} from '#contract/servers/servers.ts'
import { call, CallError } from './client.ts'
import { messages } from './messages.ts'
import { keyOf, queryClient } from './query.ts'

type Lists = Omit<Resources, 'node_addresses'>
type TypeName<Value> =
  NonNullable<Value> extends string
    ? 'string'
    : NonNullable<Value> extends number
      ? 'number'
      : 'boolean'

/**
 * The fields of the contract's schema with their types. The schema isn't used: it needs the schema
 * library and is too slow for thousands of servers.
 */
const fields: {
  readonly [List in keyof Lists]: {
    readonly [Field in keyof Required<Lists[List][number]>]: TypeName<Lists[List][number][Field]>
  }
} = {
  processors: {
    id: 'string',
    socket: 'string',
    manufacturer: 'string',
    product_name: 'string',
    cpu_cores: 'number',
    thread_count: 'number',
    max_speed: 'number',
  },
  memory: { id: 'string', size: 'number', manufacturer: 'string', device_locator: 'string' },
  disks: {
    id: 'string',
    size: 'number',
    io_size: 'number',
    pretty_size: 'string',
    type: 'string',
    model: 'string',
    serial: 'string',
    wwid: 'string',
    transport: 'string',
    readonly: 'boolean',
    content: 'string',
  },
  interfaces: {
    id: 'string',
    link_state: 'boolean',
    driver: 'string',
    product: 'string',
    vendor: 'string',
    hardware_addr: 'string',
  },
}
const lists = Object.entries(fields).map(([list, of]) => [list, Object.entries(of)] as const)

const empty = (): Resources => ({
  node_addresses: [],
  processors: [],
  memory: [],
  disks: [],
  interfaces: [],
})
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isListOf = (value: unknown, passes: (item: unknown) => boolean): boolean =>
  value === undefined || (Array.isArray(value) && value.every(passes))

/** The name of the first list that breaks the schema; null if all are as declared. */
function brokenList(given: Record<string, unknown>): string | null {
  if (!isListOf(given['node_addresses'], (item) => typeof item === 'string'))
    return 'node_addresses'
  for (const [list, of] of lists) {
    const passes = (item: unknown) =>
      isRecord(item) &&
      of.every(([field, type]) =>
        item[field] === undefined ? field !== 'id' : typeof item[field] === type,
      )
    if (!isListOf(given[list], passes)) return list
  }
  return null
}

/**
 * Parses a server's hardware, an object or its JSON text. Input that breaks the schema becomes
 * empty lists, with a warning on the console, so that one odd machine doesn't break the page. Text
 * that is not JSON becomes null.
 */
export function readResources(given: unknown): Resources | null {
  let value = given
  if (typeof given === 'string') {
    try {
      value = JSON.parse(given)
    } catch {
      return null
    }
  }
  const broken = isRecord(value) ? brokenList(value) : 'all'
  if (broken === null) return { ...empty(), ...(value as Partial<Resources>) }
  // oxlint-disable-next-line no-console -- the specification asks for this warning
  console.warn(`Resources of a server could not be read (${broken}); shown as empty.`)
  return empty()
}

/** Like `readResources`, with empty lists instead of null. */
export const resourcesOf = (given: unknown): Resources => readResources(given) ?? empty()

const readable = (s: Server): Server => ({ ...s, resources: resourcesOf(s.resources) })

/**
 * One server with its hardware. If the server doesn't exist, throws an error with the specified
 * sentence.
 */
export function serverQueryOf(id: string) {
  return queryOptions<Server>({
    queryKey: [keyOf(serverGet), { params: { id } }],
    queryFn: async ({ signal }) => {
      try {
        return readable(await call(serverGet, { params: { id } }, signal))
      } catch (error) {
        if (!(error instanceof CallError) || (error.status !== 404 && error.status !== 400))
          throw error
        throw new CallError(messages.serverNotFound(id), { status: 404, code: 'not_found' })
      }
    },
  })
}

/** The server as a list that was fetched earlier shows it, until the server itself is fetched. */
export const listedServer = (id: string): ListedServer | undefined =>
  queryClient
    .getQueriesData<Page<ListedServer>>({ queryKey: [keyOf(serverRows)] })
    .flatMap(([, page]) => page?.items ?? [])
    .find((s) => s.id === id)
