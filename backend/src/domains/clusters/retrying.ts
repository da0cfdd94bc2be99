/** Which failed operations can still be tried again: the one that is what people want of a cluster, or of a server that leaves it. */
import { no, type Verdict, yes } from '#contract/rule.ts'
import type { Tx } from '../../db/db.ts'
import type { Operations } from '../operations/operations.ts'
import { clusterQueue, memberQueue } from './parts.ts'
import * as store from './store.ts'

const another = (name: string): Verdict => no(`What is to be done with ${name} is another operation by now`)

/** An operation that nobody carries out would run for ever. */
export function guardRetries(operations: Pick<Operations, 'guardRetry'>): void {
  operations.guardRetry(clusterQueue, async (tx, { id, key }) => {
    const row = await store.lock(tx, key)
    if (!row) return no(`The cluster ${(await store.row(tx, key))?.name ?? key} is gone`)
    return row.operation_id === id ? yes : another(row.name)
  })
  operations.guardRetry(memberQueue, async (tx: Tx, { id, key }) => {
    const [clusterId, nodeId] = key.split('/') as [string, string]
    const row = await store.lock(tx, clusterId)
    const m = await store.member(tx, clusterId, nodeId)
    if (!row || !m || m.released_at !== null) return no(`${m?.name ?? nodeId} has left its cluster`)
    return m.operation_id === id ? yes : another(m.name)
  })
}
