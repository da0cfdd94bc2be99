/**
 * Changes the endpoint of the Kubernetes API without an interruption: first every control plane's
 * certificate names both endpoints, then every server uses the new one, and only then the old one
 * is removed from the certificates. Steelyard itself calls the control planes' own addresses, which
 * stay valid.
 */
import type { ChangeOf } from '#contract/clusters/changes/changes.ts'
import { changeTable } from '#contract/clusters/changes/table.ts'
import { type Check, endpointHost } from '#contract/clusters/clusters.ts'
import { virtualHosts } from '#contract/clusters/endpoint.ts'
import { parseCidr } from '#contract/network/addresses.ts'
import type { Facts } from '#talos/facts/facts.ts'
import type { Tx } from '../../../db/db.ts'
import { system } from '../../../http/caller.ts'
import { ours } from '../../../reading/asker.ts'
import { type Reader, within } from '../../../reading/reader.ts'
import {
  clusterRows,
  clustersSharing,
  endpointUrl,
  judgeEndpoint,
  type MemberRow,
  updateCluster,
} from '../../clusters/api.ts'
import { listed } from '../../../sentences.ts'
import {
  type ChangeKind,
  type ChangeTurn,
  type ChangeView,
  keyOf,
  memberOf,
  type PlannedGroup,
  type StepAt,
  type StepResult,
  write,
} from '../frame.ts'
import { check, checkEtcd, etcdReports, forNowIf } from '../../control-planes/api.ts'
import { nodeReady } from '../shared/drain.ts'
import { checkConfigurations } from '../shared/configurations.ts'
import { reach } from './reach.ts'
import { attemptOf, checkReachable, notHeld, workersFirst } from './servers.ts'

type Change = ChangeOf<'endpoint'>
type Turn = ChangeTurn<Change>
const titles = changeTable.clusterEndpoint.steps

const urlOf = ({ endpoint }: Change): string => endpointUrl(endpointHost(endpoint))
const controlPlanes = (members: readonly MemberRow[]) =>
  members.filter((m) => m.role === 'control_plane')

/** Applies the address rules of a new cluster to the new endpoint. */
async function addressCheck(
  { parts, state, facts }: ChangeView,
  change: Change,
): Promise<{ checks: Check[]; warnings: string[] }> {
  const { row } = state
  const host = endpointHost(change.endpoint)
  const servers = workersFirst(state.members).map((m) => ({
    node_id: m.node_id,
    name: m.name,
    role: m.role,
    candidate: facts.get(m.node_id)!,
  }))
  const addresses =
    row.datacenter_id === null ? [] : await parts.servers.addressesIn(parts.db, row.datacenter_id)
  const others =
    row.datacenter_id === null
      ? []
      : (await clusterRows.virtualAddresses(parts.db, row.datacenter_id)).filter(
          (o) => o.id !== row.id,
        )
  const subnet =
    row.datacenter_id === null || !change.virtual_ip
      ? null
      : await parts.subnets.assigning(parts.db, row.datacenter_id, host)
  const used = [
    ...addresses.map((a) => ({ address: a.address, by: `server ${a.name}`, node_id: a.node_id })),
    ...others.map(({ address, name }) => ({ address, by: `cluster ${name}` })),
    ...(subnet === null ? [] : [{ address: host, by: `the workload subnet ${subnet}` }]),
  ]
  const [pod, service] = [parseCidr(row.pod_cidr)!, parseCidr(row.service_cidr)!]
  const checks: Check[] = []
  const warnings: string[] = []
  const asked = { virtual_ip: change.virtual_ip, servers: [] }
  // An address that the control planes already hold as their virtual IP is in use by this cluster
  // itself. During an unfinished change they may hold two.
  const own = virtualHosts(row).includes(host)
  judgeEndpoint(
    host,
    asked,
    servers,
    {
      used: own ? [] : used,
      sharing: await clustersSharing(parts.db, host, {
        id: row.id,
        datacenterId: row.datacenter_id,
      }),
    },
    { pod, service },
    (name, problem, good) => checks.push(check(name, problem === null, problem ?? good)),
    warnings,
  )
  return { checks, warnings }
}

