/**
 * Rotates secrets in Talos's order (Talos `pkg/rotate/pki`; docs, "CA rotation"). Every step reads
 * the state of the machines first, so it can be repeated at any point. A cancel undoes the
 * rotation, unless a server already refuses the old authority.
 */
import type { ChangeOf } from '#contract/clusters/changes/changes.ts'
import { Problem } from '#contract/errors.ts'
import { TalosError } from '#talos/client/errors.ts'
import { hasAcceptedList } from '#talos/secrets/rotation.ts'
import { system } from '../../../http/caller.ts'
import { KubernetesError } from '../../../kubernetes/answers.ts'
import {
  bootstrapTokenPath,
  certificateQueue,
  clusterQueue,
  clusterRows,
  type MemberRow,
  type OpenRotation,
  type ServerStep,
} from '../../clusters/api.ts'
import { isWanted } from '../../control-planes/api.ts'
import {
  type ChangeKind,
  type ChangeTurn,
  keyOf,
  kubernetes,
  prefixOf,
  type StepAt,
  type StepResult,
  write,
} from '../frame.ts'
import { drain, uncordon } from '../shared/drain.ts'
import { etcdHealthy } from '../shared/etcd-healthy.ts'
import { gateStep } from '../shared/gate.ts'
import { give } from './give.ts'
import { concerned, groupsBack, isRotatable, planRotation, serversOf } from './plan.ts'
import { aggregatorLack, lackOf, podsLack } from './verify.ts'

type Change = ChangeOf<'rotate'>
type Turn = ChangeTurn<Change>

const rotationOf = ({ parts, state }: Turn): Promise<OpenRotation | null> =>
  parts.secrets.rotation(parts.db, state.row.id)

/** @throws Error if there is none: the first step has made it */
async function demandRotation(turn: Turn): Promise<OpenRotation> {
  const found = await rotationOf(turn)
  if (found === null) throw new Error(`The cluster ${turn.state.row.id} has no rotation`)
  return found
}

/**
 * New secrets are escrowed before any machine gets them, so that losing the database never loses
 * the cluster.
 */
async function makeSecrets(turn: Turn): Promise<StepResult> {
  const { parts, job, state, change } = turn
  const { what } = change
  if (!isRotatable(what)) return { failed: `${what} can't be rotated` }
  const clusterId = state.row.id
  let rotation = await rotationOf(turn)
  if (rotation === null) {
    const from = await parts.secrets.bundle(parts.db, clusterId)
    const to = await parts.secrets.rotated(from!, what)
    await write(turn, (tx) => parts.secrets.beginRotation(tx, clusterId, what, to))
    rotation = await demandRotation(turn)
  }
  if (rotation.what !== what) return { failed: 'A rotation of other secrets is unfinished' }
  // A rotation that was being undone continues forward.
  if (rotation.stage === 'returning')
    await write(turn, (tx) => parts.secrets.moveRotation(tx, clusterId, { stage: 'accepting' }))
  if (rotation.escrowed_at !== null) return 'done'
  await job.effect('rotate-escrow', () => parts.secrets.escrow(clusterId))
  await write(turn, (tx) =>
    parts.secrets.moveRotation(tx, clusterId, { escrowed_at: new Date(job.now()) }),
  )
  return 'done'
}

/**
 * Whether a cancel may end a wait and undo the rotation: until the first server refuses the old
 * authority.
 */
const canBeTakenBack: ReadonlySet<string> = new Set(['accept', 'accepted', 'switch', 'switched'])

/** Runs a step. A server or API that doesn't answer is a reason to wait. */
const waiting =
  (run: (turn: Turn, at: StepAt) => Promise<StepResult>) =>
  async (turn: Turn, at: StepAt): Promise<StepResult> => {
    const isSafe = canBeTakenBack.has(prefixOf(at.key))
    try {
      const result = await run(turn, at)
      return result !== 'done' && 'waiting' in result ? { ...result, isSafe } : result
    } catch (error) {
      if (
        turn.job.signal.aborted ||
        !(
          error instanceof TalosError ||
          error instanceof KubernetesError ||
          error instanceof Problem
        )
      )
        throw error
      const member = turn.state.members.find((m) => m.node_id === at.nodeId)
      return {
        waiting: `${member?.name ?? 'The Kubernetes API'} does not answer: ${error.message}`,
        isSafe,
      }
    }
  }

/** Sends one server the secrets of the step, and waits until the server is seen to use them. */
const onServer = (step: ServerStep) =>
  waiting(async (turn, at) => {
    const member = turn.state.members.find((m) => m.node_id === at.nodeId)
    if (!member || !isWanted(member)) return { skipped: 'The server has left the cluster' }
    return bring(turn, await demandRotation(turn), member, step)
  })

async function bring(
  turn: Turn,
  rotation: OpenRotation,
  m: MemberRow,
  step: ServerStep,
): Promise<StepResult> {
  if (!hasAcceptedList(rotation.what) && rotation.stage === 'accepting' && step === 'switch')
    await write(turn, (tx) =>
      turn.parts.secrets.moveRotation(tx, m.cluster_id, { stage: 'switching' }),
    )
  const given = await give(turn, rotation, m, step)
  if (given !== 'done') return given
  const lack = await lackOf(turn, rotation, m, step)
  return lack === null ? 'done' : { waiting: lack }
}

