/**
 * One line per topic of a cluster's health: its state, and the reason in a sentence. Pure
 * functions.
 */
import type { Remedy } from '#contract/clusters/changes/remedies.ts'
import type {
  ClusterHealth,
  EtcdMemberHealth,
  HealthState,
  HealthTopic,
} from '#contract/clusters/health.ts'
import { type FindingKind, findingKinds } from '#contract/findings/kinds.ts'
import { counted } from '#contract/words.ts'
import {
  newestSaid,
  type SnapshotCondition,
  type SnapshotTrouble,
  unscheduledSaid,
} from '../../snapshots/api.ts'
import { remedy, remedyForEach, settleFull, type UnreadyPod } from '../../control-planes/api.ts'
import { fillingSaid } from './filling.ts'
import { allOf, listed, noKnownDrift } from '../../../sentences.ts'

type Line = ClusterHealth['lines'][number]
type Said = {
  /**
   * What is wrong is a kind of finding, so that the health of a cluster says nothing worse than its
   * findings do. Everything else that is worth knowing is a note.
   */
  readonly state: FindingKind | Exclude<HealthState, 'attention' | 'problem'>
  readonly message: string
  readonly remedies?: readonly Remedy[]
}

/**
 * Talos's documentation ("etcd Maintenance") advises a defragmentation if less than half of the
 * file is in use. Small files gain nothing.
 */
const worthDefragmentingBytes = 100 * 1024 ** 2
export const isFragmented = ({
  size_bytes: size,
  in_use_bytes: used,
}: Pick<EtcdMemberHealth, 'size_bytes' | 'in_use_bytes'>): boolean =>
  size !== null && used !== null && size >= worthDefragmentingBytes && used < size / 2

const namesOf = (items: readonly { readonly name: string }[]): string =>
  listed(items.map((i) => i.name))
const because = (reason: string | null): string =>
  reason === null ? '' : `: ${reason.replace(/\.$/, '')}`

interface Around {
  /** What is said about the last snapshot. */
  readonly saved: Said
  /** Names of the nodes that Steelyard has cordoned. */
  readonly cordoned: ReadonlySet<string>
  /** A change of the cluster runs. */
  readonly isChanging: boolean
  /** Servers whose newest configuration is not sent yet, and why. */
  readonly pending: readonly { readonly name: string; readonly reason: string }[]
  /** How many servers have their configuration in the documents of Talos 1.14. */
  readonly moved: { readonly done: number; readonly of: number }
  /** Why the watch over the cluster says that a former server is left in it; null if none is. */
  readonly formerMember: string | null
  /** What is out of support. */
  readonly unsupported: readonly ('talos' | 'kubernetes')[]
  /** Static pods of the control planes that are not ready. */
  readonly unready: readonly UnreadyPod[]
}

const stateOf = (said: Said['state']): HealthState => {
  if (said === 'ok' || said === 'note' || said === 'unknown') return said
  return findingKinds[said].severity === 'attention' ? 'attention' : 'problem'
}

export function linesOf(
  health: Omit<ClusterHealth, 'lines' | 'at'>,
  { saved, ...around }: Around,
): Line[] {
  const line = (topic: HealthTopic, { state: said, message, remedies = [] }: Said): Line => ({
    topic,
    state: stateOf(said),
    message,
    remedies: [...remedies],
  })
  // While an API server is ready, etcd has its majority, and a restore would lose data.
  const restoring =
    health.snapshot !== null && !health.kubernetes_api.some((a) => a.ready)
      ? [remedy('restore')]
      : []
  const state = { members: health.etcd.members, restoring }
  return [
    line('etcd', etcd(health.etcd, state)),
    line('database', database(health.etcd)),
    line('kubernetes_api', api(health.kubernetes_api, state, around.unready)),
    line('nodes', nodes(health.nodes, state, around)),
    line('configuration', configuration(health.drift, around)),
    line('snapshot', saved),
    line('talos', version(health.versions, 'talos', around.unsupported)),
    line('kubernetes', version(health.versions, 'kubernetes', around.unsupported)),
  ]
}

const isFull = (members: readonly EtcdMemberHealth[]): boolean =>
  members.some((m) => m.alarms?.includes('nospace'))
const votersOf = (members: readonly EtcdMemberHealth[]) =>
  members.filter((m) => m.id !== null && m.learner !== true)
