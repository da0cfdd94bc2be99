/**
 * Takes over a cluster made with other tools: a preview first, then one transaction. Nothing is
 * sent to its machines.
 */
import { randomUUID } from 'node:crypto'
import * as z from 'zod/mini'
import {
  canHaveControlPlanes,
  type Cluster,
  defaultPodCidr,
  defaultServiceCidr,
} from '#contract/clusters/clusters.ts'
import { overlap, parseCidr } from '#contract/network/addresses.ts'
import { Problem } from '#contract/errors.ts'
import { nameOf, nameSentences } from '#contract/names.ts'
import type { Input } from '#contract/operation.ts'
import type { Operation } from '#contract/operations.ts'
import type { clusterImport, clusterImportPreview, Takeover } from '#contract/clusters/takeover.ts'
import { counted } from '#contract/words.ts'
import { supportedMinor } from '#talos/versions.ts'
import { inTransaction, type Tx } from '../../../db/db.ts'
import type { Caller } from '../../../http/caller.ts'
import type { For } from '../../../reading/asker.ts'
import { sweepQueue } from '../../configurations/api.ts'
import type { ServerFacts } from '../../servers/api.ts'
import { certificateQueue, healthQueue } from '../parts.ts'
import { makeChainKey } from '../create/chain-key.ts'
import { takenProblem } from '../create/creation.ts'
import { diskColumns } from '../disks.ts'
import { lowest, versionOf } from '../outside.ts'
import { clusterQueue, type ClusterParts } from '../parts.ts'
import { present } from '../present.ts'
import { installImage } from '../blueprint.ts'
import * as store from '../store.ts'
import { formProblem, takenForm } from './forms.ts'
import { knownOf, leftoverProblem, unnamedWarning } from './known.ts'
import { addedSentence, choose, demandConfirmed, describeExisting } from './keeping.ts'
import { readProof } from './proof.ts'
import { type Survey, survey, type SurveyedMachine } from './survey.ts'
import { unusableValues } from './unusable.ts'

type Asked = Input<typeof clusterImportPreview>['body']
type Confirmed = Input<typeof clusterImport>['body']

interface Looked {
  readonly survey: Survey
  readonly takeover: Takeover
}

const isName = (name: string): boolean => z.safeParse(nameOf('Cluster'), name).success

/**
 * Pods can't reach subnets that overlap the cluster's own networks. A running cluster can't change
 * its networks, so an overlap only gives a warning.
 */
const shadowedSubnets = (
  { podCidr, serviceCidr }: Survey,
  subnets: readonly { name: string; cidr: string }[],
): string[] =>
  [
    { what: 'pod', cidr: podCidr || defaultPodCidr },
    { what: 'service', cidr: serviceCidr || defaultServiceCidr },
  ].flatMap(({ what, cidr }) => {
    const network = parseCidr(cidr)
    const shadowed = network
      ? subnets.filter((subnet) => overlap(parseCidr(subnet.cidr)!, network))
      : []
    return shadowed.map(
      ({ name, cidr: own }) =>
        `The ${what} network ${cidr} overlaps with subnet ${name} (${own}): pods can't reach servers in that subnet`,
    )
  })

/** Why a machine can't be taken over, or null. */
function problemOf(
  m: SurveyedMachine,
  machines: readonly SurveyedMachine[],
  facts: readonly ServerFacts[],
  datacenterId: string,
): string | null {
  if (m.told === null) return m.problem
  const leftover = leftoverProblem(m, machines)
  if (leftover !== null) return leftover
  const known = knownOf(m, facts)
  const namesake = facts.find((f) => f.name === m.name && f.id !== known?.id)
  if (known?.cluster)
    return `It is in the cluster ${known.cluster.name} already${known.name === m.name ? '' : `, as ${known.name}`}`
  if (known?.operation_id) return `An operation on ${known.name} has not ended`
  if (known && known.datacenter_id !== null && known.datacenter_id !== datacenterId)
    return `It is ${known.name}, which is in another datacenter`
  if (namesake) return `Another server is called ${m.name}: rename it first`
  if (m.told.reading.status.systemDisk === undefined)
    return 'It does not report which disk Talos is installed on'
  const { version } = m.told.reading.status
  return supportedMinor(version) === undefined
    ? `It runs Talos ${version}, which Steelyard does not support`
    : formProblem(m.told)
}

