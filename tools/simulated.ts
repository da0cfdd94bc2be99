/** The fleet of a running simulator, added through the API: for the demo and the benchmarks. */
import { datacenterCreate, datacenterList } from '#contract/datacenters.ts'
import { operationGet } from '#contract/operations.ts'
import { serverAdd, serverList } from '#contract/servers/servers.ts'
import type { Caller } from './api-client.ts'
import { control } from './processes.ts'

interface SimulatedServer {
  uuid: string
  serial: string
  address: string
  power: string
  /** The server was booted with its own kernel command line, which decides whether it announces itself. */
  booted: boolean
  datacenter: { countryCode: string; cityCode: string; city: string; tier: 1 | 2 | 3 | 4; certifications: string[]; latitude: number; longitude: number }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

interface Place {
  id: string
  servers: SimulatedServer[]
}

/** Maximum number of attempts: on a machine that is busy with a thousand servers, some servers may not answer in time, and those are added again. */
const rounds = 4

/** Adds the servers that the program doesn't have yet. Returns how many were missing. */
async function addMissing(call: Caller, places: readonly Place[]): Promise<number> {
  const known = new Set<string | null>()
  for (let page = 1, total = Infinity; (page - 1) * 1000 < total; page++) {
    const listed = await call(serverList, { query: { fields: 'summary', per_page: 1000, page } })
    for (const { identity } of listed.items) known.add(identity.uuid)
    total = listed.total
  }
  let count = 0
  for (const { id, servers } of places) {
    const missing = servers.filter((s) => !known.has(s.uuid))
    count += missing.length
    for (let at = 0; at < missing.length; at += 1000) {
      const { operation } = await call(serverAdd, { body: { addresses: missing.slice(at, at + 1000).map((s) => s.address), datacenter_id: id } })
      for (let { status } = operation; status === 'pending' || status === 'running' || status === 'waiting';) {
        await pause(100)
        ;({ status } = await call(operationGet, { params: { id: operation.id } }))
      }
    }
  }
  return count
}

/** Adds the servers of a running simulator, in their datacenters, through the API. Returns all servers that the simulator has. */
export async function addSimulated(call: Caller, socketPath: string): Promise<SimulatedServer[]> {
  const { servers } = await control<{ servers: SimulatedServer[] }>(socketPath, '/servers')
  const { items: datacenters } = await call(datacenterList, { query: { per_page: 1000 } })
  const places = new Map<string, Place>()
  for (const server of servers) {
    const { countryCode: country_code, cityCode: city_code, city: city_name, tier, certifications, latitude, longitude } = server.datacenter
    const key = `${country_code}-${city_code}`
    let place = places.get(key)
    if (!place) {
      const there = datacenters.find((d) => d.country_code === country_code && d.city_code === city_code)
      const id = there?.id ?? (await call(datacenterCreate, { body: { country_code, city_code, city_name, tier, certifications, latitude, longitude } })).id
      places.set(key, (place = { id, servers: [] }))
    }
    if (server.power === 'on' && !server.booted) place.servers.push(server)
  }
  for (let round = 1; round <= rounds; round++) if ((await addMissing(call, [...places.values()])) === 0) break
  return servers
}
