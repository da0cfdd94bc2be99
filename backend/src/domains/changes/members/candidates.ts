/**
 * Servers that join a running cluster: the checks of a creation that apply, their reservation, and
 * the steps of the plan.
 */
import { contains, parseAddress, parseCidr } from '#contract/network/addresses.ts'
import { type Check, type ClusterServer, endpointHost } from '#contract/clusters/clusters.ts'
import { mayResizeNodes, roomProblem } from '#contract/clusters/network-rules.ts'
import { joiningSteps } from '#contract/clusters/steps.ts'
import { Problem } from '#contract/errors.ts'
import { firstFailed, refusalBy } from '#contract/rule.ts'
import { type ConfirmedDisk } from '#contract/disks/disks.ts'
import { notConfirmed } from '#contract/disks/wipe.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { Caller } from '../../../http/caller.ts'
import {
  agreedOf,
  type ChosenServer,
  clusterRows,
  demandSameImages,
  dialledNetwork,
  diskColumns,
  type Finding,
  imageOfChosen,
  joiningProblem,
  joiningStepsOf,
  judgePatches,
  judgeServers,
  leftTraces,
  noImages,
  reachedAfter,
  type ServerImages,
  toWipe,
  withImages,
} from '../../clusters/api.ts'
import type { ServerFacts } from '../../servers/api.ts'
import { etcdJoinProblem, isWanted } from '../../control-planes/api.ts'
import type { ChangeView, PlannedGroup } from '../frame.ts'
import { imagesOfJoining } from './images.ts'
import { checked, type Outlook } from './outlook.ts'

type Around = Pick<ChangeView, 'parts' | 'state'>

interface Judged {
  readonly findings: readonly Finding[]
  readonly warnings: readonly string[]
  readonly chosen: readonly ChosenServer[]
}

const none: ReadonlySet<string> = new Set()

/**
 * A server of this cluster that was just seen in maintenance mode. What a machine in maintenance
 * mode says changes nothing that is stored of a member (decision 023), so the stored facts still
 * say that it is silent. Here a user has named it as one that comes back.
 */
const asReturned = (server: ServerFacts): ServerFacts => ({
  ...server,
  cluster: null,
  operation_id: null,
  reachable: true,
  stage: 'maintenance',
})

/**
 * Checks that the servers can join, with the rules of a creation. `returning`: servers of this
 * cluster that have lost their configuration.
 */
