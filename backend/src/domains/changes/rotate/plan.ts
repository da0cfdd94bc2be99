/**
 * Plans of rotations: what Talos can rotate, whether every server can be reached, and the steps in
 * Talos's order.
 */
import { type RotatedSecret, rotatedSecrets, rotateRow } from '#contract/clusters/changes/rotate.ts'
import { sharedChangeSteps } from '#contract/clusters/changes/table.ts'
import type { Check } from '#contract/clusters/clusters.ts'
import { Problem } from '#contract/errors.ts'
import { driftSentence } from '#contract/servers/drift.ts'
import { TalosError } from '#talos/client/errors.ts'
import { hasAcceptedList, rotatable, type Rotatable } from '#talos/secrets/rotation.ts'
import { isForNow } from '../../../for-now.ts'
import { KubernetesError } from '../../../kubernetes/answers.ts'
import { sentBy } from '../../../reading/asker.ts'
import { readFound } from '#talos/client/found.ts'
import { allAnswer, joined, listed, noKnownDrift } from '../../../sentences.ts'
import type { MemberRow, ServerStep, State } from '../../clusters/api.ts'
import {
  check,
  checkEtcd,
  etcdReports,
  forNowIf,
  isWanted,
  talosOf,
} from '../../control-planes/api.ts'
import { type ChangeView, keyOf, kubernetes, type Planned, type PlannedGroup } from '../frame.ts'
import { workersFirst } from '../configure/servers.ts'

const titles = rotateRow.steps

export const isRotatable = (what: RotatedSecret): what is Rotatable =>
  rotatable.some((one) => one === what)

/** What remains to a user whose secret has leaked. */
const elsewhere = 'If it has leaked, move the workload to a new cluster'

/**
 * Why Talos 1.12 and 1.13 can't replace these secrets in a running cluster. Sources at v1.13.9:
 * `k8s/control_plane_static_pod.go`, `k8stemplates/apiserver.go`, `secrets/root.go`.
 */
const impossible: Readonly<Record<Exclude<RotatedSecret, Rotatable>, string>> = {
  service_account: `Talos 1.12 and 1.13 have one key for service accounts and refuse a second one: with a new key, every pod would lose its access to the Kubernetes API until it is restarted. Talos 1.14 accepts former keys, but Steelyard does not support it yet. ${elsewhere}`,
  encryption_keys: `Talos 1.12 and 1.13 have one key of each kind, and encrypt with the secretbox key as long as there is one: no other key can take over while the old one is still needed to read the Secrets. ${elsewhere}, and give its Secrets new values`,
  etcd_ca: `Talos has one authority for etcd, and members accept no other: during a rotation the members would refuse each other and etcd would lose its quorum. ${elsewhere}`,
}

/** The servers of a rotation, control planes first. */
export const serversOf = ({ members }: Pick<State, 'members'>): MemberRow[] =>
  members
    .filter(isWanted)
    .toSorted(
      (a, b) =>
        Number(a.role === 'worker') - Number(b.role === 'worker') || a.position - b.position,
    )

/** The servers whose configuration contains the secret. */
export const concerned = (what: Rotatable, servers: readonly MemberRow[]): MemberRow[] =>
  servers.filter((m) => what !== 'aggregator_ca' || m.role === 'control_plane')

const each = (servers: readonly MemberRow[], step: ServerStep): PlannedGroup[] =>
  servers.map((m) => ({
    node_id: m.node_id,
    name: m.name,
    reboots: 'no',
    steps: [{ key: keyOf(step, m.node_id), title: titles[step](m) }],
  }))

/**
 * Talos takes a new machine token only at a restart (Talos `v1alpha1_runtime.go`,
 * `CanApplyImmediate`), so the workload is moved off first.
 */
function restarting(servers: readonly MemberRow[], step: ServerStep): PlannedGroup[] {
  return servers.map((m): PlannedGroup => {
    // The steps that undo the rotation need keys of their own.
    const at = (prefix: 'etcd-healthy' | 'drain' | 'uncordon', title: string) => ({
      key: `${keyOf(prefix, m.node_id)}${step === 'switch' ? '' : '/back'}`,
      title,
    })
    return {
      node_id: m.node_id,
      name: m.name,
      drains: true,
      reboots: 'yes',
      steps: [
        ...(m.role === 'control_plane'
          ? [at('etcd-healthy', sharedChangeSteps['etcd-healthy']())]
          : []),
        at('drain', sharedChangeSteps.drain(m)),
        { key: keyOf(step, m.node_id), title: titles[step](m) },
        at('uncordon', sharedChangeSteps.uncordon(m)),
      ],
    }
  })
}
const whole = (
  key: 'new-secrets' | 'accepted' | 'switched' | 'dropped' | 'switched-back' | 'withdrawn',
): PlannedGroup => ({
  node_id: null,
  name: null,
  steps: [{ key, title: titles[key]() }],
})

