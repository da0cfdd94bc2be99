/** Creates a cluster in one transaction, or previews it without writing. */
import { randomUUID } from 'node:crypto'
import {
  type Cluster,
  type clusterPreview,
  endpointHost,
  type NewCluster,
} from '#contract/clusters/clusters.ts'
import { type ErrorCode, Problem } from '#contract/errors.ts'
import { nameSentences } from '#contract/names.ts'
import { canLose } from '#contract/servers/losses.ts'
import type { Answer } from '#contract/operation.ts'
import type { Operation } from '#contract/operations.ts'
import { minorText } from '#talos/versions.ts'
import { type Db, inTransaction, type Tx, violatedConstraint } from '../../../db/db.ts'
import type { Caller } from '../../../http/caller.ts'
import { makeChainKey } from './chain-key.ts'
import { judge } from './check.ts'
import { clustersSharing } from './check-endpoint.ts'
import { decidedBy, judgedConfig, judgePatches, patchFindings } from './configurations.ts'
import {
  demandSameImages,
  imagesOf,
  noImages,
  type ServerImages,
  wantedImage,
  withImages,
} from './image.ts'
import { judgeSettings } from './first-settings.ts'
import type { Finding, Surroundings } from './judged.ts'
import { agreedOf, diskColumns } from '../disks.ts'
import { type Reached, reachedAfter } from './losses.ts'
import { clusterQueue, type ClusterParts, memberKey, memberQueue } from '../parts.ts'
import { creationSteps } from '../plan.ts'
import { present } from '../present.ts'
import { imageOfChosen, type Resolved } from '../blueprint.ts'
import * as store from '../store.ts'
import { demandNoLoss } from '../../../http/errors.ts'

async function surroundings(
  parts: ClusterParts,
  on: Db | Tx,
  asked: NewCluster,
): Promise<Surroundings> {
  const { servers } = parts
  const datacenter = await parts.datacenters.find(on, asked.datacenter_id)
  if (!datacenter) throw new Problem('not_found', 'There is no such datacenter')
  const candidates = await servers.forPlan(on, [...new Set(asked.servers.map((s) => s.node_id))])
  const addresses = await servers.addressesIn(on, asked.datacenter_id)
  const others = await store.virtualAddresses(on, asked.datacenter_id)
  const host = asked.endpoint === undefined ? undefined : endpointHost(asked.endpoint)
  const virtual = asked.virtual_ip ? host : undefined
  const subnet =
    virtual === undefined ? null : await parts.subnets.assigning(on, asked.datacenter_id, virtual)
  return {
    datacenter,
    candidates: new Map(candidates.map((c) => [c.id, c])),
    nameTaken: await store.isNameTaken(on, asked.name),
    subnets: await parts.subnets.inDatacenter(on, asked.datacenter_id),
    used: [
      ...addresses.map((a) => ({ address: a.address, by: `server ${a.name}`, node_id: a.node_id })),
      ...candidates.flatMap((c) =>
        c.addresses.map((address) => ({ address, by: `server ${c.name}`, node_id: c.id })),
      ),
      ...others.map(({ address, name }) => ({ address, by: `cluster ${name}` })),
      ...(subnet === null ? [] : [{ address: virtual!, by: `the workload subnet ${subnet}` }]),
    ],
    sharing:
      host === undefined
        ? []
        : await clustersSharing(on, host, { datacenterId: asked.datacenter_id }),
    versions: parts.versions,
    eligibility: (candidate, wanted) => servers.eligibilityFor(candidate, wanted),
  }
}

async function write(
  parts: ClusterParts,
  tx: Tx,
  caller: Caller,
  asked: NewCluster,
  images: ServerImages,
): Promise<{ cluster: Cluster; operation: Operation }> {
  const { clock, servers, operations, secrets } = parts
  // This lock serialises the creation of clusters with the creation of subnets, so that overlaps
  // are found.
  await parts.subnets.lockNetworks(tx)
  // The servers' rows are locked, so that a concurrent rename, move or removal is taken into
  // account.
  await servers.lockAll(
    tx,
    asked.servers.map((s) => s.node_id),
  )
  const judgement = judge(asked, await surroundings(parts, tx, asked))
  refuse(judgement.findings)
  const resolved = judgement.resolved!
  const now = new Date(clock.now())
  const id = randomUUID()
  const key = await makeChainKey()
  const { servers: judged, ...columns } = resolved
  demandSameImages(judged, images)
  const chosen = withImages(judged, images)
  const { labels = {}, maintenance_window: window = null } = asked
  const image = wantedImage(asked)
  await store.insert(tx, {
    id,
    name: asked.name,
    datacenter_id: asked.datacenter_id,
    ...columns,
    contract: minorText(columns.talos_version),
    chain_address: key.address,
    labels: JSON.stringify(labels),
    maintenance_window: window && JSON.stringify(window),
    wanted_image: image && JSON.stringify(image),
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
      ...diskColumns(s.candidate.disks, s.install_disk, s.workload_disks),
      install_image: imageOfChosen(s, resolved.talos_version, parts.config),
      agreed_disks: JSON.stringify(
        agreedOf(s.candidate.disks, [s.install_disk, ...s.workload_disks]),
      ),
      at_since: now,
    })),
  )
  for (const { node_id, patch } of asked.servers)
    if (patch) await parts.patches.createIn(tx, caller, node_id, patch)
  if (asked.snapshots)
    await parts.snapshots.firstSchedule(tx, caller, { id, name: asked.name }, asked.snapshots)
  if (asked.subnet_ids?.length) await parts.pools.reserve(tx, caller, id, asked.subnet_ids)
  const subnets = (await parts.subnets.namesByCluster(tx, [id])).get(id)
  const cluster = present((await store.find(tx, id))!, {
    ...(subnets && { subnets }),
    offer: await parts.offers.lookFor(tx, id),
  })
  await parts.record(tx, caller, {
    action: 'cluster.created',
    target: { kind: 'cluster', id, name: asked.name },
    after: cluster,
    event: { name: 'cluster.created', version: cluster.version },
  })
  for (const s of chosen) await parts.engine.wake(tx, memberQueue, memberKey(id, s.node_id))
  return { cluster, operation }
}