/** The members that are not healthy, and whether their machines answer. */
const illOf = (members: readonly EtcdMemberHealth[]) =>
  votersOf(members).flatMap((m) =>
    m.healthy === true ? [] : [{ ...m, answers: m.healthy !== null }],
  )

interface State {
  readonly members: readonly EtcdMemberHealth[]
  /** The restore, if there is a snapshot and no API server is ready. */
  readonly restoring: readonly Remedy[]
}

/**
 * What to do about servers that are down: without a majority of etcd only a restore helps, and an
 * etcd that is full takes no new server.
 */
function replacing(
  { members, restoring }: State,
  down: readonly { readonly node_id: string | null; readonly name: string }[],
): readonly Remedy[] {
  const [ill, voters] = [illOf(members), votersOf(members)]
  if (members.length > 0 && ill.length * 2 >= voters.length) return restoring
  if (isFull(members)) return settleFull(ill).remedies
  // A member that no server has is removed and not replaced.
  const ours = down.filter(({ node_id }) => node_id !== null)
  return ours.length === 0 ? [] : remedyForEach('replace', ours)
}

/** What to do about members without which etcd has no majority. */
const bringBack = ({ length }: readonly unknown[], restoring: readonly Remedy[]): string =>
  `Bring ${length === 1 ? 'it' : 'them'} back${restoring.length > 0 ? ', or restore a snapshot' : ''}`

function etcd({ members, reason }: ClusterHealth['etcd'], state: State): Said {
  if (reason !== null) return withoutMembers(state, reason)
  const voters = votersOf(members)
  const ill = illOf(members)
  const majority = Math.floor(voters.length / 2) + 1
  const healthy = voters.length - ill.length
  const left = healthy - majority
  if (ill.length > 0) {
    const who = `${namesOf(ill)} ${ill.length === 1 ? 'is' : 'are'} not healthy${because(ill[0]!.reason)}`
    const then =
      left < 0
        ? `etcd has no majority, so the cluster accepts no change. ${bringBack(ill, state.restoring)}`
        : left === 0
          ? 'etcd stops if one more member fails'
          : null
    return {
      state: 'cluster_etcd_member_ill',
      message: `${healthy} of ${counted(voters.length, 'member')} ${healthy === 1 ? 'is' : 'are'} healthy. ${who}.${then === null ? '' : ` ${then}.`}`,
      remedies: replacing(state, ill),
    }
  }
  const outside = members.filter((m) => m.id === null)
  if (outside.length > 0)
    return {
      state: 'note',
      message: `${namesOf(outside)} ${outside.length === 1 ? 'is' : 'are'} no member of etcd${because(outside[0]!.reason)}.`,
    }
  const learners = members.filter((m) => m.learner === true)
  if (learners.length > 0)
    return {
      state: 'note',
      message: `${namesOf(learners)} ${learners.length === 1 ? 'is a learner' : 'are learners'}, without a vote yet.`,
    }
  const leader = members.find((m) => m.leader === true)
  const lead = leader === undefined ? '' : ` ${leader.name} leads.`
  if (voters.length === 1)
    return {
      state: 'note',
      message: 'The only member is healthy. If its server goes down, so does the cluster.',
      remedies: [remedy('grow')],
    }
  return {
    state: 'ok',
    message: `${counted(voters.length, 'member')}, all healthy.${lead} ${left === 1 ? 'One' : left} may fail.`,
  }
}

/**
 * No control plane reports the members: none answers, or etcd has lost its majority on those that
 * do.
 */
function withoutMembers({ members, restoring: remedies }: State, reason: string): Said {
  const silent = members.filter((m) => m.healthy === null)
  const answering = members.filter((m) => m.healthy !== null)
  const who =
    silent.length === 0
      ? ''
      : `${namesOf(silent)} ${silent.length === 1 ? 'does' : 'do'} not answer${because(silent[0]!.reason)}.`
  if (answering.length === 0)
    return { state: 'unknown', message: who === '' ? `${reason}.` : `${reason}. ${who}`, remedies }
  const why = answering.find((m) => m.reason !== null)
  return {
    state: 'cluster_quorum_lost',
    message: `etcd has no leader, so the cluster accepts no change. ${who === '' ? `${why?.name ?? 'No member'}${because(why?.reason ?? null)}.` : `${who} ${bringBack(silent, remedies)}.`}`,
    remedies,
  }
}