/**
 * The order in which servers refuse an authority. A kubelet keeps its certificate until its own
 * server refuses the authority of it (Talos `k8s/kubelet_service.go`, refreshKubeletCerts). So the
 * API servers come last: otherwise they would lock the workers out until it is their turn.
 */
const refusingOrder = workersFirst

function groupsOf(what: Rotatable, servers: readonly MemberRow[]): PlannedGroup[] {
  const those = concerned(what, servers)
  const replaced = [
    ...(what === 'tokens' ? restarting(those, 'switch') : each(those, 'switch')),
    whole('switched'),
  ]
  if (!hasAcceptedList(what)) return [whole('new-secrets'), ...replaced]
  return [
    whole('new-secrets'),
    ...each(those, 'accept'),
    whole('accepted'),
    ...replaced,
    ...each(refusingOrder(those), 'drop'),
    whole('dropped'),
  ]
}

/** The steps that undo a rotation. */
export function groupsBack(what: Rotatable, servers: readonly MemberRow[]): PlannedGroup[] {
  const those = concerned(what, servers)
  const withdrawn = [
    ...(what === 'tokens' ? restarting(those, 'withdraw') : each(refusingOrder(those), 'withdraw')),
    whole('withdrawn'),
  ]
  return hasAcceptedList(what)
    ? [...each(those, 'switch-back'), whole('switched-back'), ...withdrawn]
    : withdrawn
}

const warningsOf: Readonly<Record<Rotatable, readonly string[]>> = {
  talos_ca: [
    'Talosconfigs that were downloaded before stop working. Download new ones afterwards.',
  ],
  kubernetes_ca: [
    'Kubeconfigs that were downloaded before stop working. Download new ones afterwards.',
    'The kubelet of every server, and the API server of every control plane, restart three times. Pods go on running.',
    'Pods get the new authority about a minute after the control planes have switched. Until then their calls of the Kubernetes API may fail. Programs that read the authority only at their start must be restarted.',
    'At the end only certificates of the new authority are accepted. Certificates that Kubernetes has signed for other programs, such as webhooks, must be requested again.',
  ],
  aggregator_ca: [
    'Calls of aggregated APIs, such as metrics, may fail for about a minute while the control planes switch one after another.',
  ],
  tokens: [
    'Every server restarts, one after another: Talos takes a new machine token only at a restart.',
    'A worker that restarts on its own after the control planes got the new token, and before it gets that token, does not answer. Cancel the rotation to give the control planes the old token again.',
  ],
}

interface Asked {
  readonly m: MemberRow
  /** Why the server can't be changed now; null if it can. */
  readonly problem: string | null
  readonly isDrift: boolean
  /** It doesn't answer now, but may do so by itself. */
  readonly isSilent: boolean
  /** Why it has not got its newest configuration, as a sentence; null if it has. */
  readonly late: string | null
}

/** Why the server has not got its newest configuration, and what to do. */
async function whyLate({ parts, state, facts }: ChangeView, m: MemberRow): Promise<string> {
  const undone = await parts.configurations.whyUndone(state.row.id, m.node_id)
  if (undone !== null)
    return `A saved patch of ${m.name} was undone: ${undone}. Change or remove it first`
  const pending = facts.get(m.node_id)?.pending ?? null
  return `${m.name} has not received its newest configuration yet. ${pending ?? 'If it does not get it within a few minutes, save one of its patches again'}`
}

async function ask(view: ChangeView, m: MemberRow): Promise<Asked> {
  const { parts, state } = view
  try {
    const found = await talosOf(view, m.node_id, readFound)
    const configs = await parts.configurations.kept.all(parts.db, state.row.id, m.node_id)
    const [isNewest = false, isHeld = false] =
      configs === null
        ? []
        : await parts.read(sentBy(m.name), 'same', found.stored, [
            configs.newest.yaml,
            configs.held.yaml,
          ])
    const isKnown = isNewest || isHeld
    return {
      m,
      problem: isKnown ? null : driftSentence.toLowerCase(),
      isDrift: !isKnown,
      isSilent: false,
      late: isKnown && !isNewest ? await whyLate(view, m) : null,
    }
  } catch (error) {
    if (view.signal.aborted || !(error instanceof TalosError || error instanceof Problem))
      throw error
    return {
      m,
      problem: error.message,
      isDrift: false,
      isSilent: isForNow(error),
      late: null,
    }
  }
}