/** A virtual IP must be free; another endpoint must lead to the control planes. */
async function reachCheck(
  { parts, state, facts, signal }: ChangeView,
  change: Change,
): Promise<Check> {
  const host = endpointHost(change.endpoint)
  const isOwn =
    [state.row.endpoint, state.row.other_endpoint].some((url) => url === urlOf(change)) ||
    controlPlanes(state.members).some((m) => facts.get(m.node_id)?.address === host)
  if (isOwn) return check('reach', true, `${host} leads to the control planes`)
  const found = await reach(parts, state.row.id, host, signal)
  const mayAccept = found.kind === 'unknown' || (found.kind === 'silent' && !change.virtual_ip)
  if (mayAccept && change.accept_unchecked) return check('reach', true, `Not checked: ${found.why}`)
  const otherwise = mayAccept ? ', or accept that Steelyard cannot check it' : ''
  if (change.virtual_ip) {
    if (found.kind === 'silent') return check('reach', true, `Nothing answers at ${host} yet`)
    return check(
      'reach',
      false,
      found.kind === 'unknown'
        ? `Steelyard cannot check whether ${host} is free: ${found.why}. Let it connect to that address${otherwise}`
        : `${host} is not free: something answers on port 6443. Choose an unused address`,
    )
  }
  if (found.kind === 'api' || found.kind === 'unnamed')
    return check('reach', true, `${host} leads to the control planes`)
  return forNowIf(
    found.kind === 'silent',
    check(
      'reach',
      false,
      `${host} does not lead to the control planes: ${found.why}. Point it to port 6443 of the control planes${otherwise}`,
    ),
  )
}

function groupsOf(members: readonly MemberRow[]): PlannedGroup[] {
  const group = (m: MemberRow, prefixes: readonly (keyof typeof titles)[]): PlannedGroup => ({
    node_id: m.node_id,
    name: m.name,
    reboots: 'no',
    steps: prefixes.map((prefix) => ({ key: keyOf(prefix, m.node_id), title: titles[prefix](m) })),
  })
  const whole = (prefix: 'reach' | 'swap'): PlannedGroup => ({
    node_id: null,
    name: null,
    steps: [{ key: prefix, title: titles[prefix]() }],
  })
  const first = controlPlanes(members)
  return [
    ...first.map((m) => group(m, ['names'])),
    whole('reach'),
    ...[...first, ...members.filter((m) => m.role === 'worker')].map((m) =>
      group(m, ['endpoint', 'node-ready']),
    ),
    whole('swap'),
    ...first.map((m) => group(m, ['forget'])),
  ]
}

/**
 * Whether the server was taken over with a configuration of its own, onto which its patches are
 * merged.
 */
const isAdopted = (
  { parts, state }: Pick<ChangeView, 'parts' | 'state'>,
  nodeId: string,
): Promise<boolean> => parts.configurations.kept.isAdopted(parts.db, state.row.id, nodeId)

/**
 * Whether the control planes hold the new endpoint as a virtual IP. Those that were taken over may
 * have it in a configuration of their own, without Steelyard's doing.
 */
async function isVirtual(
  view: Pick<ChangeView, 'parts' | 'state'>,
  change: Change,
): Promise<boolean> {
  if (change.virtual_ip) return true
  const { parts, state } = view
  for (const m of controlPlanes(state.members)) {
    if (!(await isAdopted(view, m.node_id))) continue
    const newest = await parts.configurations.kept.newest(parts.db, state.row.id, m.node_id)
    const facts = newest && (await parts.read(ours, 'facts', newest.yaml))
    if (facts?.virtualAddresses.includes(endpointHost(change.endpoint)) === true) return true
  }
  return false
}

type OwnFacts = Partial<Pick<Facts, 'apiServerNames' | 'endpoint'>>

