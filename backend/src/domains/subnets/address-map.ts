/**
 * Responses of the calls about a subnet's addresses. The largest maps have a run for each of 65,536
 * addresses, so the JSON text is written directly.
 */
import { type Cidr, formatAddress } from '#contract/network/addresses.ts'
import {
  declaredRuns,
  type Held,
  type MapRun,
  usesOf,
  withUses,
} from '#contract/network/address-map.ts'
import type { AddressRun, SubnetMap } from '#contract/network/subnets.ts'
import type { ServerAddress } from '../servers/api.ts'
import { neighbours } from './neighbours.ts'
import type { MapRow, UseTexts } from './store.ts'

function declared(row: MapRow): { cidr: Cidr; runs: MapRun[] } {
  const read = declaredRuns(row)
  if (!read) throw new Error(`Not a valid subnet: ${row.cidr}`)
  return read
}

/** Servers with an address in the subnet, in the order of addresses. */
const serversIn = (row: MapRow, cidr: Cidr, servers: readonly ServerAddress[]): Held[] =>
  neighbours(servers, [])
    .serversIn(cidr, row.datacenter_id)
    .map(({ parsed, name, node_id }) => ({ value: parsed.value, by: name, nodeId: node_id }))

/** The response of `subnetAddresses` as JSON text. */
export function addressRuns(
  row: MapRow,
  used: UseTexts,
  servers: readonly ServerAddress[],
): string {
  const { cidr, runs: own } = declared(row)
  const text = (value: bigint) => formatAddress({ family: cidr.family, value })
  const runs = withUses(own, usesOf(used), serversIn(row, cidr, servers)).map(
    ({ first, last, state, by, nodeId }) => {
      const from = text(first)
      return `{"first":"${from}","last":"${first === last ? from : text(last)}","state":"${state}","by":${JSON.stringify(by)},"node_id":${JSON.stringify(nodeId)}}`
    },
  )
  return `{"cidr":"${row.cidr}","observed_at":${JSON.stringify(row.observed_at)},"runs":[${runs.join(',')}]}`
}

/** The response of `subnetMap`. */
export function addressMap(
  row: MapRow,
  used: UseTexts,
  servers: readonly ServerAddress[],
): SubnetMap {
  const { cidr, runs } = declared(row)
  const text = (value: bigint) => formatAddress({ family: cidr.family, value })
  return {
    cidr: row.cidr,
    observed_at: row.observed_at?.toISOString() ?? null,
    runs: runs.map(({ first, last, state, by }): AddressRun => ({
      first: text(first),
      last: text(last),
      state,
      by,
      node_id: null,
    })),
    used,
    servers: serversIn(row, cidr, servers).map(({ value, by, nodeId }) => ({
      address: text(value),
      by,
      node_id: nodeId,
    })),
  }
}