async function judge(
  { parts, state: { row } }: Around,
  on: Db | Tx,
  asked: readonly ClusterServer[],
  returning: ReadonlySet<string> = none,
): Promise<Judged> {
  const { servers, datacenters } = parts
  const findings: Finding[] = []
  const warningsOf = new Map<string, string[]>()
  const candidates = await servers.forPlan(on, [...new Set(asked.map((s) => s.node_id))])
  const around = {
    candidates: new Map(candidates.map((c) => [c.id, returning.has(c.id) ? asReturned(c) : c])),
    datacenter:
      row.datacenter_id === null ? null : ((await datacenters.find(on, row.datacenter_id)) ?? null),
    eligibility: servers.eligibilityFor,
  }
  const chosen = judgeServers({ servers: asked }, row.talos_version, around, findings, warningsOf)
  const refused = (message: string, more: Partial<Finding> = {}) =>
    findings.push({ check: 'servers', ok: false, message, conflict: 'not_eligible', ...more })
  const before = new Map((await clusterRows.members(on, row.id)).map((m) => [m.node_id, m]))
  for (const { node_id, name, candidate, role } of chosen) {
    const old = before.get(node_id)
    if (
      old !== undefined &&
      !returning.has(node_id) &&
      (old.released_at === null || leftTraces(old))
    )
      refused(
        `${name} was in ${row.name} before, and has not been removed from etcd and Kubernetes yet: try again later`,
        { for_now: true },
      )
    const problem = joiningProblem(row, candidate)
    if (problem !== null) refused(problem)
    const host = parseAddress(endpointHost(row.endpoint))
    const network = dialledNetwork(candidate)
    if (
      role === 'control_plane' &&
      row.virtual_ip &&
      host !== null &&
      (network === null || !contains(network, host))
    )
      refused(
        `The virtual IP ${endpointHost(row.endpoint)} is not in the network of ${name}, so ${name} can't hold it as a control plane`,
      )
  }
  const joining = chosen.filter(({ node_id }) => !before.has(node_id)).length
  const pod = parseCidr(row.pod_cidr)
  const present = [...before.values()].filter((m) => m.released_at === null)
  const room = pod === null ? null : roomProblem(pod, present.length + joining)
  // Patches of control planes, and a cluster that was taken over, may give nodes another size.
  const owners =
    room === null
      ? []
      : await servers.forPlan(
          on,
          present.filter((m) => m.role === 'control_plane').map((m) => m.node_id),
        )
  const isOwnSize =
    row.taken_over_at !== null ||
    owners.some((one) => one.has_user_patch) ||
    asked.some(({ patch }) => mayResizeNodes(patch?.body ?? ''))
  if (room !== null && !isOwnSize) refused(room)
  const judged = await judgePatches(parts, on, {
    name: row.name,
    resolved: { ...row, servers: chosen },
    servers: asked,
  })
  for (const { message } of judged.findings) refused(message)
  const warnings = [
    ...chosen.flatMap((s) => (warningsOf.get(s.node_id) ?? []).map((w) => `${s.name}: ${w}`)),
    ...judged.warnings,
    ...(room !== null && isOwnSize
      ? [`${room}. Further nodes may get no addresses for pods.`]
      : []),
  ]
  return { findings, warnings, chosen }
}

const adoptedWarning =
  'The cluster was created without Steelyard: new servers get the configuration that Steelyard generates. Give them the patches that they need first'

/**
 * The part of a plan about new servers: checks, warnings, and the servers with their defaults.
 * `reports`: of the control planes that are there when they join.
 */
export async function judgeJoining(
  view: ChangeView,
  asked: readonly ClusterServer[],
  { nodes, reports = [] }: Pick<Outlook, 'nodes'> & Partial<Pick<Outlook, 'reports'>>,
  returning?: ReadonlySet<string>,
) {
  const { findings, warnings, chosen } = await judge(view, view.parts.db, asked, returning)
  const taken = typeof nodes === 'string' ? undefined : chosen.find((s) => nodes.has(s.name))
  const checks: Check[] = findings.map(({ check: name, ok, message, for_now }) => ({
    check: name,
    ok,
    message,
    ...(for_now && { for_now }),
  }))
  if (taken)
    checks.push(
      checked('nodes', `Kubernetes has a node ${taken.name} already: delete it first`, ''),
    )
  const { row, members } = view.state
  const tooOld = etcdJoinProblem(row.talos_version, reports)
  if (tooOld !== null && chosen.some((s) => s.role === 'control_plane'))
    checks.push(checked('etcd_version', tooOld, ''))
  const { losses, sentences } = await reachedAfter(view.parts, {
    name: row.name,
    settings: row,
    chosen,
    patchOf: (nodeId) => asked.find((s) => s.node_id === nodeId)?.patch,
    there: members.filter(isWanted).flatMap(({ node_id, role }) => {
      const server = view.facts.get(node_id)
      return server ? [{ address: server.address, isControlPlane: role === 'control_plane' }] : []
    }),
  })
  const image = await imagesOfJoining(view, chosen)
  return {
    checks: [...checks, ...image.checks],
    losses,
    images: image.images,
    warnings: [
      ...warnings,
      ...image.warnings,
      ...sentences.values(),
      ...(row.taken_over_at === null ? [] : [adoptedWarning]),
      ...(chosen.some((s) => s.role === 'control_plane') &&
      parseAddress(endpointHost(row.endpoint)) === null
        ? [`${endpointHost(row.endpoint)} must lead to the new control planes as well.`]
        : []),
    ],
    chosen,
    disks: chosen.map(toWipe),
  }
}

