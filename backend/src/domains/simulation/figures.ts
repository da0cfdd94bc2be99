/** The simulated figures of 30 days: days and nights, weekends, and gaps in incidents. Pure. */
import type { CapacitySeries } from '#contract/measurements/measurements.ts'
import type { SimulatedObject } from '../measurements/api.ts'
import {
  dayMs,
  hourMs,
  minuteMs,
  momentOf,
  pastDays,
  type SimulatedCluster,
  silencesOf,
} from './incidents.ts'

const mega = 1_000_000

/** A number from 0 to 1 that seems random, and is the same for the same two numbers. */
function random(seed: number, n: number): number {
  let h = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(n | 0, 0xc2b2ae35)
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d)
  h = Math.imul(h ^ (h >>> 12), 0x297a2d39)
  return ((h ^ (h >>> 15)) >>> 0) / 2 ** 32
}
const seedOf = (id: string): number =>
  Array.from(id).reduce((sum, letter) => (Math.imul(sum, 31) + letter.charCodeAt(0)) | 0, 7)

/** Wanders between 0 and 1 in steps of 20 minutes, with a little noise at each minute. */
function wander(seed: number, ms: number): number {
  const step = ms / (20 * minuteMs)
  const [low, part] = [Math.floor(step), step % 1]
  const smooth = random(seed, low) * (1 - part) + random(seed, low + 1) * part
  return 0.85 * smooth + 0.15 * random(seed + 1, Math.floor(ms / minuteMs))
}

/** How busy people are: 1 in the early afternoon of a weekday, little at night. */
export function busy(ms: number): number {
  const hour = (ms % dayMs) / hourMs
  const weekday = (Math.floor(ms / dayMs) + 4) % 7
  const isWeekend = weekday === 0 || weekday === 6
  const day = 0.5 + 0.5 * Math.cos(((hour - 13.5) / 24) * 2 * Math.PI)
  return (isWeekend ? 0.55 : 1) * day
}

/** The nightly backup: from 2:00 for 25 minutes. */
const isBackup = (ms: number): boolean => {
  const hour = (ms % dayMs) / hourMs
  return hour >= 2 && hour < 2.42
}

export function figuresOf(
  clusters: readonly SimulatedCluster[],
  present: Readonly<Record<CapacitySeries, number | null>>,
  now: number,
): SimulatedObject[] {
  const silences = silencesOf(clusters, now)
  const silentAt = (ms: number, node?: string) =>
    silences.some((s) => (node === undefined || s.node.id === node) && s.from <= ms && ms < s.to)
  const begins = now - pastDays * dayMs

  const servers = clusters.flatMap(({ nodes }) =>
    nodes.map(({ id }): SimulatedObject => {
      const seed = seedOf(id)
      const [load, size] = [0.25 + 0.4 * random(seed, 1), 0.3 + 0.3 * random(seed, 2)]
      const isOften = silences.filter((s) => s.node.id === id)
      return {
        kind: 'server',
        id,
        at: (ms) => {
          if (isOften.some((s) => s.from <= ms && ms < s.to)) return {}
          const [people, other] = [busy(ms), wander(seed, ms)]
          const backup = isBackup(ms) ? 1 : 0
          return {
            cpu: Math.min(0.97, 0.06 + load * people + 0.12 * other + 0.1 * backup),
            memory: Math.min(0.95, size + 0.12 * people + 0.04 * other),
            disk_read: mega * (2 + 30 * load * people * other + 180 * backup * (0.6 + 0.4 * other)),
            disk_written: mega * (6 + 45 * load * people + 12 * other),
            received: mega * (3 + 70 * load * people * (0.6 + 0.4 * other)),
            sent: mega * (4 + 95 * load * people * (0.6 + 0.4 * other) + 60 * backup),
          }
        },
      }
    }),
  )
  const ofClusters = clusters.map(({ id, nodes }, c): SimulatedObject => {
    const seed = seedOf(id)
    const defragmented = momentOf(now, 5, 8 + c)
    return {
      kind: 'cluster',
      id,
      at: (ms) => {
        const [people, other] = [busy(ms), wander(seed, ms)]
        const inUse = mega * (34 + (8 * (ms - begins)) / (pastDays * dayMs) + 2 * people)
        const since = ms - (ms < defragmented ? begins : defragmented)
        return {
          api_seconds: 0.006 + 0.014 * people * (0.5 + other) + (isBackup(ms) ? 0.008 : 0),
          etcd_seconds: 0.002 + 0.004 * people * (0.5 + other),
          etcd_bytes: inUse + mega * (6 + (2.4 * since) / dayMs),
          etcd_in_use_bytes: inUse,
          nodes: nodes.length,
          nodes_ready: nodes.filter((node) => !silentAt(ms, node.id)).length,
        }
      },
    }
  })

  // The second half of the clusters' servers came during the month.
  const grown = (ms: number): number =>
    [0.5, 0.75, 1][Number(ms >= momentOf(now, 19, 11)) + Number(ms >= momentOf(now, 8, 15))] ?? 1
  const units = (present.units_in_clusters ?? 0) + (present.units_free ?? 0)
  const members = clusters.reduce((n, { nodes }) => n + nodes.length, 0)
  const capacity: SimulatedObject = {
    kind: 'capacity',
    at: (ms) => {
      const [inClusters, notWell] = [Math.round(members * grown(ms)), silentAt(ms) ? 1 : 0]
      const used = Math.round((present.units_in_clusters ?? 0) * grown(ms))
      return {
        in_clusters: inClusters - notWell,
        not_well: notWell,
        free: (present.servers ?? 0) - inClusters,
        servers: present.servers,
        units_in_clusters: used,
        units_free: units - used,
      }
    },
  }
  return [...servers, ...ofClusters, capacity]
}