async function look(parts: ClusterParts, who: For, asked: Asked): Promise<Looked> {
  const { db } = parts
  if (!(await parts.datacenters.find(db, asked.datacenter_id)))
    throw new Problem('not_found', 'There is no such datacenter')
  const proof = await readProof(parts.read, who, asked, new Date(parts.clock.now()))
  const found = await survey(parts, proof, asked.addresses)
  const { machines } = found
  const facts = await parts.servers.among(db, {
    uuids: machines.flatMap((m) => m.told?.identity.uuid ?? []),
    names: machines.map((m) => m.name),
  })
  const name = asked.name ?? found.clusterName
  const controlPlanes = machines.filter((m) => m.told?.role === 'control_plane')
  const told = machines.flatMap((m) => m.told ?? [])
  const nameProblem = (await store.isNameTaken(db, name))
    ? nameSentences('Cluster').taken
    : isName(name)
      ? null
      : `The cluster's own name "${name.slice(0, 60)}" is not a valid name here: enter another name`
  const odd = canHaveControlPlanes(controlPlanes.length)
  const warnings = [
    ...(odd.ok ? [] : [odd.reason]),
    ...shadowedSubnets(found, await parts.subnets.inDatacenter(db, asked.datacenter_id)),
    ...unnamedWarning(machines),
    ...(await unusableValues(parts, machines)),
  ]
  const silent = machines.filter((m) => m.told === null)
  const checks: Takeover['checks'] = [
    {
      check: 'name',
      ok: nameProblem === null,
      message: nameProblem ?? `The cluster is called ${name} in Steelyard`,
    },
    { check: 'secrets', ok: true, message: 'The secrets are the same as on its control plane' },
    {
      check: 'machines',
      ok: silent.length === 0,
      message:
        silent.length === 0
          ? `${counted(machines.length, 'machine')} answered`
          : silent.length === 1
            ? '1 machine did not answer: bring it back, or take it out of the cluster first'
            : `${silent.length} machines did not answer: bring them back, or take them out of the cluster first`,
    },
    ...warnings.map((message) => ({ check: 'warning', ok: true, message })),
    { check: 'adds', ok: true, message: addedSentence(found.existing) },
  ]
  const takeover: Takeover = {
    name,
    endpoint: found.endpoint,
    virtual_ip: found.virtualIp,
    talos_version: lowest(told.map((t) => t.reading.status.version)) ?? '',
    kubernetes_version: lowest(told.flatMap((t) => versionOf(t.images.kubelet) ?? [])) ?? '',
    pod_cidr: found.podCidr || defaultPodCidr,
    service_cidr: found.serviceCidr || defaultServiceCidr,
    servers: machines.map((m) => {
      const known = knownOf(m, facts)
      return {
        name: m.name,
        address: m.address,
        role: m.told?.role ?? null,
        uuid: m.told?.identity.uuid ?? null,
        serial: m.told?.identity.serial ?? null,
        product: m.told
          ? [m.told.identity.manufacturer, m.told.identity.product].filter(Boolean).join(' ') ||
            null
          : null,
        talos_version: m.told?.reading.status.version ?? null,
        known: known ? { id: known.id, name: known.name } : null,
        problem: problemOf(m, machines, facts, asked.datacenter_id),
      }
    }),
    checks,
    existing: await describeExisting(db, found),
    seen: found.seen,
  }
  return { survey: found, takeover }
}

function refuse(takeover: Takeover): void {
  const named = takeover.servers.find((s) => s.problem !== null)
  if (named)
    throw new Problem(
      named.uuid === null ? 'server_unreachable' : 'not_eligible',
      `${named.name}: ${named.problem}`,
    )
  const failed = takeover.checks.find((c) => !c.ok)
  if (failed)
    throw new Problem(
      failed.check === 'name' ? 'name_taken' : 'not_eligible',
      failed.message,
      failed.check === 'name' ? { name: failed.message } : undefined,
    )
  if (takeover.kubernetes_version === '')
    throw new Problem(
      'not_eligible',
      'Its configuration does not contain the version of Kubernetes',
    )
}