/** Changes the own configuration of a server that was taken over. Other servers have none. */
const changeOwn = (
  tx: Tx,
  { parts, state }: Turn,
  nodeId: string,
  values: (base: string, read: Reader) => Promise<OwnFacts> | OwnFacts,
): Promise<void> => {
  const read = within(parts.read, tx)
  return parts.configurations.kept.rebase(tx, state.row.id, nodeId, async (base) =>
    read(ours, 'withFacts', base, await values(base, read)),
  )
}

/** The names in the certificate of the API server, with those of both endpoints. */
async function namesWith(
  base: string,
  read: Reader,
  { state: { row }, change }: Turn,
): Promise<string[]> {
  const { apiServerNames: before } = await read(ours, 'facts', base)
  const endpoints = [row.endpoint, row.other_endpoint, change.endpoint].flatMap((url) =>
    url === null ? [] : endpointHost(url),
  )
  return [...new Set([...before, ...endpoints])]
}

/**
 * Changes the rows with `before`, then renders the server's configuration and sends it. Safe to
 * repeat.
 */
async function send(
  turn: Turn,
  nodeId: string,
  before: (tx: Tx) => Promise<unknown>,
  wanted?: string,
): Promise<StepResult> {
  const { parts, state } = turn
  const { name } = memberOf(turn, nodeId)
  const rendered = await write(turn, async (tx) => {
    await before(tx)
    return parts.configurations.prepare(tx, state.row.id, nodeId)
  })
  const named = rendered && (await parts.read(ours, 'facts', rendered.yaml)).endpoint
  if (wanted !== undefined && named !== wanted)
    return { failed: `A patch of ${name} sets the endpoint: remove that from the patch first` }
  const sent = await parts.configurations.deliver(turn.job, nodeId, {
    mayReboot: false,
    attempt: await attemptOf(turn),
  })
  const problem = notHeld(sent, name)
  if (problem !== null) return problem
  const why = await parts.configurations.whyNotRunning(nodeId, turn.job.signal)
  return why === null ? 'done' : { waiting: why, againMs: 500 }
}

const set = (tx: Tx, turn: Turn, change: Parameters<typeof clusterRows.update>[2]) =>
  updateCluster(turn.parts, tx, system, turn.state.row.id, change)

