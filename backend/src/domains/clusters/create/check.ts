/**
 * Validates the request for a new cluster. Pure, so that preview, creation and tests give the same
 * result. Returns all findings at once, and the request with defaults filled in.
 */
import { formatCidr, parseCidr } from '#contract/network/addresses.ts'
import {
  canHaveControlPlanes,
  type ClusterServer,
  controlPlaneWarning,
  endpointHost,
  type NewCluster,
} from '#contract/clusters/clusters.ts'
import { mayResizeNodes, roomProblem } from '#contract/clusters/network-rules.ts'
import { arrayOn, defaultInstallDisk as defaultOf } from '#contract/disks/choice.ts'
import { isSameDisk } from '#contract/disks/disks.ts'
import { type ChosenDisks, notConfirmed } from '#contract/disks/wipe.ts'
import { checksForNow } from '#contract/servers/servers.ts'
import { sharedRackWarnings } from '#contract/racks/spread.ts'
import { nameSentences } from '#contract/names.ts'
import { counted } from '#contract/words.ts'
import { failedInstallsSaid, type ServerFacts } from '../../servers/api.ts'
import { listed } from '../../../sentences.ts'
import type { Surroundings, Finding, Find } from './judged.ts'
import type { Resolved, ChosenServer } from '../blueprint.ts'
import { endpointUrl, judgeEndpoint } from './check-endpoint.ts'
import { judgeFamilies, judgeNetworks, networkWarnings } from './check-networks.ts'

/** `v1.13.9`: Talos's notation. */
const talosTag = (version: string): string => (version.startsWith('v') ? version : `v${version}`)
/** `1.36.3`: this project's notation of Kubernetes versions. */
const kubernetesVersion = (version: string): string => version.replace(/^v/, '')

const minorOf = (version: string): string => version.split('.').slice(0, 2).join('.')

/**
 * The install disk of a server: the disk on which Talos is installed, or else the contract's
 * default.
 */
export const defaultInstallDisk = (
  c: Pick<ServerFacts, 'system_disk' | 'disks'>,
  taken: readonly string[],
): string | null => c.system_disk ?? defaultOf(c.disks, taken)?.device ?? null

/**
 * Returns `findings` (results of checks), `warnings` (allowed but unwise), `warningsOf` (warnings
 * by server id) and `resolved` (the request with defaults; null without a datacenter, server, disk
 * or control plane).
 */
export function judge(asked: NewCluster, around: Surroundings) {
  const findings: Finding[] = []
  const warnings: string[] = []
  const warningsOf = new Map<string, string[]>()
  const find: Find = (check, problem, good, more = {}) =>
    findings.push(
      problem === null
        ? { check, ok: true, message: good }
        : { check, ok: false, message: problem, ...more },
    )

  find('name', around.nameTaken ? nameSentences('Cluster').taken : null, 'The name is free', {
    field: 'name',
    conflict: 'name_taken',
  })
  if (!around.datacenter)
    find('datacenter', 'There is no such datacenter', '', { field: 'datacenter_id' })

  const talos = talosTag(asked.talos_version ?? pairFor(asked, around).talos)
  const kubernetes = kubernetesVersion(
    asked.kubernetes_version ?? pairFor({ ...asked, talos_version: talos }, around).kubernetes,
  )
  const isTalosKnown = around.versions.pairs().some((p) => minorOf(p.talos) === minorOf(talos))
  find(
    'versions',
    around.versions.problem(talos, kubernetes) ?? null,
    `Talos ${talos} runs Kubernetes ${kubernetes}`,
    {
      field: isTalosKnown ? 'kubernetes_version' : 'talos_version',
    },
  )
  warnings.push(...around.versions.warnings(talos, kubernetes))

  const controlPlanes = asked.servers.filter((s) => s.role === 'control_plane')
  const count = canHaveControlPlanes(controlPlanes.length)
  find(
    'control_planes',
    count.ok ? null : count.reason,
    counted(controlPlanes.length, 'control plane'),
    { field: 'servers' },
  )
  const alone = controlPlaneWarning(controlPlanes.length)
  if (alone !== null) warnings.push(alone)

  const servers = judgeServers(asked, talos, around, findings, warningsOf)
  warnings.push(
    ...sharedRackWarnings(
      servers.filter((s) => s.role === 'control_plane').map((s) => s.candidate),
    ),
  )
  for (const sentence of notConfirmed(servers.map(toWipe), asked.confirmed_disks))
    findings.push({
      check: 'confirmed_disks',
      ok: false,
      message: sentence,
      conflict: 'disk_not_confirmed',
    })
  const pod = parseCidr(asked.pod_cidr)!
  const service = parseCidr(asked.service_cidr)!
  judgeNetworks(pod, service, around, servers, find)
  warnings.push(...networkWarnings(pod, service, servers))
  judgeFamilies(pod, service, servers, find)
  const room = roomProblem(pod, asked.servers.length)
  if (room !== null) {
    // A patch of the control planes may set another size of a node's network.
    const may = asked.servers.some(
      ({ node_id, role, patch }) =>
        role === 'control_plane' &&
        (mayResizeNodes(patch?.body ?? '') ||
          around.candidates.get(node_id)?.has_user_patch === true),
    )
    if (may) warnings.push(`${room}.`)
    else find('pod_cidr', room, '', { field: 'pod_cidr' })
  }

  const first = servers.find((s) => s.role === 'control_plane')
  const host =
    asked.endpoint === undefined ? first?.candidate.address : endpointHost(asked.endpoint)
  if (asked.endpoint === undefined && asked.virtual_ip)
    find(
      'endpoint',
      'A virtual IP needs an address: give an unused address in the network of the control planes as the endpoint',
      '',
      { field: 'endpoint' },
    )
  else if (host !== undefined)
    judgeEndpoint(host, asked, servers, around, { pod, service }, find, warnings)

  const isComplete =
    around.datacenter !== null && host !== undefined && servers.length === asked.servers.length
  const resolved: Resolved | null = isComplete
    ? {
        talos_version: talos,
        kubernetes_version: kubernetes,
        endpoint: endpointUrl(host),
        virtual_ip: asked.virtual_ip,
        vlan_id: asked.vlan_id ?? null,
        pod_cidr: formatCidr(pod),
        service_cidr: formatCidr(service),
        servers,
      }
    : null
  return { findings, warnings, warningsOf, resolved }
}

