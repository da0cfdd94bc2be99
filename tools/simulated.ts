/** The fleet of a running simulator, added through the API: for the demo and the benchmarks. */
import { datacenterCreate, datacenterList } from '#contract/datacenters.ts'
import { operationGet } from '#contract/operations.ts'
import { type ListedServer, serverAdd, serverList, serverRows } from '#contract/servers/servers.ts'
import type { Caller } from './api-client.ts'
import { control } from './processes.ts'

interface SimulatedServer {
  uuid: string
  serial: string
  address: string
  power: string
  /**
   * The server was booted with its own kernel command line, which decides whether it announces
   * itself.
   */
  booted: boolean
  datacenter: {
    countryCode: string
    cityCode: string
    city: string
    tier: 1 | 2 | 3 | 4
    certifications: string[]
    latitude: number
    longitude: number
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * Maximum number of attempts: on a machine that is busy with a thousand servers, some servers may
 * not answer in time, and those are added again.
 */
const rounds = 4
/** Maximum number of addresses that one call adds. */
const mostAddresses = 1000

/**
 * All servers that pass the filters, with the fields that lists show. `whole`: asks for whole
 * servers, because older versions know no shorter list.
 */
export async function everyServer(
  call: Caller,
  filters: { confirmed?: 'false' } = {},
  whole = false,
): Promise<ListedServer[]> {
  const found: ListedServer[] = []
  for (let page = 1; ; page++) {
    const query = { ...filters, page }
    const { items, total } = await (whole
      ? call(serverList, { query })
      : call(serverRows, { query: { ...query, fields: 'list' } }))
    found.push(...items)
    if (items.length === 0 || found.length >= total) return found
  }
}

/**
 * Adds the servers that the program doesn't have yet. `places`: servers by the id of their
 * datacenter. Returns how many were missing.
 */
async function addMissing(
  call: Caller,
  places: ReadonlyMap<string, readonly SimulatedServer[]>,
  whole: boolean,
): Promise<number> {
  const known = new Set((await everyServer(call, {}, whole)).map(({ identity }) => identity.uuid))
  const parts = [...places].flatMap(([datacenter_id, servers]) => {
    const missing = servers.filter((s) => !known.has(s.uuid)).map((s) => s.address)
    return Array.from({ length: Math.ceil(missing.length / mostAddresses) }, (_, i) => ({
      datacenter_id,
      addresses: missing.slice(i * mostAddresses, (i + 1) * mostAddresses),
    }))
  })
  const left = parts.values()
  const addNext = async () => {
    for (const body of left) {
      const { operation } = await call(serverAdd, { body })
      for (
        let { status } = operation;
        status === 'pending' || status === 'running' || status === 'waiting';
      ) {
        // The answer has a step for each address, so that asking for it often would be most of the
        // work.
        await pause(Math.max(100, body.addresses.length))
        ;({ status } = await call(operationGet, { params: { id: operation.id } }))
      }
    }
  }
  // The program works on two at once.
  await Promise.all([addNext(), addNext()])
  return parts.reduce((sum, { addresses }) => sum + addresses.length, 0)
}

/**
 * Adds the servers of a running simulator, in their datacenters, through the API. Returns all
 * servers that the simulator has. `whole`: as in `everyServer`.
 */
export async function addSimulated(
  call: Caller,
  socketPath: string,
  { whole = false }: { whole?: boolean } = {},
): Promise<SimulatedServer[]> {
  const { servers } = await control<{ servers: SimulatedServer[] }>(socketPath, '/addresses')
  const { items: datacenters } = await call(datacenterList, { query: { per_page: 1000 } })
  const places = new Map<string, SimulatedServer[]>()
  for (const there of Map.groupBy(
    servers,
    ({ datacenter }) => `${datacenter.countryCode}-${datacenter.cityCode}`,
  ).values()) {
    const {
      countryCode: country_code,
      cityCode: city_code,
      city: city_name,
      tier,
      certifications,
      latitude,
      longitude,
    } = there[0]!.datacenter
    const known = datacenters.find(
      (d) => d.country_code === country_code && d.city_code === city_code,
    )
    const { id } =
      known ??
      (await call(datacenterCreate, {
        body: { country_code, city_code, city_name, tier, certifications, latitude, longitude },
      }))
    const reachable = there.filter(({ power, booted }) => power === 'on' && !booted)
    places.set(id, reachable)
  }
  for (let round = 1; round <= rounds; round++)
    if ((await addMissing(call, places, whole)) === 0) break
  return servers
}
