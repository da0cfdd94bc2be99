import { type MapRun, runsOfParts } from '#contract/network/address-map.ts'
import type { SubnetMap } from '#contract/network/subnets.ts'

/** Caches parsed answers, which may have a run for each of 65,536 addresses. */
const known = new WeakMap<SubnetMap, MapRun[]>()

export function readMap(map: SubnetMap): MapRun[] {
  const runs = known.get(map) ?? runsOfParts(map)
  known.set(map, runs)
  return runs
}