/**
 * Refuses patches that can't work. Done before the transaction, whose locks others wait for.
 * @throws Problem `invalid` with the fields
 */
async function demandPatches(parts: ClusterParts, asked: NewCluster): Promise<void> {
  const { resolved } = judge(asked, await surroundings(parts, parts.db, asked))
  const { servers, name } = asked
  refuse(
    resolved === null
      ? await patchFindings(parts, servers)
      : (await judgePatches(parts, parts.db, { name, resolved, servers })).findings,
  )
}

const reached = (
  parts: ClusterParts,
  asked: NewCluster,
  resolved: Resolved | null,
): Promise<Reached> =>
  reachedAfter(parts, {
    name: asked.name,
    settings: resolved,
    chosen: resolved?.servers ?? [],
    patchOf: (nodeId) => asked.servers.find((s) => s.node_id === nodeId)?.patch,
  })

export async function createCluster(
  parts: ClusterParts,
  caller: Caller,
  asked: NewCluster,
): Promise<{ cluster: Cluster; operation: Operation }> {
  await demandPatches(parts, asked)
  const { resolved } = judge(asked, await surroundings(parts, parts.db, asked))
  const { losses } = await reached(parts, asked, resolved)
  demandNoLoss(losses, asked.confirmed_loss)
  const images =
    resolved === null
      ? noImages
      : await imagesOf(
          parts.installers,
          wantedImage(asked),
          resolved.talos_version,
          resolved.servers,
        )
  // The factory builds an image only of a schematic that it knows. One that is never used harms
  // nothing.
  for (const schematic of images.unknown) await parts.installers.register(schematic)
  try {
    return await inTransaction(parts.db, (tx) => write(parts, tx, caller, asked, images))
  } catch (error) {
    throw await parts.pools.takenProblem(takenProblem(error), asked.subnet_ids ?? [])
  }
}

/**
 * Converts the constraint violation of two concurrent calls that have both passed the checks to a
 * Problem. Returns other errors unchanged.
 */
export function takenProblem(error: unknown): unknown {
  const constraint = violatedConstraint(error)
  const { taken } = nameSentences('Cluster')
  if (constraint === 'cluster_name') return new Problem('name_taken', taken, { name: taken })
  if (constraint === 'cluster_server_taken')
    return new Problem('server_taken', 'Another cluster has just reserved one of the servers')
  return error
}

/**
 * Returns the results of the checks, and the configuration that each server would get. Writes
 * nothing.
 */
export async function previewCluster(
  parts: ClusterParts,
  asked: NewCluster,
): Promise<Answer<typeof clusterPreview>> {
  const judged = judge(asked, await surroundings(parts, parts.db, asked))
  const { findings, warnings, warningsOf } = judged
  const settings = await judgeSettings(parts, asked, judged.resolved)
  findings.push(...settings.findings)
  const { resolved } = settings
  const { losses, sentences } = await reached(parts, asked, resolved)
  const lost = canLose(losses, asked.confirmed_loss)
  const servers: NonNullable<Answer<typeof clusterPreview>>['servers'] = []
  const wrong = await patchFindings(parts, asked.servers)
  const whole = resolved && { name: asked.name, resolved, servers: asked.servers }
  const controlPlane = whole ? await decidedBy(parts, parts.db, whole) : undefined
  for (const server of resolved?.servers ?? []) {
    const configuration = await judgedConfig(parts, parts.db, whole!, server, controlPlane)
    // The problems of a patch's body are found by both.
    if (wrong.length === 0) findings.push(...configuration.findings)
    servers.push({
      node_id: server.node_id,
      name: server.name,
      config: configuration.yaml === '' ? '' : await parts.configurations.mask(configuration.yaml),
      warnings: [
        ...(warningsOf.get(server.node_id) ?? []),
        ...(sentences.has(server.node_id) ? [sentences.get(server.node_id)!] : []),
        ...configuration.warnings,
      ],
    })
  }
  const all = [...findings, ...wrong].map(({ check, ok, message }) => ({ check, ok, message }))
  if (!lost.ok) all.push({ check: 'confirmed_loss', ok: false, message: lost.reason })
  return {
    servers,
    losses: [...losses],
    checks: [...all, ...warnings.map((message) => ({ check: 'warning', ok: true, message }))],
    steps: resolved ? [...creationSteps(resolved.servers), ...settings.steps] : [],
  }
}

/**
 * Violated rules give a 422 with every field. Conflicts with the current state give a 409 with the
 * first message.
 */
function refuse(findings: readonly Finding[]): void {
  const bad = findings.filter((f) => !f.ok)
  if (bad.length === 0) return
  const first = bad.find((f) => f.conflict === undefined) ?? bad[0]!
  const fields = Object.fromEntries(
    bad.filter((f) => f.field !== undefined).map((f) => [f.field!, f.message]),
  )
  throw new Problem((first.conflict ?? 'invalid') satisfies ErrorCode, first.message, fields)
}
