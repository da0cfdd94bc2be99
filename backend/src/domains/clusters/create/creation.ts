/** Creates a cluster in one transaction, or previews it without writing. */
import { randomUUID } from 'node:crypto'
import { type Cluster, type clusterPreview, endpointHost, type NewCluster } from '#contract/clusters/clusters.ts'
import { type ErrorCode, Problem } from '#contract/errors.ts'
import { nameSentences } from '#contract/names.ts'
import type { Answer } from '#contract/operation.ts'
import type { Operation } from '#contract/operations.ts'
import { generateKey } from '#talos/pki/keys.ts'
import { generateSecrets, type SecretsBundle } from '#talos/secrets/bundle.ts'
import { type Db, inTransaction, type Tx, violatedConstraint } from '../../../db/db.ts'
import type { Caller } from '../../../http/caller.ts'
import { makeChainKey } from './chain-key.ts'
import { type Finding, judge, type Resolved, type Surroundings } from './check.ts'
import { agreedOf, selectorWwid, wwidsOf } from './disks.ts'
import { clusterQueue, type ClusterParts, memberKey, memberQueue } from '../parts.ts'
import { creationSteps } from '../plan.ts'
import { present } from '../present.ts'
import { installImage, type Rendering } from '../render.ts'
import type { ClusterSecrets } from '../secrets.ts'
import * as store from '../store.ts'

export interface Creation {
  create(caller: Caller, asked: NewCluster): Promise<{ cluster: Cluster; operation: Operation }>
  preview(asked: NewCluster): Promise<Answer<typeof clusterPreview>>
}

