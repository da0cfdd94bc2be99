/** Steps of an operation on a cluster as a matrix of every server by every step, and lines of its servers' logs. */
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { Operation, Step } from '#contract/operations.ts'
import { atRest, shortOf } from '../../lib/phases.ts'
import { clock } from '../../lib/time.ts'

type Member = Cluster['servers'][number]

/** Places of a server on its way out of a cluster, and into it. */
const ways: readonly (readonly string[])[] = [
  ['reset', 'release'],
  ['config', 'apply', 'install', 'boot', 'etcd', 'join'],
]

/**
 * A matrix of servers by steps for those that leave and one for those that join, where the operation has such: columns that it has, and a row per server,
 * undefined where a phase does not concern it.
 */
export const matricesOf = (operation: Pick<Operation, 'steps'>, members: readonly Member[], isOver = false) =>
  ways.map((way) => matrixOf(way, operation, members, isOver)).filter(({ rows }) => rows.length > 0)

function matrixOf(way: readonly string[], operation: Pick<Operation, 'steps'>, members: readonly Member[], isOver: boolean) {
  const places = way.filter((place) => operation.steps.some((s) => s.key.startsWith(`${place}/`)))
  const of = new Map(operation.steps.map((s) => [s.key, s]))
  return {
    columns: places.map(shortOf),
    rows: members.flatMap((member) => {
      const steps = places.map((place) => of.get(`${place}/${member.node_id}`))
      if (steps.every((s) => s === undefined)) return []
      return [
        {
          member,
          cells: steps.map((s) => (s ? { state: atRest(s.status, isOver), reason: s.reason } : undefined)),
          hot: heat(steps, isOver),
        },
      ]
    }),
  }
}

/** What a row is marked by: a failure, or else an attempt that is not the first. */
function heat(steps: readonly (Step | undefined)[], isOver: boolean): 'failed' | 'waiting' | undefined {
  if (steps.some((s) => s?.status === 'failed')) return 'failed'
  return !isOver && steps.some((s) => s?.status === 'waiting' && s.attempt > 1) ? 'waiting' : undefined
}

/** Of a line of a service "2026-…Z …", of the kernel "user: warning: [2026-…Z]: [talos] …", as Talos writes them. */
const linePrefix = /^(?:[a-z]+: +[a-z]+: +)?\[?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)(?:\]:)? +(?:\[talos\] +)?/

/** A line of a log beside a step: only when on the clock, so that what it says has room. */
export const logLine = (line: string): string => line.replace(linePrefix, (_, at: string) => `${clock(at)} `)