export const endpoint: ChangeKind<Change> = {
  async plan(view, change) {
    const { state } = view
    const members = workersFirst(state.members)
    const isSame = state.row.endpoint === urlOf(change)
    const holdsOther = isSame && state.row.virtual_ip !== (await isVirtual(view, change))
    const isSettled =
      isSame &&
      !holdsOther &&
      state.row.other_endpoint === null &&
      members.every((m) => m.endpoint === null)
    const adopted: string[] = []
    for (const m of controlPlanes(members))
      if (await isAdopted(view, m.node_id)) adopted.push(m.name)
    const other = state.row.other_endpoint
    const isThird = other !== null && other !== urlOf(change) && !isSame
    const { checks, warnings } = await addressCheck(view, change)
    const configurations = await checkConfigurations(view, members, (now) => ({
      ...now,
      endpoint: urlOf(change),
      endpointHost: endpointHost(change.endpoint),
      otherHosts: [],
      formerIssuers: [state.row.endpoint, ...state.row.former_endpoints],
      virtualIps: change.virtual_ip ? [endpointHost(change.endpoint)] : [],
    }))
    return {
      checks: [
        check(
          'changes',
          !isSettled && !holdsOther,
          isSettled
            ? `The endpoint is ${urlOf(change)} already`
            : holdsOther
              ? `The endpoint is ${urlOf(change)} already, ${state.row.virtual_ip ? 'as' : 'but not as'} a virtual IP of the control planes. That is not changed alone: change to another endpoint first`
              : `The endpoint becomes ${urlOf(change)}`,
        ),
        check(
          'unfinished',
          !isThird,
          isThird
            ? `A change to ${other} is unfinished: finish it, or change back to ${state.row.endpoint} first`
            : 'No other change of the endpoint is unfinished',
        ),
        ...(adopted.length > 0 && change.virtual_ip
          ? [
              check(
                'adopted',
                false,
                `${listed(adopted)} ${adopted.length === 1 ? 'was' : 'were'} taken over with a network configuration of ${adopted.length === 1 ? 'its' : 'their'} own, to which Steelyard adds no virtual IP: add it there with a patch, then change the endpoint without the virtual IP`,
              ),
            ]
          : []),
        checkReachable(members, view.facts),
        ...checks,
        await reachCheck(view, change),
        configurations.check,
        checkEtcd(await etcdReports(view)),
      ],
      warnings: [
        ...warnings,
        ...configurations.warnings,
        'Kubeconfigs that were downloaded before stop working at the end: download new ones.',
        ...(adopted.length === 0
          ? []
          : [
              `The certificate of ${listed(adopted)} keeps the name of the old endpoint, because it may be there for other reasons`,
            ]),
      ],
      groups: groupsOf(members),
    }
  },

  async begin(tx, { view, change }) {
    const { row } = view.state
    await clusterRows.updateMembers(tx, row.id, { forgets_other_endpoint: false })
    // During a change back, the unfinished endpoint stays valid until no server uses it.
    if (row.endpoint !== urlOf(change))
      await updateCluster(view.parts, tx, system, row.id, {
        other_endpoint: urlOf(change),
        other_virtual_ip: change.virtual_ip,
      })
  },

  touches: ['names', 'endpoint', 'forget'],
  steps: {
    names: (turn, { nodeId }: StepAt) =>
      send(turn, nodeId!, (tx) =>
        changeOwn(tx, turn, nodeId!, async (base, read) => ({
          apiServerNames: await namesWith(base, read, turn),
        })),
      ),
    async reach(turn): Promise<StepResult> {
      const host = endpointHost(turn.change.endpoint)
      const found = await reach(turn.parts, turn.state.row.id, host, turn.job.signal)
      if (found.kind === 'api') return 'done'
      if ((found.kind === 'silent' || found.kind === 'unknown') && turn.change.accept_unchecked)
        return { skipped: `Not checked: ${found.why}` }
      return {
        waiting: `The Kubernetes API does not answer at ${host}: ${found.why}`,
        isSafe: true,
      }
    },
    endpoint: (turn, { nodeId }: StepAt) => {
      const wanted = urlOf(turn.change)
      const point = async (tx: Tx) => {
        await clusterRows.updateMember(tx, turn.state.row.id, nodeId!, { endpoint: wanted })
        await changeOwn(tx, turn, nodeId!, () => ({ endpoint: wanted }))
      }
      return send(turn, nodeId!, point, wanted)
    },
    'node-ready': nodeReady,
    async swap(turn): Promise<StepResult> {
      const { row, members } = turn.state
      const virtual_ip = await isVirtual(turn, turn.change)
      await write(turn, async (tx) => {
        const isSwapped = row.endpoint === urlOf(turn.change)
        if (!isSwapped)
          await set(tx, turn, {
            endpoint: urlOf(turn.change),
            virtual_ip,
            other_endpoint: row.endpoint,
            other_virtual_ip: row.virtual_ip,
            former_endpoints: [...new Set([row.endpoint, ...row.former_endpoints])],
          })
        for (const m of members.filter((one) => one.endpoint !== null))
          await clusterRows.updateMember(tx, row.id, m.node_id, { endpoint: null })
      })
      return 'done'
    },
    async forget(turn, { nodeId }: StepAt): Promise<StepResult> {
      const result = await send(turn, nodeId!, (tx) =>
        clusterRows.updateMember(tx, turn.state.row.id, nodeId!, { forgets_other_endpoint: true }),
      )
      return result === 'done' && (await isAdopted(turn, nodeId!))
        ? { skipped: 'The server was taken over, and its names stay' }
        : result
    },
  },

  // Until every control plane has forgotten the former endpoint, it is given to nobody else: it may
  // be a virtual IP, which those that are left still hold.
  async end(tx, turn, how) {
    if (how !== 'done') return
    await set(tx, turn, { other_endpoint: null, other_virtual_ip: false })
    await clusterRows.updateMembers(tx, turn.state.row.id, { forgets_other_endpoint: false })
  },
}
