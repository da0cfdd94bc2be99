/**
 * Commands to a machine of a cluster. Each is one operation: it is sent once, then watched until it
 * takes effect. The commands are defined in `contract/servers/machine-commands.ts`; this file has
 * the Talos calls that carry them out.
 */
import { stageSaid } from '#contract/servers/server.ts'
import { TalosError } from '#talos/client/errors.ts'
import type { TalosClient } from '#talos/client/client.ts'
import { readStage } from '#talos/client/inventory.ts'
import { Problem } from '#contract/errors.ts'
import {
  type ArgumentsOf,
  type Operation,
  operationTable,
  operationTitle,
  type Step,
} from '#contract/operations.ts'
import type { commandEnds, MachineCommand } from '#contract/servers/machine-commands.ts'
import { waitLimits } from '#contract/rule.ts'
import { inTransaction } from '../../../db/db.ts'
import type { Job, Outcome } from '../../../engine/engine.ts'
import { isForNow } from '../../../for-now.ts'
import type { ConnectOptions, ServerConnection } from '../../../talos-fleet/fleet.ts'
import type { NewStep } from '../../operations/api.ts'
import type { CallParts } from '../parts.ts'
import * as store from '../store.ts'

export const commandQueue = 'server-command'
const lookAgainMs = 2_000
const lookDeadlineMs = 5_000
/** Pause before a server that did not answer is asked again, in ms. */
const silentAgainMs = 5_000
/**
 * After this time, in ms, a machine that runs counts as restarted even if no query saw it down: the
 * restart was then between two queries.
 */
const surelyBackMs = 60_000
/**
 * Number of failed queries in a row after which the machine counts as down. A single failure may be
 * caused by this process or the network.
 */
const missesToAway = 3
/**
 * So long, in ms, a machine that runs again is waited for in Kubernetes. An operation explains a node
 * that isn't Ready for the same time (`contract/servers/contact-state.ts`), so the finding follows
 * the failure.
 */
const readyWithinMs = 15 * 60_000
const credentialsLifetimeMs = 3_600_000

/**
 * How each command is sent, and whether it waits while another control plane of the cluster is not
 * well. A shutdown doesn't: a person switches the whole cluster off, server after server.
 * `restarts`: it also waits while etcd would lose its majority, because of dead members that no
 * server has.
 */
const orders: Readonly<
  Record<
    MachineCommand,
    { send: (client: TalosClient) => Promise<unknown>; isWaiting: boolean; restarts?: true }
  >
> = {
  serverReboot: { send: (client) => client.reboot(), isWaiting: true, restarts: true },
  serverShutdown: { send: (client) => client.shutdown(), isWaiting: false },
  serverRestartKubelet: { send: (client) => client.restartService('kubelet'), isWaiting: true },
}

/**
 * Reads from the machine whether a command has ended. `state` follows the server's name in
 * messages.
 */
const stageSeen = async (client: TalosClient) => {
  const { stage } = await readStage(client)
  return { isUp: stage === 'running', state: `is ${stageSaid(stage)}` }
}
interface Look {
  readonly isUp: boolean
  readonly state: string
  /** Read only if it shows whether a command was received. */
  readonly boot?: string
}
const looks: Readonly<
  Record<keyof typeof commandEnds, (client: TalosClient, isUnknown: boolean) => Promise<Look>>
> = {
  back: async (client, isUnknown) => ({
    ...(await stageSeen(client)),
    ...(isUnknown && { boot: await client.bootId() }),
  }),
  off: stageSeen,
  kubelet: async (client) => {
    const kubelet = (await client.services()).find((s) => s.id === 'kubelet')
    const isUp = kubelet?.state === 'Running' && kubelet.healthy === true
    return {
      isUp,
      state: isUp
        ? 'runs its kubelet'
        : `waits for its kubelet: ${kubelet?.message || kubelet?.lastEvent?.message || 'it is not running'}`,
    }
  },
}

const bootOf = (client: TalosClient): Promise<string> => client.bootId()