async function nodesCheck(view: ChangeView, servers: readonly MemberRow[]): Promise<Check> {
  try {
    const nodes = new Map(
      (await (await kubernetes(view)).nodes(view.signal)).map((n) => [n.name, n]),
    )
    const ill = servers.filter((m) => nodes.get(m.name)?.ready !== true)
    const names = listed(ill.map((m) => m.name))
    return forNowIf(
      true,
      check(
        'nodes',
        ill.length === 0,
        ill.length === 0
          ? 'Every node is Ready'
          : `${names} ${ill.length === 1 ? 'is' : 'are'} not Ready in Kubernetes`,
      ),
    )
  } catch (error) {
    if (view.signal.aborted || !(error instanceof KubernetesError)) throw error
    const nodes = check('nodes', false, `The Kubernetes API does not answer: ${error.message}`)
    return forNowIf(isForNow(error), nodes)
  }
}

/**
 * Workers that were removed by force. They are reset when they answer, but after a rotation they
 * never do: at each start, a worker gets the certificate of its API from the control planes
 * (trustd), and it refuses their new one. A control plane issues its own, and Steelyard keeps the
 * former secrets.
 */
function leftBehind({ members }: Pick<State, 'members'>): string[] {
  const gone = members
    .filter(
      (m) =>
        m.role === 'worker' &&
        m.wanted === 'released' &&
        m.released_at === null &&
        m.wiped_at === null,
    )
    .map((m) => m.name)
  if (gone.length === 0) return []
  const [them, they] = gone.length === 1 ? ['it', 'it'] : ['them', 'they']
  return [
    `${listed(gone)} did not answer when ${they} left the cluster, and can't be reset by Steelyard afterwards: bring ${them} back first. Otherwise boot ${them} from other media to wipe ${them}, and remove ${them} from Steelyard by force`,
  ]
}

export async function planRotation(view: ChangeView, what: RotatedSecret): Promise<Planned> {
  if (!isRotatable(what))
    return {
      checks: [
        check('possible', false, `${rotatedSecrets[what]} can't be rotated. ${impossible[what]}`),
      ],
      groups: [],
    }
  const { parts, state } = view
  const servers = serversOf(state)
  const unfinished = await parts.secrets.rotation(parts.db, state.row.id)
  const isFree = unfinished === null || unfinished.what === what
  const asked = await Promise.all(servers.map((m) => ask(view, m)))
  const silent = asked.filter((a) => a.problem !== null && !a.isDrift)
  const drifted = asked.filter((a) => a.isDrift).map((a) => a.m.name)
  // A rotation that is continued may have prepared a configuration that it has not sent.
  const late = unfinished === null ? asked.flatMap((a) => a.late ?? []) : []
  const namedProblem = silent.map((a) => `${a.m.name}: ${a.problem}`)
  return {
    checks: [
      check(
        'rotation',
        isFree,
        isFree
          ? unfinished
            ? 'The unfinished rotation is continued'
            : 'No other rotation is unfinished'
          : `A rotation of other secrets is unfinished (${rotatedSecrets[unfinished.what].toLowerCase()}): retry it or request it again first`,
      ),
      forNowIf(
        silent.every((a) => a.isSilent),
        check(
          'servers',
          silent.length === 0,
          silent.length === 0
            ? allAnswer(servers.length)
            : `Every server must answer, because one that misses the rotation would be locked out. ${joined(namedProblem)}. Bring ${silent.length === 1 ? 'it' : 'them'} back or take ${silent.length === 1 ? 'it' : 'them'} out of the cluster`,
        ),
      ),
      check(
        'configuration',
        drifted.length === 0 && late.length === 0,
        drifted.length === 0
          ? (late[0] ?? noKnownDrift)
          : `${driftSentence} on ${listed(drifted)}: keep or overwrite the change first`,
      ),
      checkEtcd(await etcdReports(view)),
      await nodesCheck(view, servers),
    ],
    warnings: [
      ...warningsOf[what],
      ...(what === 'talos_ca' ? leftBehind(state) : []),
      'Earlier snapshots and backups keep working: Steelyard keeps the former secrets, and writes them into the escrow file.',
    ],
    groups: groupsOf(what, servers),
  }
}