/** The disks of a server that are wiped when it joins. */
export const toWipe = ({
  name,
  candidate,
  install_disk,
  workload_disks,
}: ChosenServer): ChosenDisks => ({
  server: name,
  disks: candidate.disks,
  devices: [install_disk, ...workload_disks],
  kept: candidate.system_disk,
})

/**
 * A supported pair of Talos and Kubernetes versions that fits the requested version, also one that
 * is not offered for new clusters; the newest offered pair if none is requested.
 */
function pairFor(
  { talos_version, kubernetes_version }: Pick<NewCluster, 'talos_version' | 'kubernetes_version'>,
  { versions }: Surroundings,
) {
  const [all, offered] = [versions.pairs(), versions.pairsForNew()]
  const talos = talos_version && talosTag(talos_version)
  const kubernetes = kubernetes_version && kubernetesVersion(kubernetes_version)
  return (
    all.find((p) => talos === p.talos) ??
    all.find((p) => talos !== undefined && minorOf(p.talos) === minorOf(talos)) ??
    offered.find(
      (p) => kubernetes !== undefined && minorOf(p.kubernetes) === minorOf(kubernetes),
    ) ??
    offered[0]!
  )
}

/** Fills in the defaults of the servers. Adds findings, and warnings by server id. */
export function judgeServers(
  asked: { readonly servers: readonly ClusterServer[] },
  talos: string,
  around: Pick<Surroundings, 'candidates' | 'datacenter' | 'eligibility'>,
  findings: Finding[],
  warningsOf: Map<string, string[]>,
): ChosenServer[] {
  const chosen: ChosenServer[] = []
  const refused = (at: number, message: string, more: Partial<Finding> = {}) =>
    findings.push({ check: 'servers', ok: false, message, field: `servers.${at}`, ...more })
  const before = findings.length
  const seen = new Set<string>()
  for (const [at, server] of asked.servers.entries()) {
    const c = around.candidates.get(server.node_id)
    if (!c || c.status === 'deleted') {
      refused(at, 'There is no such server', { field: `servers.${at}.node_id` })
      continue
    }
    if (seen.has(c.id)) {
      refused(at, `${c.name} was chosen twice`, { field: `servers.${at}.node_id` })
      continue
    }
    seen.add(c.id)
    const disk = server.install_disk ?? defaultInstallDisk(c, server.workload_disks)
    let isWithoutDisk = false
    if (c.cluster)
      refused(at, `${c.name} is already in the cluster ${c.cluster.name}`, {
        conflict: 'server_taken',
      })
    else {
      // If the requested disk doesn't exist, `diskProblem` reports that below, as an invalid
      // request.
      const known =
        server.install_disk === undefined || c.disks.some((d) => d.device === server.install_disk)
      const wanted = {
        role: server.role,
        talosVersion: talos,
        installDisk: (known ? disk : null) ?? undefined,
        interface: server.interface,
      }
      for (const e of around.eligibility(c, wanted).filter((one) => !one.ok)) {
        refused(at, `${c.name} can't join: ${e.reason}`, {
          conflict: 'not_eligible',
          check: e.check,
          ...(checksForNow.has(e.check) && { for_now: true }),
        })
        isWithoutDisk ||= e.check === 'disks' && disk === null
      }
    }
    if (around.datacenter && c.datacenter_id !== around.datacenter.id)
      refused(at, `${c.name} is not in ${around.datacenter.code}`, { conflict: 'not_eligible' })
    // If the server has no usable disk, the eligibility check has reported that already.
    const problem = isWithoutDisk ? null : diskProblem(c, disk, server.workload_disks)
    if (problem !== null) refused(at, problem.sentence, { field: `servers.${at}.${problem.field}` })
    if (disk === null) continue
    warningsOf.set(c.id, [
      ...(c.system_disk === null
        ? []
        : [`Talos is installed on ${c.system_disk} already; it is kept`]),
      ...inUseWarning(c, disk),
      ...(c.failed_installs === null ? [] : [failedInstallsSaid(c.failed_installs)]),
    ])
    chosen.push({
      node_id: c.id,
      name: c.name,
      role: server.role,
      interface: server.interface ?? c.link,
      install_disk: disk,
      workload_disks: server.workload_disks,
      candidate: c,
    })
  }
  if (findings.length === before)
    findings.push({
      check: 'servers',
      ok: true,
      message: `${counted(chosen.length, 'server')} can join`,
    })
  return chosen
}

