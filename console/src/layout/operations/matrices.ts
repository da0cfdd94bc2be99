/** The matrix of servers by steps of a cluster's operation, and log lines of its servers. */
import type { Cluster } from '#contract/clusters/clusters.ts'
import type { Operation, Step } from '#contract/operations.ts'
import { atRest, shortOf } from '../../lib/phases.ts'
import { clock } from '../../lib/time/clock.ts'

type Member = Cluster['servers'][number]

/** Steps of a server that leaves a cluster, and of a server that joins a cluster. */
const ways: readonly (readonly string[])[] = [
  ['reset', 'release'],
  ['config', 'apply', 'install', 'boot', 'etcd', 'join'],
]

/**
 * A matrix of the servers that leave the cluster and a matrix of the servers that join it. A matrix
 * without servers is left out. Columns are steps, rows are servers; a cell is undefined if the step
 * doesn't apply to the server.
 */
export const matricesOf = (
  operation: Pick<Operation, 'steps'>,
  members: readonly Member[],
  isOver = false,
) =>
  ways.map((way) => matrixOf(way, operation, members, isOver)).filter(({ rows }) => rows.length > 0)

function matrixOf(
  way: readonly string[],
  operation: Pick<Operation, 'steps'>,
  members: readonly Member[],
  isOver: boolean,
) {
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
          cells: steps.map((s) =>
            s ? { state: atRest(s.status, isOver), reason: s.reason } : undefined,
          ),
          hot: heat(steps, isOver),
        },
      ]
    }),
  }
}

/**
 * How to highlight a server's row: `failed` if a step failed, `waiting` if a step is waiting and
 * has had more than one attempt.
 */
function heat(
  steps: readonly (Step | undefined)[],
  isOver: boolean,
): 'failed' | 'waiting' | undefined {
  if (steps.some((s) => s?.status === 'failed')) return 'failed'
  return !isOver && steps.some((s) => s?.status === 'waiting' && s.attempt > 1)
    ? 'waiting'
    : undefined
}

/**
 * Prefix of Talos's log lines: "2026-…Z …" in services, "user: warning: [2026-…Z]: [talos] …" in
 * the kernel log.
 */
const linePrefix =
  /^(?:[a-z]+: +[a-z]+: +)?\[?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)(?:\]:)? +(?:\[talos\] +)?/

/** A log line beside a step, with only the time of day. */
export const logLine = (line: string): string =>
  line.replace(linePrefix, (_, at: string) => `${clock(at)} `)