function database({ members, reason }: ClusterHealth['etcd']): Said {
  const alarmed = members.filter((m) => (m.alarms ?? []).length > 0)
  const corrupt = alarmed.filter((m) => m.alarms!.includes('corrupt'))
  if (corrupt.length > 0)
    return {
      state: 'cluster_etcd_corrupt',
      message: `${namesOf(corrupt)} ${corrupt.length === 1 ? 'has' : 'have'} other data than the other members (alarm CORRUPT).`,
      remedies: [remedy('restore')],
    }
  if (alarmed.length > 0) {
    const ill = illOf(members)
    const { todo, remedies } = settleFull(ill)
    const message = `etcd is full and refuses writes (alarm NOSPACE of ${namesOf(alarmed)}). A defragmentation frees unused space and clears the alarm`
    return {
      state: 'cluster_etcd_full',
      message: ill.length === 0 ? `${message}.` : `${message}, but needs every member: ${todo}.`,
      remedies,
    }
  }
  const known = members.filter((m) => m.size_bytes !== null)
  if (reason !== null || known.length === 0)
    return {
      state: 'unknown',
      message: reason === null ? 'No member reports the size of its database.' : `${reason}.`,
    }
  const filling = fillingSaid(known)
  if (filling !== null)
    return {
      state: 'cluster_etcd_filling',
      message: `${filling}.`,
      remedies: [remedy('defragment')],
    }
  const fragmented = known.filter(isFragmented)
  if (fragmented.length > 0)
    return {
      state: 'note',
      message: `More than half of the database of ${namesOf(fragmented)} is unused space, which a defragmentation frees.`,
      remedies: [remedy('defragment')],
    }
  const largest = known.reduce((a, b) => (b.size_bytes! > a.size_bytes! ? b : a))
  if (members.every((m) => m.alarms === null))
    return { state: 'unknown', message: 'etcd does not report its alarms.' }
  return {
    state: 'ok',
    message: `No alarm. ${mib(largest.size_bytes!)}, ${mib(largest.in_use_bytes ?? largest.size_bytes!)} in use.`,
  }
}

/** `trouble`: what is wrong with the cluster's snapshots, as its finding says it. */
export function snapshotSaid(
  condition: SnapshotCondition,
  trouble: Pick<SnapshotTrouble, 'kind' | 'reason'> | null,
): Said {
  const remedies = [remedy('snapshot')]
  if (trouble !== null) return { state: trouble.kind, message: `${trouble.reason}.`, remedies }
  const unscheduled = unscheduledSaid(condition)
  const newest = `${newestSaid(condition)}.`
  if (unscheduled !== null) return { state: 'note', message: `${newest} ${unscheduled}.`, remedies }
  return {
    state: 'ok',
    message:
      condition.newest_at === null ? 'The schedule has not taken the first snapshot yet.' : newest,
  }
}

