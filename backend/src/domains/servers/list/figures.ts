/** The metrics of servers. */
import { type Figures } from '#contract/metrics/metrics.ts'
import { contactStateOf } from '#contract/servers/contact-state.ts'
import { type Said } from '#contract/findings/findings.ts'
import { tallied } from '#contract/findings/said.ts'
import { contactOf, type Entry, saidOf } from '../present.ts'

/** @param now in ms: a server that is silent in an operation is away for a while */
export function figuresOf(all: Iterable<Entry>, now: number): Figures {
  const counts = new Map<
    string,
    { datacenter: string; status: string; contact: string; n: number }
  >()
  const said: Said[] = []
  for (const { row } of all) {
    if (row.status === 'deleted') continue
    said.push(saidOf(row))
    const contact = contactStateOf({ operation_id: row.operation_id, talos: contactOf(row) }, now)
    const of = { datacenter: row.datacenter_code ?? '', status: row.status, contact }
    const key = Object.values(of).join(' ')
    counts.set(key, { ...of, n: (counts.get(key)?.n ?? 0) + 1 })
  }
  return {
    steelyard_server_states: tallied(said).map(({ word, severity, count }) => ({
      word,
      severity: severity ?? '',
      value: count,
    })),
    steelyard_servers: [...counts.values()].map(({ n, ...of }) => ({ ...of, value: n })),
  }
}