async function write(
  parts: ClusterParts,
  tx: Tx,
  caller: Caller,
  asked: Asked & Pick<Confirmed, 'replace'>,
  { survey: found, takeover }: Looked,
) {
  const { clock, operations, secrets, engine } = parts
  await parts.subnets.lockNetworks(tx)
  const now = new Date(clock.now())
  const id = randomUUID()
  const {
    name,
    servers: _servers,
    checks: _checks,
    existing: _existing,
    seen: _seen,
    ...choices
  } = takeover
  const cluster = { id, name }
  const form = takenForm(
    found.machines.flatMap((m) => m.told ?? []),
    choices.talos_version,
  )
  const { kept, replaces } = choose(found.existing, asked.replace)
  // A cluster whose key is kept gets no other.
  const key = kept.some((one) => one.object === 'cluster_key') ? null : await makeChainKey()
  const operation = await operations.done(tx, caller, 'clusterImport', cluster)
  await store.insert(tx, {
    ...cluster,
    datacenter_id: asked.datacenter_id,
    ...choices,
    ...form,
    vlan_id: null,
    chain_address: key?.address ?? null,
    kept: JSON.stringify(kept),
    replaces: JSON.stringify(replaces),
    key_applied_at: key === null ? now : null,
    status: 'ready',
    control_plane_at: now,
    nodes_ready_at: now,
    ready_at: now,
    taken_over_at: now,
    created_at: now,
    updated_at: now,
  })
  if (key !== null) {
    await secrets.sealChainKey(tx, id, key.privateKey)
    key.privateKey.fill(0)
  }
  await secrets.sealBundle(tx, id, found.bundle)
  for (const [position, machine] of found.machines.entries())
    await take(parts, tx, caller, { cluster, asked, machine, position, now })
  const first = found.machines.find((m) => m.told?.role === 'control_plane')!
  const chosen = (await store.members(tx, id)).find((m) => m.name === first.name)
  await store.chooseBootstrap(tx, {
    cluster_id: id,
    node_id: chosen!.node_id,
    node_uuid: first.told!.identity.uuid,
    intent_at: now,
  })
  await store.confirmBootstrap(tx, id, now)
  const shown = present((await store.find(tx, id))!, {
    offer: await parts.offers.lookFor(tx, id),
  })
  await parts.record(tx, caller, {
    action: 'cluster.imported',
    target: { kind: 'cluster', id, name: takeover.name },
    after: shown,
    event: { name: 'cluster.created', version: shown.version },
  })
  await engine.wake(tx, clusterQueue, id)
  await engine.wake(tx, sweepQueue, id)
  await engine.wake(tx, certificateQueue, id)
  await engine.wake(tx, healthQueue, id)
  return { cluster: shown, operation }
}

async function take(
  parts: ClusterParts,
  tx: Tx,
  caller: Caller,
  {
    cluster,
    asked,
    machine,
    position,
    now,
  }: {
    cluster: { id: string; name: string }
    asked: Asked
    machine: SurveyedMachine
    position: number
    now: Date
  },
): Promise<void> {
  const { servers } = parts
  const { role, identity, reading, config, images, form } = machine.told!
  const { name } = machine
  const nodeId = await servers.takeOver(tx, caller, {
    cluster,
    datacenterId: asked.datacenter_id,
    name,
    address: machine.address!,
    role,
    identity,
    reading,
  })
  const [facts] = await servers.forPlan(tx, [nodeId])
  const disk = reading.status.systemDisk!
  await store.insertMembers(tx, [
    {
      cluster_id: cluster.id,
      node_id: nodeId,
      role,
      position,
      name,
      interface: null,
      ...diskColumns(facts!.disks, disk),
      install_image: images.install ?? installImage(facts!, reading.status.version, parts.config),
      at: 'join',
      at_since: now,
      stage: reading.status.stage,
      seen_at: now,
      send_intent_at: now,
      sent_at: now,
      left_at: now,
      is_moved: form.inDocuments,
      was_installed: true,
      secured_at: now,
      etcd_at: role === 'control_plane' ? now : null,
      node_ready_at: now,
    },
  ])
  await servers.noteNodes(tx, cluster.id, [
    { node_id: nodeId, ready: machine.node.ready, reason: machine.node.reason },
  ])
  await parts.configurations.kept.adopt(tx, cluster.id, nodeId, config.stored)
}

/** What a takeover would do, and what prevents it. @throws Problem */
export const previewTakeover = async (
  parts: ClusterParts,
  who: For,
  asked: Asked,
): Promise<Takeover> => (await look(parts, who, asked)).takeover

/** Takes over the cluster. `seen`: digest of the survey that the user was shown. @throws Problem */
export async function takeOver(
  parts: ClusterParts,
  caller: Caller,
  { seen, confirm, ...asked }: Confirmed,
): Promise<{ cluster: Cluster; operation: Operation }> {
  const looked = await look(parts, { caller }, asked)
  if (looked.takeover.seen !== seen)
    throw new Problem('stale', 'The cluster has changed since you looked at it: look at it again')
  refuse(looked.takeover)
  demandConfirmed(looked.takeover, { replace: asked.replace, confirm })
  try {
    return await inTransaction(parts.db, (tx) => write(parts, tx, caller, asked, looked))
  } catch (error) {
    throw takenProblem(error)
  }
}