export const commandSteps = (
  kind: MachineCommand,
  server: { readonly id: string; readonly name: string },
): NewStep[] =>
  Object.entries(operationTable[kind].steps).map(([key, title]) => ({
    key,
    title: title(server),
    node_id: server.id,
  }))

/**
 * Thrown in an effect whose earlier attempt has an unknown end: the journal then records a failure,
 * so that the next attempt sends the command again.
 */
class MaybeSent extends Error {
  override message = 'It is not known whether the machine received an earlier attempt'
}

/** The reconciler of commands to machines. Queue key: the server's id. */
export function commanding({ db, operations, clusters, servers }: CallParts) {
  /**
   * Number of failed queries in a row, by operation. In memory only: another process starts at
   * zero, so it takes longer to notice that a machine is down.
   */
  const misses = new Map<string, number>()
  /** When the machine was first seen to run again, in ms since 1970, by operation. In memory too. */
  const upSince = new Map<string, number>()

  const end = (
    job: Job,
    operation: Operation,
    status: 'done' | 'failed' | 'cancelled',
    reason: string | null,
  ): Promise<void> =>
    job.fence.write(async (tx) => {
      misses.delete(operation.id)
      upSince.delete(operation.id)
      const row = await store.lockOne(tx, job.key)
      if (row?.operation_id === operation.id) await servers.hold(tx, row.id, null)
      await operations.set(tx, operation.id, { status, reason })
    })

  /**
   * Reserves the server again for a retry by a user. Returns false if the server has another
   * operation meanwhile, such as the deletion of its cluster.
   */
  const holdAgain = (
    job: Job,
    { id, cluster_id }: store.ServerRow,
    operation: Operation,
  ): Promise<boolean> =>
    job.fence.write(async (tx) => {
      const row = await store.lockOne(tx, id)
      if (
        row?.cluster_id !== cluster_id ||
        (row.operation_id !== null && row.operation_id !== operation.id)
      )
        return false
      await servers.hold(tx, id, operation.id)
      return true
    })

  const secure = async <T>(
    server: store.ServerRow,
    connection: ServerConnection,
    act: (client: TalosClient) => Promise<T>,
    options: ConnectOptions,
  ): Promise<T> => {
    const keys = await clusters.talosCredentials(server.cluster_id!, {
      role: 'os:admin',
      lifetimeMs: credentialsLifetimeMs,
    })
    if (!keys) throw new Problem('server_not_in_cluster', `The cluster of ${server.name} is gone`)
    return connection.secure(keys, act, options)
  }

  /**
   * Sends the command. False: it waits for another control plane. `sending` is called right before
   * the command is sent.
   */
  const command = async (
    job: Job,
    operation: Operation,
    server: store.ServerRow,
    connection: ServerConnection,
    sending: () => void,
  ): Promise<boolean> => {
    const move = (status: 'running' | 'waiting' | 'done', reason: string | null = null) =>
      job.fence.write((tx) => operations.step(tx, operation.id, 'command', { status, reason }))
    const kind = operation.kind as MachineCommand
    const { isWaiting, restarts } = orders[kind]
    let isUnknown = false
    const send = async () => {
      await move('running')
      await job
        .effect(`${operation.kind}/${operation.id}`, async ({ unknown, done }) => {
          // A process ended while it sent the command; the next step shows whether the machine
          // received it.
          if (unknown) throw new MaybeSent()
          if (done) return
          if (restarts) {
            const sent_in_boot = await secure(server, connection, bootOf, { signal: job.signal })
            await job.fence.write((tx) =>
              operations.amend<MachineCommand>(tx, operation.id, { sent_in_boot }),
            )
          }
          sending()
          await secure(server, connection, orders[kind].send, {
            signal: job.signal,
          })
        })
        .catch((error: unknown) => {
          if (!(error instanceof MaybeSent)) throw error
          isUnknown = true
        })
    }
    const change = { title: operationTitle(operation), operation_id: operation.id, take_back: null }
    if (isWaiting) {
      const touched = await clusters.machines.touching(server.cluster_id!, server.id, send, {
        signal: job.signal,
        mayMend: true,
        ...(restarts && { restarts: () => true }),
        change,
      })
      if ('forbidden' in touched) {
        await move('waiting', touched.forbidden)
        return false
      }
    } else {
      await inTransaction(db, (tx) => servers.noteSending(tx, server.id, change))
      await send()
    }
    await move(
      'done',
      isUnknown ? `It is not known whether ${server.name} received the command` : null,
    )
    return true
  }

  /**
   * `isUp` is null if the machine didn't answer. `isAway`: the machine doesn't run, or nothing
   * listens at its address.
   */
  const look = async (
    job: Job,
    server: store.ServerRow,
    connection: ServerConnection,
    end: keyof typeof commandEnds,
    isUnknown: boolean,
  ) => {
    try {
      const seen = await secure(server, connection, (client) => looks[end](client, isUnknown), {
        signal: job.signal,
        deadlineMs: lookDeadlineMs,
      })
      return { ...seen, isAway: !seen.isUp }
    } catch (error) {
      if (error instanceof TalosError && !job.signal.aborted)
        return {
          isUp: null,
          isAway: error.kind === 'unreachable',
          state: 'does not answer',
          boot: undefined,
        }
      throw error
    }
  }

  /**
   * Called when a machine has run for long enough after a command of which the end of the sending is
   * unknown: it hasn't received it. The command is sent again where it waits for its server.
   */
  const neverReceived = async (
    job: Job,
    operation: Operation,
    server: store.ServerRow,
    waits: boolean,
  ): Promise<Outcome> => {
    const reason = waits
      ? null
      : `${server.name} may never have received the command, and still runs: try again`
    await job.fence.write(async (tx) => {
      for (const { key } of operation.steps)
        await operations.step(tx, operation.id, key, { status: 'todo', reason: null })
      if (!waits) await operations.step(tx, operation.id, 'command', { status: 'failed', reason })
    })
    return waits ? { againMs: 0 } : end(job, operation, 'failed', reason)
  }

  /** Waits for the node of a machine that runs again. The operation fails when the time is over. */
  const untilReady = async (
    job: Job,
    operation: Operation,
    { key }: Pick<Step, 'key'>,
    why: string,
  ): Promise<Outcome> => {
    const since = upSince.get(operation.id) ?? job.now()
    upSince.set(operation.id, since)
    const isOver = job.elapsedMs(since) > readyWithinMs
    const reason = isOver
      ? `${operation.target.name} runs again, but is not well in Kubernetes after ${readyWithinMs / 60_000} minutes: ${why}`
      : why
    await job.fence.write((tx) =>
      operations.step(tx, operation.id, key, { status: isOver ? 'failed' : 'waiting', reason }),
    )
    return isOver ? end(job, operation, 'failed', reason) : { againMs: lookAgainMs }
  }

  const follow = async (
    job: Job,
    operation: Operation,
    server: store.ServerRow,
    connection: ServerConnection,
    { waits, sent_in_boot }: ArgumentsOf<MachineCommand>,
  ): Promise<Outcome> => {
    const step = operation.steps.find((s) => s.key !== 'command')!
    const move = (status: 'running' | 'waiting' | 'done', reason: string | null) =>
      job.fence.write((tx) => operations.step(tx, operation.id, step.key, { status, reason }))
    const wasSent = operation.steps.every((s) => s.key !== 'command' || s.reason === null)
    const { isUp, isAway, state, boot } = await look(
      job,
      server,
      connection,
      step.key as keyof typeof commandEnds,
      !wasSent,
    )
    const missed = isUp === null ? (misses.get(operation.id) ?? 0) + 1 : 0
    misses.set(operation.id, missed)
    // The step gets the status `waiting` when the machine is first seen down.
    const wasAway = step.status === 'waiting'
    const sinceMs = step.started_at === null ? 0 : job.now() - Date.parse(step.started_at)
    const isLong = isUp === true && sinceMs > surelyBackMs
    const isOverdue = isLong && !wasAway
    const isNoted = boot !== undefined && sent_in_boot !== null
    const isNewBoot = isNoted && boot !== sent_in_boot
    const isSameBoot = isNoted && boot === sent_in_boot
    if (!wasSent && (isSameBoot ? isLong : isOverdue && !isNewBoot))
      return neverReceived(job, operation, server, waits)
    // Talos answers a restart of the kubelet only after the old kubelet has stopped, so a healthy
    // kubelet is the new one.
    const isNewKubelet = step.key === 'kubelet' && wasSent
    const isDone =
      step.key === 'off'
        ? missed >= missesToAway
        : isUp === true && !isSameBoot && (wasAway || isOverdue || isNewKubelet || isNewBoot)
    if (isDone) {
      const why =
        step.key === 'off'
          ? null
          : await clusters.machines.whyNotReady(server.cluster_id!, server.id, job.signal)
      if (why !== null) return untilReady(job, operation, step, why)
      await move('done', null)
      return end(job, operation, 'done', null)
    }
    upSince.delete(operation.id)
    if (!isAway && missed < missesToAway) await move(wasAway ? 'waiting' : 'running', null)
    else await move('waiting', `${server.name} ${state}`)
    return { againMs: lookAgainMs }
  }

  /**
   * Waits for a server that doesn't answer, if the command has certainly not been sent. False: the
   * command ends. @param isSending an attempt to send it has begun
   */
  const waitForServer = async (
    job: Job,
    operation: Operation,
    error: TalosError | Problem,
    isSending: boolean,
  ): Promise<boolean> => {
    const isUnsent = !isSending || (error instanceof TalosError && error.kind === 'unreachable')
    if (!isUnsent || !isForNow(error)) return false
    const of = { operationId: operation.id, step: 'command' }
    const reason = `${operation.target.name} does not answer: ${error.message}`
    const wait = await operations.patience(job, of, { reason, limitMs: waitLimits.bulk })
    if (wait.isOver) return false
    await job.fence.write(async (tx) => {
      await operations.delayed(tx, of, { reason, since: new Date(job.now()) })
      await operations.step(tx, operation.id, 'command', {
        status: 'waiting',
        reason: wait.sentence,
      })
    })
    return true
  }

  return async (job: Job): Promise<Outcome> => {
    const [server, work] = await Promise.all([
      store.byId(db, job.key),
      operations.carriedBy(db, job),
    ])
    if (!server || !work) return undefined
    const { operation, isCancelled } = work
    const wasSent = operation.steps.find((s) => s.key === 'command')!.status === 'done'
    if (isCancelled)
      return end(
        job,
        operation,
        'cancelled',
        wasSent ? 'The machine had received the command already' : null,
      )
    if (!server.cluster_id)
      return end(job, operation, 'failed', `${server.name} is in no cluster any more`)
    if (server.operation_id !== operation.id && !(await holdAgain(job, server, operation)))
      return end(job, operation, 'failed', `Another operation runs on ${server.name}`)
    let isSending = false
    const kind = operation.kind as MachineCommand
    const { waits } = await operations.argumentsOf(db, operation.id, kind)
    try {
      const connection = await servers.connection(server.id)
      if (!wasSent) {
        // One that is silent at the moment is found before the command may have reached it.
        if (waits)
          await secure(server, connection, stageSeen, {
            signal: job.signal,
            deadlineMs: lookDeadlineMs,
          })
        const isSent = await command(job, operation, server, connection, () => (isSending = true))
        if (!isSent) return { againMs: lookAgainMs }
      }
      const [now, noted] = await Promise.all([
        operations.read(db, operation.id),
        operations.argumentsOf(db, operation.id, kind),
      ])
      return await follow(job, now!, server, connection, noted)
    } catch (error) {
      if (job.signal.aborted || !(error instanceof TalosError || error instanceof Problem))
        throw error
      if (waits && !wasSent && (await waitForServer(job, operation, error, isSending)))
        return { againMs: silentAgainMs }
      const failed = wasSent ? operation.steps.at(-1)!.key : 'command'
      await job.fence.write((tx) =>
        operations.step(tx, operation.id, failed, { status: 'failed', reason: error.message }),
      )
      return end(job, operation, 'failed', `${server.name}: ${error.message}`)
    }
  }
}