/**
 * Control planes join one at a time, because etcd accepts one learner at a time. Workers come last
 * and join in parallel; their groups only order the steps.
 */
export const joiningGroups = (chosen: readonly ChosenServer[]): PlannedGroup[] =>
  [
    ...chosen.filter((s) => s.role === 'control_plane'),
    ...chosen.filter((s) => s.role === 'worker'),
  ].map((s) => ({
    node_id: s.node_id,
    name: s.name,
    reboots: 'yes',
    becomes: s.role,
    steps: joiningStepsOf(s).map(({ key, title }) => ({ key, title })),
  }))

/**
 * Time limits of the steps of a joining server, in ms. They are longer than the server's own limits
 * (`decide-server.ts`), whose failures have better reasons.
 */
export const joiningPatienceMs = Object.fromEntries(
  Object.keys(joiningSteps).map((place) => [place, 45 * 60_000]),
)

/**
 * Reserves the servers. Nothing is sent to them until the change reaches them. @throws Problem
 * not_found; server_taken; not_eligible; disk_not_confirmed; conflict
 */
export async function reserve(
  tx: Tx,
  {
    view,
    caller,
    confirmed,
    images = noImages,
    operationId,
  }: {
    readonly view: Around
    readonly caller: Caller
    readonly confirmed: readonly ConfirmedDisk[]
    readonly images?: ServerImages | undefined
    readonly operationId: string
  },
  asked: readonly ClusterServer[],
  returning?: ReadonlySet<string>,
): Promise<void> {
  const { parts, state } = view
  const { servers, clock } = parts
  const { row } = state
  await servers.lockAll(
    tx,
    asked.map((s) => s.node_id),
  )
  const { findings, chosen: judged } = await judge(view, tx, asked, returning)
  const bad = firstFailed(findings)
  if (bad) throw Problem.of(bad.conflict ?? 'not_eligible', refusalBy(bad))
  demandSameImages(judged, images)
  const chosen = withImages(judged, images)
  const [unconfirmed] = notConfirmed(chosen.map(toWipe), confirmed)
  if (unconfirmed !== undefined) throw new Problem('disk_not_confirmed', unconfirmed)
  await servers.reserve(tx, caller, {
    cluster: { id: row.id, name: row.name, talosVersion: row.talos_version },
    operationId,
    servers: chosen.map((s) => ({
      node_id: s.node_id,
      role: s.role,
      installDisk: s.install_disk,
      interface: asked.find((a) => a.node_id === s.node_id)?.interface,
    })),
  })
  const members = await clusterRows.members(tx, row.id)
  const from = Math.max(-1, ...members.map((m) => m.position)) + 1
  // A server that was in this cluster before still has its old row. It is deleted, because the
  // server no longer has that configuration.
  for (const s of chosen)
    if (members.some((m) => m.node_id === s.node_id))
      await clusterRows.dropMember(tx, row.id, s.node_id)
  await clusterRows.insertMembers(
    tx,
    chosen.map((s, i) => ({
      cluster_id: row.id,
      node_id: s.node_id,
      role: s.role,
      position: from + i,
      name: s.name,
      interface: s.interface,
      ...diskColumns(s.candidate.disks, s.install_disk, s.workload_disks),
      install_image: imageOfChosen(s, row.talos_version, parts.config),
      agreed_disks: JSON.stringify(
        agreedOf(s.candidate.disks, [s.install_disk, ...s.workload_disks]),
      ),
      is_moved: row.is_moved,
      at_since: new Date(clock.now()),
      waits: true,
    })),
  )
  for (const { node_id, patch } of asked)
    if (patch) await parts.patches.createIn(tx, caller, node_id, patch)
}