const mib = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MiB`

/** The state of the API servers, and of the controllers and schedulers beside them. */
function api(
  items: ClusterHealth['kubernetes_api'],
  state: State,
  unready: readonly UnreadyPod[],
): Said {
  if (items.length === 0) return { state: 'unknown', message: 'No control plane has joined yet.' }
  const down = items.filter((i) => !i.ready)
  const beside = unready.filter(({ component }) => component !== 'kube-apiserver')
  if (down.length === 0 && beside.length > 0)
    return {
      state: 'cluster_components_down',
      message: `${listed(beside.map(({ why }) => why.replace(/\.$/, '')))}.`,
      remedies: replacing(
        state,
        items.filter(({ name }) => beside.some(({ node }) => node === name)),
      ),
    }
  if (down.length === 0)
    return {
      state: 'ok',
      message: allOf(items.length, 'API servers are ready.', 'The API server is ready.'),
    }
  const all = down.length === items.length
  return {
    state: all ? 'cluster_api_down' : 'cluster_api_server_down',
    message: all
      ? `No API server is ready${because(down[0]!.reason)}.`
      : `The API server of ${namesOf(down)} is not ready${because(down[0]!.reason)}.`,
    remedies: replacing(state, down),
  }
}

type Node = ClusterHealth['nodes'][number]

/** What to do about nodes that a change has left cordoned; empty if there are none. */
function leftCordoned(
  items: readonly Node[],
  { cordoned, isChanging }: Omit<Around, 'saved'>,
): string {
  const left = isChanging
    ? []
    : items.filter((n) => n.schedulable === false && cordoned.has(n.name))
  if (left.length === 0) return ''
  const names = left.map((n) => n.name)
  return `${listed(names)} ${names.length === 1 ? 'stays' : 'stay'} cordoned after a change that failed. Retry the change, or run kubectl uncordon ${names.join(' ')}.`
}

function nodes(items: readonly Node[], state: State, around: Omit<Around, 'saved'>): Said {
  const unknown = items.filter((n) => n.ready === null)
  if (unknown.length > 0)
    return {
      state: 'unknown',
      message: `The Kubernetes API does not answer${because(unknown[0]!.reason)}.`,
    }
  const ours = items.filter((n) => n.node_id !== null)
  const left = leftCordoned(ours, around)
  const down = ours.filter((n) => n.ready === false)
  if (down.length > 0) {
    const message = `${namesOf(down)} ${down.length === 1 ? 'is' : 'are'} not Ready${because(down[0]!.reason)}.`
    return {
      state: 'cluster_nodes_not_ready',
      message: left === '' ? message : `${message} ${left}`,
      remedies: replacing(state, down),
    }
  }
  const strange = items.filter((n) => n.node_id === null)
  if (around.formerMember !== null)
    return { state: 'cluster_former_member', message: `${around.formerMember.replace(/\.$/, '')}.` }
  if (strange.length > 0)
    return {
      state: 'note',
      message: `Kubernetes has ${counted(strange.length, 'node')} without a server in this cluster: ${namesOf(strange)}.`,
    }
  if (left !== '') return { state: 'note', message: left }
  const cordoned = ours.filter((n) => n.schedulable === false)
  if (cordoned.length > 0) {
    const [is, gets] = cordoned.length === 1 ? ['is', 'gets'] : ['are', 'get']
    const why = cordoned.every((n) => around.cordoned.has(n.name))
      ? 'by the change that runs'
      : `and ${gets} no new pods`
    return { state: 'note', message: `${namesOf(cordoned)} ${is} cordoned ${why}.` }
  }
  return {
    state: 'ok',
    message: allOf(ours.length, 'nodes are Ready.', 'The node is Ready.'),
  }
}

function configuration(
  items: ClusterHealth['drift'],
  { pending, moved, isChanging }: Pick<Around, 'pending' | 'moved' | 'isChanging'>,
): Said {
  if (items.length === 0 && pending.length === 0 && moved.done > 0 && moved.done < moved.of)
    return {
      state: 'note',
      message: `${moved.done} of ${moved.of} servers have their configuration in the documents of Talos 1.14${isChanging ? '.' : ': move the others as well.'}`,
      remedies: isChanging ? [] : [remedy('documents')],
    }
  if (items.length === 0 && pending.length > 0)
    return {
      state: 'server_patches_wait',
      message: `The patches of ${namesOf(pending)} are not sent yet${because(pending[0]!.reason)}.`,
    }
  if (items.length === 0) return { state: 'ok', message: `${noKnownDrift}.` }
  return {
    state: 'server_drifted',
    message: `The configuration of ${namesOf(items)} was changed outside of Steelyard.`,
  }
}

const upgrades = { talos: 'upgradeTalos', kubernetes: 'upgradeKubernetes' } as const

function version(
  versions: ClusterHealth['versions'],
  of: 'talos' | 'kubernetes',
  unsupported: Around['unsupported'],
): Said {
  const { current, newest, next, after, reason } = versions[of]
  if (next === null && reason === null)
    return { state: 'ok', message: `${current} is the newest version offered.` }
  const offer =
    next === null
      ? `${current}.`
      : `${current}; ${next === newest ? `${next} is offered` : `${next} is the next step`}.`
  const can = next !== null ? of : after !== null && versions[after].next !== null ? after : null
  const message = reason === null ? offer : `${offer} ${reason.replace(/\.$/, '')}.`
  const state = unsupported.includes(of) ? 'cluster_version_unsupported' : 'note'
  return { state, message, remedies: can === null ? [] : [remedy(upgrades[can])] }
}
