/**
 * Imports the new secrets of a cluster after others have changed its authorities: checks the
 * secrets against the machines, then stores them.
 */
import type { Cluster } from '#contract/clusters/clusters.ts'
import { Problem } from '#contract/errors.ts'
import type { clusterSecretsImport } from '#contract/clusters/takeover.ts'
import type { Input } from '#contract/operation.ts'
import { hasEnded } from '#contract/operations.ts'
import { no } from '#contract/rule.ts'
import { mintTalosClient } from '#talos/pki/certificates.ts'
import { inTransaction } from '../../../db/db.ts'
import type { Caller } from '../../../http/caller.ts'
import { sentBy } from '../../../reading/asker.ts'
import { within } from '../../../reading/reader.ts'
import { type Found, readFound } from '#talos/client/found.ts'
import { sweepQueue } from '../../configurations/api.ts'
import { certificateQueue, clusterQueue, type ClusterParts, demandCluster } from '../parts.ts'
import { factsOf } from '../../control-planes/api.ts'
import { shownOne } from '../shown.ts'
import * as store from '../store.ts'
import { readProof } from './proof.ts'
import { askAt, demandSameCluster, firstAnswer } from './survey.ts'
import { timeLimit } from '../../../time-limit.ts'

const wholeMs = 60_000
const ownLifetimeMs = 3_600_000

/** @throws Problem */
export async function importSecrets(
  parts: ClusterParts,
  caller: Caller,
  clusterId: string,
  handed: Input<typeof clusterSecretsImport>['body'],
): Promise<Cluster> {
  const { db, clock, secrets } = parts
  const { kept } = parts.configurations
  const row = await demandCluster(db, clusterId)
  const before = await secrets.bundle(db, clusterId)
  if (before === null || row.ready_at === null || row.wanted !== 'ready')
    throw new Problem('cluster_not_ready', `${row.name} is not ready yet`)
  const operation =
    row.operation_id === null ? undefined : await parts.operations.read(db, row.operation_id)
  if (operation && !hasEnded(operation))
    throw new Problem('operation_running', `An operation on ${row.name} has not ended`)
  const proof = await readProof(parts.read, { caller }, handed, new Date(clock.now()))
  const members = (await store.members(db, clusterId)).filter(store.isWanted)
  const facts = await factsOf(parts, db, members)
  const addressOf = (nodeId: string) => facts.find((f) => f.id === nodeId)!.address
  const signal = timeLimit(wholeMs)

  const controlPlanes = members
    .filter((m) => m.role === 'control_plane')
    .map((m) => addressOf(m.node_id))
  const first = await firstAnswer(parts, controlPlanes, proof, signal)
  const bundle = await demandSameCluster(parts, proof, first.told, first.address)
  const field = proof.bundle === null ? 'talosconfig' : 'secrets'
  if (bundle.cluster.id !== before.cluster.id) {
    const sentence = `These secrets belong to another cluster, not to ${row.name}: the cluster ids differ`
    throw new Problem('invalid', sentence, { [field]: sentence })
  }

  // Later drift is judged against these configurations. A machine that doesn't answer now shows
  // drift later, until the secrets are imported again.
  const credentials = await mintTalosClient(bundle, {
    roles: ['os:admin'],
    lifetimeMs: ownLifetimeMs,
    now: new Date(clock.now()),
  })
  const found = new Map<string, Found>()
  await Promise.all(
    members.map(async (m) => {
      try {
        found.set(
          m.node_id,
          await askAt(
            parts,
            addressOf(m.node_id),
            { bundle: bundle, credentials },
            readFound,
            signal,
          ),
        )
      } catch (error) {
        if (!(error instanceof Problem)) throw error
      }
    }),
  )

  const cluster = await inTransaction(db, async (tx) => {
    const now = await store.lock(tx, clusterId)
    if (!now || now.wanted !== 'ready')
      throw Problem.of('cluster_not_ready', no(`${row.name} is being deleted`))
    await secrets.importBundle(tx, clusterId, bundle)
    for (const m of members) {
      const holds = found.get(m.node_id)
      const configs = await kept.all(tx, clusterId, m.node_id)
      if (!holds || !configs) continue
      const withSecrets = (config: string) =>
        within(parts.read, tx)(sentBy(addressOf(m.node_id)), 'withSecrets', config, holds.stored)
      await kept.keep(tx, clusterId, m.node_id, await withSecrets(configs.held.yaml))
      await kept.rebase(tx, clusterId, m.node_id, withSecrets)
      // The configuration is only stored; it is sent with the next patch.
      await parts.configurations.renderAgain(tx, clusterId, m.node_id)
    }
    // Makes the reconciler rewrite the escrow file with the new secrets.
    const after = await store.update(tx, clusterId, {
      escrowed_at: null,
      locked_out: null,
      locked_out_since: null,
      updated_at: new Date(clock.now()),
    })
    await parts.record(tx, caller, {
      action: 'cluster.secrets_imported',
      target: { kind: 'cluster', id: clusterId, name: row.name },
      after: { from: field, servers: found.size },
      event: { name: 'cluster.updated', version: after.version },
    })
    await parts.engine.wake(tx, clusterQueue, clusterId)
    await parts.engine.wake(tx, certificateQueue, clusterId)
    await parts.engine.wake(tx, sweepQueue, clusterId)
    return shownOne(parts, tx, clusterId)
  })
  secrets.drop(clusterId)
  return cluster
}