/** Verifies every server, also one that has joined since the plan was made. */
async function everyServer(
  turn: Turn,
  rotation: OpenRotation,
  step: ServerStep,
): Promise<StepResult> {
  for (const m of concerned(rotation.what, serversOf(turn.state))) {
    const isPlanned = turn.operation.steps.some((s) => s.key === keyOf(step, m.node_id))
    const result = isPlanned ? 'done' : await bring(turn, rotation, m, step)
    if (result !== 'done') return result
    const lack = await lackOf(turn, rotation, m, step)
    if (lack !== null) return { waiting: lack }
  }
  return 'done'
}

async function accepted(turn: Turn): Promise<StepResult> {
  const rotation = await demandRotation(turn)
  const result = await everyServer(turn, rotation, 'accept')
  if (result !== 'done') return result
  // Every machine accepts certificates of the new authority, so Steelyard now uses the new one for
  // its own.
  if (rotation.stage === 'accepting')
    await write(turn, (tx) =>
      turn.parts.secrets.moveRotation(tx, turn.state.row.id, { stage: 'switching' }),
    )
  return 'done'
}

async function switched(turn: Turn): Promise<StepResult> {
  const rotation = await rotationOf(turn)
  // The rotation ended in an earlier run, before a crash.
  if (rotation === null) return 'done'
  const { what, from, to } = rotation
  const result = await everyServer(turn, rotation, 'switch')
  if (result !== 'done') return result
  const lack =
    what === 'kubernetes_ca'
      ? await podsLack(turn, to)
      : what === 'aggregator_ca'
        ? await aggregatorLack(turn, to)
        : null
  if (lack !== null) return { waiting: lack }
  if (what === 'tokens') await removeBootstrapToken(turn, from.secrets.bootstrapToken)
  if (hasAcceptedList(what))
    await write(turn, (tx) =>
      turn.parts.secrets.moveRotation(tx, turn.state.row.id, { stage: 'dropping' }),
    )
  else await finish(turn, rotation, 'new')
  return 'done'
}

/**
 * Talos creates the Secret of the new token, and never deletes that of the old one (Talos
 * `k8stemplates/kubelet.go`, `manifest_apply.go`).
 */
async function removeBootstrapToken(turn: Turn, token: string): Promise<void> {
  const api = await kubernetes(turn)
  await turn.job.effect('rotate-token', () =>
    api.remove(bootstrapTokenPath(token.split('.', 1)[0]!), turn.job.signal),
  )
}

const ending =
  (step: 'drop' | 'withdraw', how: 'new' | 'old') =>
  async (turn: Turn): Promise<StepResult> => {
    const rotation = await rotationOf(turn)
    if (rotation === null) return 'done'
    const result = await everyServer(turn, rotation, step)
    if (result !== 'done') return result
    await finish(turn, rotation, how)
    return 'done'
  }

async function switchedBack(turn: Turn): Promise<StepResult> {
  return everyServer(turn, await demandRotation(turn), 'switch-back')
}

/** Makes the remaining secrets the current ones, and stores the others as former ones. */
async function finish(turn: Turn, { what }: OpenRotation, how: 'new' | 'old'): Promise<void> {
  const { parts, state, job } = turn
  const { id, name } = state.row
  await write(turn, async (tx) => {
    await parts.secrets.endRotation(tx, id, how)
    // The cluster's reconciler writes the escrow file again. Until then the file contains both.
    const { version } = await clusterRows.update(tx, id, {
      escrowed_at: null,
      updated_at: new Date(job.now()),
    })
    await parts.record(tx, system, {
      action: how === 'new' ? 'cluster.secrets_rotated' : 'cluster.rotation_taken_back',
      target: { kind: 'cluster', id, name },
      after: { what },
      event: { name: 'cluster.updated', version },
    })
    await parts.engine.wake(tx, clusterQueue, id)
    await parts.engine.wake(tx, certificateQueue, id)
  })
  parts.secrets.drop(id)
}

/**
 * The server at whose control plane the cancel has ended a wait comes first: while it is not well,
 * no other control plane may be changed.
 */
function illFirst({ operation }: Turn, servers: readonly MemberRow[]): MemberRow[] {
  const left = operation.steps.findLast(
    (s) => prefixOf(s.key) === gateStep && s.status === 'skipped',
  )?.node_id
  return servers.toSorted((a, b) => Number(b.node_id === left) - Number(a.node_id === left))
}

export const rotate: ChangeKind<Change> = {
  plan: (view, { what }) => planRotation(view, what),
  touches: ['accept', 'switch', 'drop', 'switch-back', 'withdraw'],
  goesOnAfter: ['drop', 'switch-back', 'withdraw'],
  steps: {
    'new-secrets': makeSecrets,
    accept: onServer('accept'),
    accepted: waiting(accepted),
    switch: onServer('switch'),
    switched: waiting(switched),
    drop: onServer('drop'),
    dropped: waiting(ending('drop', 'new')),
    'switch-back': onServer('switch-back'),
    'switched-back': waiting(switchedBack),
    withdraw: onServer('withdraw'),
    // Only a rotation of the tokens restarts servers.
    'etcd-healthy': etcdHealthy,
    drain,
    uncordon,
    withdrawn: waiting(ending('withdraw', 'old')),
  },
  async undo(turn) {
    const rotation = await rotationOf(turn)
    if (rotation === null) return null
    if (rotation.stage === 'dropping') return 'go_on'
    await write(turn, (tx) =>
      turn.parts.secrets.moveRotation(tx, turn.state.row.id, { stage: 'returning' }),
    )
    return groupsBack(rotation.what, illFirst(turn, serversOf(turn.state)))
  },
}