export function creation(parts: ClusterParts, secrets: ClusterSecrets, rendering: Rendering): Creation {
  const { db, clock, servers, patches, operations, record, engine } = parts
  /** Secrets for previews, which show none. Made once, because generating the keys takes a second. */
  let anyBundle: Promise<SecretsBundle> | undefined
  const previewBundle = () =>
    (anyBundle ??= generateKey('p256').then((key) => generateSecrets({ now: new Date(clock.now()), keys: { k8sServiceAccount: key } })))

  const surroundings = async (on: Db | Tx, asked: NewCluster): Promise<Surroundings> => {
    const datacenter = await parts.datacenters.find(on, asked.datacenter_id)
    if (!datacenter) throw new Problem('not_found', 'There is no such datacenter')
    const candidates = await servers.forPlan(on, [...new Set(asked.servers.map((s) => s.node_id))])
    const addresses = await servers.addressesIn(on, asked.datacenter_id)
    const others = await store.endpoints(on, asked.datacenter_id)
    return {
      datacenter,
      candidates: new Map(candidates.map((c) => [c.id, c])),
      nameTaken: await store.isNameTaken(on, asked.name),
      subnets: await parts.subnets.inDatacenter(on, asked.datacenter_id),
      used: [
        ...addresses.map((a) => ({ address: a.address, by: `server ${a.name}`, node_id: a.node_id })),
        ...candidates.flatMap((c) => c.addresses.map((address) => ({ address, by: `server ${c.name}`, node_id: c.id }))),
        ...others.filter((o) => o.virtual_ip).map((o) => ({ address: endpointHost(o.endpoint), by: `cluster ${o.name}` })),
      ],
      pairs: parts.versions.pairs(),
      versionProblem: parts.versions.problem,
      versionWarnings: parts.versions.warnings,
      eligibility: (candidate, wanted) =>
        servers.eligibilityFor(
          candidates.find((c) => c.id === candidate.id)!,
          wanted,
        ),
    }
  }

  /** Findings of inline patches. */
  const patchFindings = async (asked: NewCluster): Promise<Finding[]> => {
    const found = await Promise.all(asked.servers.map(async ({ patch }) => (patch === undefined ? [] : patches.check(patch.body))))
    return found.flatMap((all, i) => all.map((message) => ({ check: 'patches', ok: false, message, field: `servers.${i}.patch.body` })))
  }

  const write = async (tx: Tx, caller: Caller, asked: NewCluster): Promise<{ cluster: Cluster; operation: Operation }> => {
    // Serialises with the creation of subnets, so that overlaps are found.
    await parts.subnets.lockNetworks(tx)
    // Locked, so that a concurrent rename, move or removal is taken into account.
    await servers.lockAll(
      tx,
      asked.servers.map((s) => s.node_id),
    )
    const judgement = judge(asked, await surroundings(tx, asked))
    refuse([...judgement.findings, ...(await patchFindings(asked))])
    const resolved = judgement.resolved!
    const now = new Date(clock.now())
    const id = randomUUID()
    const key = makeChainKey()
    const { servers: chosen, ...columns } = resolved
    await store.insert(tx, {
      id,
      name: asked.name,
      datacenter_id: asked.datacenter_id,
      ...columns,
      chain_address: key.address,
      created_at: now,
      updated_at: now,
      reason: 'Making certificates and keys',
    })
    await secrets.sealChainKey(tx, id, key.privateKey)
    key.privateKey.fill(0)
    const operation = await operations.create(tx, caller, {
      kind: 'clusterCreate',
      target: { id, name: asked.name },
      steps: creationSteps(chosen),
      queue: clusterQueue,
      audit: null,
    })
    await store.update(tx, id, { operation_id: operation.id })
    await servers.reserve(tx, caller, {
      cluster: { id, name: asked.name, talosVersion: resolved.talos_version },
      operationId: operation.id,
      servers: chosen.map((s) => ({
        node_id: s.node_id,
        role: s.role,
        installDisk: s.install_disk,
        interface: asked.servers.find((a) => a.node_id === s.node_id)?.interface,
      })),
    })
    await store.insertMembers(
      tx,
      chosen.map((s, position) => ({
        cluster_id: id,
        node_id: s.node_id,
        role: s.role,
        position,
        name: s.name,
        interface: s.interface,
        install_disk: s.install_disk,
        install_image: installImage(s.candidate, resolved.talos_version, parts.config),
        workload_disks: [...s.workload_disks],
        install_wwid: selectorWwid(s.candidate.disks, s.install_disk),
        disk_wwids: JSON.stringify(wwidsOf(s.candidate.disks, [s.install_disk, ...s.workload_disks])),
        agreed_disks: JSON.stringify(agreedOf(s.candidate.disks, [s.install_disk, ...s.workload_disks])),
        at_since: now,
      })),
    )
    for (const { node_id, patch } of asked.servers) if (patch) await patches.createIn(tx, caller, node_id, patch)
    const cluster = present((await store.find(tx, id))!, clock.now())
    await record(tx, caller, {
      action: 'cluster.created',
      target: { kind: 'cluster', id, name: asked.name },
      after: cluster,
      event: { name: 'cluster.created', version: cluster.version },
    })
    for (const s of chosen) await engine.wake(tx, memberQueue, memberKey(id, s.node_id))
    return { cluster, operation }
  }

  const configOf = async (resolved: Resolved, asked: NewCluster, index: number) => {
    const server = resolved.servers[index]!
    const patch = asked.servers.find((s) => s.node_id === server.node_id)?.patch
    try {
      const rendered = await rendering.preview(db, asked.name, resolved, server, await previewBundle(), patch)
      return { config: await patches.mask(rendered.yaml), warnings: rendered.warnings }
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      return { config: '', warnings: [error.message] }
    }
  }

  return {
    async create(caller, asked) {
      try {
        return await inTransaction(db, (tx) => write(tx, caller, asked))
      } catch (error) {
        // Two concurrent creations may both pass the checks. The database decides.
        const constraint = violatedConstraint(error)
        if (constraint === 'cluster_name') throw new Problem('name_taken', nameSentences('Cluster').taken, { name: nameSentences('Cluster').taken })
        if (constraint === 'cluster_server_taken') throw new Problem('server_taken', 'Another cluster has taken one of the servers a moment ago')
        throw error
      }
    },

    async preview(asked) {
      const { findings, warnings, warningsOf, resolved } = judge(asked, await surroundings(db, asked))
      const shown: NonNullable<Answer<typeof clusterPreview>>['servers'] = []
      for (const [i, server] of (resolved?.servers ?? []).entries()) {
        const { config, warnings: ofConfig } = await configOf(resolved!, asked, i)
        shown.push({ node_id: server.node_id, name: server.name, config, warnings: [...(warningsOf.get(server.node_id) ?? []), ...ofConfig] })
      }
      const all = [...findings, ...(await patchFindings(asked))].map(({ check, ok, message }) => ({ check, ok, message }))
      return {
        servers: shown,
        checks: [...all, ...warnings.map((message) => ({ check: 'warning', ok: true, message }))],
        steps: resolved ? creationSteps(resolved.servers) : [],
      }
    },
  }
}

/** Broken rules are a 422 with every field. Conflicts with the current state are a 409 with the first sentence. */
function refuse(findings: readonly Finding[]): void {
  const bad = findings.filter((f) => !f.ok)
  if (bad.length === 0) return
  const first = bad.find((f) => f.conflict === undefined) ?? bad[0]!
  const fields = Object.fromEntries(bad.filter((f) => f.field !== undefined).map((f) => [f.field!, f.message]))
  throw new Problem((first.conflict ?? 'invalid') satisfies ErrorCode, first.message, fields)
}
