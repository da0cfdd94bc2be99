/** What went wrong in the simulated past. Pure: the same clusters have the same incidents. */

export const minuteMs = 60_000
export const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs
export const pastDays = 30

interface Named {
  readonly id: string
  readonly name: string
}
export interface SimulatedCluster extends Named {
  readonly talos_version: string
  readonly kubernetes_version: string
  readonly nodes: readonly Named[]
}

/** A server that did not answer. Times in ms since 1970. */
export interface Silence {
  readonly cluster: SimulatedCluster
  readonly node: Named
  readonly from: number
  readonly to: number
  readonly reason: string
}

/** A moment of an earlier day. @param hour of the day in UTC, such as 2.5 */
export const momentOf = (now: number, daysAgo: number, hour: number): number =>
  Math.floor(now / dayMs) * dayMs - daysAgo * dayMs + hour * hourMs

/** Days ago, hour, minutes, index of the cluster and of the node from the end, reason. */
const silences = [
  [24, 11.2, 4, 0, 0, 'connection refused'],
  [9, 2.68, 13, 0, 0, 'no route to host'],
  [3, 15.4, 6, 1, 0, 'connection refused'],
  [1, 23.1, 13, 0, 1, 'no route to host'],
  [0, 3.2, 5, 1, 1, 'connection timed out'],
] as const

export function silencesOf(clusters: readonly SimulatedCluster[], now: number): Silence[] {
  return silences.flatMap(([daysAgo, hour, minutes, c, n, reason]) => {
    const cluster = clusters[c % Math.max(1, clusters.length)]
    const node = cluster?.nodes.at(-1 - n)
    const from = Math.floor(momentOf(now, daysAgo, hour) / minuteMs) * minuteMs
    const to = from + minutes * minuteMs
    return cluster === undefined || node === undefined || to > now
      ? []
      : [{ cluster, node, from, to, reason }]
  })
}

/** The version before this one in its minor; null if it is the first. */
export function versionBefore(version: string): string | null {
  const [, minor, patch] = /^(v?\d+\.\d+\.)(\d+)$/.exec(version) ?? []
  return minor === undefined || Number(patch) === 0 ? null : `${minor}${Number(patch) - 1}`
}