/** A warning about an install disk that a RAID uses, which would make the installation fail. */
function inUseWarning(c: ServerFacts, device: string): string[] {
  const chosen = c.disks.find((d) => d.device === device)
  const array = chosen && c.system_disk !== device ? arrayOn(chosen) : null
  return array === null
    ? []
    : [
        `${device} is in use by the RAID ${array}, and Talos can't be installed on a disk in use. Choose another disk, or take the RAID apart first: talosctl wipe md /dev/${array} --insecure --nodes ${c.address} (since Talos 1.14)`,
      ]
}

/** Problems of the chosen disks, beyond the eligibility check of the install disk. */
function diskProblem(
  c: ServerFacts,
  disk: string | null,
  workload: readonly string[],
): { sentence: string; field: 'install_disk' | 'workload_disks' } | null {
  const problem = (field: 'install_disk' | 'workload_disks', sentence: string) => ({
    field,
    sentence,
  })
  const has = (device: string) => c.disks.some((d) => d.device === device)
  if (disk === null)
    return problem('install_disk', `${c.name} has no disk of at least 6 GiB to install Talos on`)
  if (!has(disk)) return problem('install_disk', `${c.name} has no disk ${disk}. ${disksOf(c)}`)
  if (workload.includes(disk))
    return problem(
      'install_disk',
      `${disk} of ${c.name} can't be both the install disk and a workload disk`,
    )
  if (new Set(workload).size !== workload.length)
    return problem('workload_disks', `A workload disk of ${c.name} is named twice`)
  const roles = [disk, ...workload].flatMap(
    (device) => c.disks.find((d) => d.device === device) ?? [],
  )
  for (const [at, one] of roles.entries()) {
    const twin = roles.slice(0, at).find((other) => isSameDisk(other, one))
    if (twin !== undefined)
      return problem(
        'workload_disks',
        `${twin.device} and ${one.device} of ${c.name} are two paths to one disk (${one.wwid ? `WWID ${one.wwid}` : `serial ${one.serial}`}): choose one of them`,
      )
  }
  const missing = workload.find((w) => !has(w))
  return missing === undefined
    ? null
    : problem('workload_disks', `${c.name} has no disk ${missing}. ${disksOf(c)}`)
}

const mostDisksNamed = 24
function disksOf({ disks }: ServerFacts): string {
  const names = disks.map((d) => d.device.replace(/^\/dev\//, ''))
  return names.length === 0 ? 'It reported no disks' : `It has ${listed(names, mostDisksNamed)}`
}
