/**
 * Decides which failed operations can be retried (only the current operation of a cluster or of a
 * leaving server), and which disks a retry would wipe.
 */
import type { ChosenDisks } from '#contract/disks/wipe.ts'
import { no, type Verdict, yes } from '#contract/rule.ts'
import { readDisks } from '#talos/client/inventory.ts'
import type { Tx } from '../../../db/db.ts'
import type { Wipes } from '../../operations/api.ts'
import type { AgreedDisks } from '../../../db/columns.ts'
import { agreedOf, notAgreed } from '../disks.ts'
import { clusterQueue, type ClusterParts, memberQueue } from '../parts.ts'
import * as store from '../store.ts'

const another = (name: string): Verdict => no(`Another operation has replaced this one on ${name}`)

/**
 * Time limit for querying a server's disks, in ms. Short, because a user waits. If the server
 * doesn't answer, its disks are still checked before a wipe.
 */
const lookDeadlineMs = 5_000

type Disks = Pick<ClusterParts, 'db' | 'servers'>

/** Current disks of a server, or its last known disks if it doesn't answer. */
async function disksNow({ db, servers }: Disks, nodeId: string): Promise<ChosenDisks['disks']> {
  try {
    const connection = await servers.connection(nodeId)
    const disks = await connection.maintenance((client) => readDisks(client), {
      deadlineMs: lookDeadlineMs,
    })
    return disks.map(({ content, ...disk }) => ({ ...disk, content: content || null }))
  } catch {
    return (await servers.forPlan(db, [nodeId]))[0]!.disks
  }
}

/**
 * The disks of joining servers that a retry would wipe and whose content differs from what a user
 * has confirmed.
 */
export async function wipesOf(parts: Disks, clusterId: string): Promise<Wipes> {
  // Talos isn't installed again on a server that has started with its configuration (`secured_at`).
  const waiting = (await store.members(parts.db, clusterId)).filter(
    (m) => m.wanted === 'joined' && m.released_at === null && m.secured_at === null,
  )
  const looked = await Promise.all(
    waiting.map(async (m) => {
      const disks = await disksNow(parts, m.node_id)
      return {
        m,
        disks,
        changed: notAgreed(m, disks, {
          isInstalled: m.was_installed === true,
          isAgain: m.send_intent_at !== null,
        }),
      }
    }),
  )
  return {
    chosen: looked.map(({ m, disks, changed }) => ({
      server: m.name,
      disks,
      devices: changed.map((c) => c.now),
      kept: null,
    })),
    async agree(tx) {
      for (const { m, disks, changed } of looked.filter((l) => l.changed.length > 0)) {
        const agreed: Record<string, AgreedDisks[string]> = { ...m.agreed_disks }
        for (const { device, now } of changed)
          Object.assign(agreed, { [device]: agreedOf(disks, [now])[now] })
        await store.updateMember(tx, m.cluster_id, m.node_id, {
          agreed_disks: JSON.stringify(agreed),
        })
      }
    },
  }
}

/** Refuses retries of operations that no reconciler would carry out. */
export function guardRetries(parts: Pick<ClusterParts, 'db' | 'operations' | 'servers'>): void {
  const { operations } = parts
  operations.guardRetry(clusterQueue, {
    async may(tx, { id, key }) {
      const row = await store.lock(tx, key)
      if (!row) return no(`The cluster ${(await store.row(tx, key))?.name ?? key} is gone`)
      return row.operation_id === id ? yes : another(row.name)
    },
    wipes: ({ key }) => wipesOf(parts, key),
  })
  operations.guardRetry(memberQueue, {
    async may(tx: Tx, { id, key }) {
      const [clusterId, nodeId] = key.split('/') as [string, string]
      const row = await store.lock(tx, clusterId)
      const m = await store.member(tx, clusterId, nodeId)
      if (!row || !m || m.released_at !== null)
        return no(`${m?.name ?? nodeId} has left its cluster`)
      return m.operation_id === id ? yes : another(m.name)
    },
  })
}
