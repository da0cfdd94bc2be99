/**
 * Steps that write another Talos image to a server and restart it. Each command is recorded before
 * and after it is sent, and every run reads the machine's state first. So a run may end anywhere,
 * and a machine that has got the command does not get it again.
 */
import { stageSaid } from '#contract/servers/server.ts'
import { TalosError } from '#talos/client/errors.ts'
import type { TalosClient } from '#talos/client/client.ts'
import { touching } from '../../control-planes/api.ts'
import { clusterRows, lastLines } from '../../clusters/api.ts'
import { atTime } from '../../../sentences.ts'
import {
  type ChangeTurn,
  memberOf,
  type StepAt,
  type StepResult,
  talos,
  viewOf,
  write,
} from '../frame.ts'
import { lastWords, lookAt, type Running, runs, writesAhead } from './look.ts'
import * as store from './store.ts'
import { showProgress } from './progress.ts'
import { targetOf } from './targets.ts'

/**
 * How often a failed write of an image is tried before the step fails, because a registry may be
 * unreachable for a moment.
 */
const mostTries = 3
/**
 * Pause in ms before a machine gets the command to restart again. The evidence is the stage and the
 * boot: Talos shows `rebooting` or `upgrading` as soon as the command begins (`machine_status.go`),
 * and keeps it if the command hangs. A machine that is `running` in the same boot after the pause
 * hasn't begun it.
 */
const restartAgainMs = 120_000
/** A step that has waited for this time, in ms, shows the last lines of the machine's log. */
const quietMs = 15_000

type Row = store.TargetRow

const roundOf = async ({ parts, operation }: ChangeTurn): Promise<number> =>
  (await parts.operations.state(parts.db, operation.id))?.round ?? 1

/**
 * Fails the step. The machine's last lines are kept with the server, because its log is gone after
 * the next restart.
 */
async function failed(
  turn: ChangeTurn,
  row: Row,
  reason: string,
): Promise<{ readonly failed: string }> {
  const { parts, job, state, operation } = turn
  const log = await lastLines(
    await parts.servers.connection(row.node_id),
    (await parts.secrets.talosAdmin(state.row.id))!,
    job.now(),
    job.signal,
  )
  await write(turn, async (tx) => {
    await store.update(tx, row, { intent_at: null, sent_at: null, written_at: null, boot_id: null })
    await clusterRows.updateMember(
      tx,
      state.row.id,
      row.node_id,
      { ...log, trouble: reason },
      operation.id,
    )
  })
  return { failed: reason }
}

/** Like `failed`, for a machine that runs its old version. */
const failedUnharmed = async (turn: ChangeTurn, row: Row, reason: string): Promise<StepResult> => ({
  ...(await failed(turn, row, reason)),
  isUnharmed: true,
})

/** Whether the error is a refusal of the machine. For other errors the step waits. */
const isRefusal = (error: unknown): error is TalosError =>
  error instanceof TalosError &&
  [
    'other',
    'invalid_argument',
    'failed_precondition',
    'not_found',
    'permission_denied',
    'unimplemented',
  ].includes(error.kind)

/**
 * Pulls and writes the image, and shows the progress in the step `key`. Returns null if it is
 * written, otherwise why the step waits or fails.
 */
async function writeImage(turn: ChangeTurn, row: Row, key: string): Promise<StepResult | null> {
  const { job, operation } = turn
  if (row.written_at !== null) return null
  const { name } = memberOf(turn, row.node_id)
  const round = await roundOf(turn)
  let tries = 0
  try {
    await job.effect(`write-talos/${operation.id}/${row.node_id}/${round}`, async ({ attempt }) => {
      tries = attempt
      // Safe to repeat: the same image is written to the same place of the disk.
      await talos(turn, row.node_id, async (client) => {
        const onProgress = showProgress(turn, key, `Talos ${row.version}`, name)
        await client.pullInstaller(row.image, { onProgress })
        await client.writeInstaller(row.image, { onProgress })
      })
    })
  } catch (error) {
    if (!isRefusal(error) || job.signal.aborted) throw error
    const reason = `${name} could not write Talos ${row.version}: ${error.message}`
    return tries < mostTries ? { waiting: reason, isSafe: true } : failedUnharmed(turn, row, reason)
  }
  await write(turn, (tx) => store.update(tx, row, { written_at: new Date(job.now()) }))
  return null
}

/** Step `write/<node id>`: writes the image while the machine runs its old version. */
export async function writeStep(turn: ChangeTurn, { key, nodeId }: StepAt): Promise<StepResult> {
  const { name } = memberOf(turn, nodeId!)
  const row = await targetOf(turn, nodeId!)
  const seen = await lookAt(viewOf(turn), nodeId!)
  if ('silent' in seen) return { waiting: `${name} does not answer: ${seen.silent}`, isSafe: true }
  if (runs(seen, row)) return { skipped: `${name} runs Talos ${row.version} already` }
  return (await writeImage(turn, row, key)) ?? 'done'
}

/** The command that restarts a machine with another Talos image. */
interface Command {
  /** Runs before the command; returns null when it is done. */
  readonly prepare?: (
    turn: ChangeTurn,
    row: Row,
    seen: Running,
    key: string,
  ) => Promise<StepResult | null>
  readonly send: (client: TalosClient, row: Row, seen: Running) => Promise<unknown>
  /** True: the command can also be sent to a machine that stays in the stage `booting`. */
  readonly worksWhileBooting?: boolean
}

export const upgradeCommand = (isStaged: boolean): Command => ({
  prepare: async (turn, row, seen, key) =>
    writesAhead(seen.version, isStaged) ? writeImage(turn, row, key) : null,
  send: (client, row, seen) =>
    writesAhead(seen.version, isStaged)
      ? client.reboot()
      : client.upgrade({ image: row.image, stage: isStaged }),
})
export const rollbackCommand: Command = {
  send: (client) => client.rollback(),
  worksWhileBooting: true,
}

/** Sends the command to the machine. */
async function send(
  turn: ChangeTurn,
  row: Row,
  seen: Running,
  command: Command,
  key: string,
): Promise<StepResult> {
  const { job, operation } = turn
  const { name } = memberOf(turn, row.node_id)
  const round = await roundOf(turn)
  const prepared = await command.prepare?.(turn, row, seen, key)
  if (prepared) return prepared
  // The plan, or the server before, may be days old: a maintenance window or a drain can lie in
  // between.
  let tries = 0
  const sendOnce = async (): Promise<void> => {
    await write(turn, (tx) =>
      store.update(tx, row, {
        boot_id: seen.bootId,
        round,
        intent_at: new Date(job.now()),
        sent_at: null,
      }),
    )
    await job.effect(
      `restart-talos/${operation.id}/${row.node_id}/${round}`,
      async ({ attempt }) => {
        tries = attempt
        await talos(turn, row.node_id, (client) => command.send(client, row, seen))
      },
    )
  }
  try {
    const touched = await touching(viewOf(turn), memberOf(turn, row.node_id), sendOnce)
    if ('forbidden' in touched)
      return {
        waiting: touched.forbidden,
        againMs: 1_000,
        // An earlier command may still take effect.
        isSafe: row.intent_at === null,
        isUnsent: true,
      }
  } catch (error) {
    if (!isRefusal(error) || job.signal.aborted) throw error
    const reason = `${name} refused: ${error.message}`
    return tries < mostTries ? { waiting: reason } : failedUnharmed(turn, row, reason)
  }
  await write(turn, (tx) => store.update(tx, row, { sent_at: new Date(job.now()) }))
  return { waiting: `${name} restarts with Talos ${row.version}` }
}

/** Waits, with the machine's current stage as the reason. */
async function waitFor(
  turn: ChangeTurn,
  { step, nodeId }: StepAt,
  seen: Running,
): Promise<StepResult> {
  const { name } = memberOf(turn, nodeId!)
  const isLong =
    step.started_at !== null && turn.job.elapsedMs(Date.parse(step.started_at)) > quietMs
  const words = isLong && seen.stage !== 'running' ? await lastWords(turn, nodeId!) : ''
  const doing = `${name} runs Talos ${seen.version} and is ${stageSaid(seen.stage)}`
  return { waiting: [doing, words || seen.unmet].filter(Boolean).join(': ') }
}

/**
 * The reason of a wait for a machine that doesn't answer: the error, the time of the command, and
 * the stage at the last contact.
 */
async function silence(turn: ChangeTurn, row: Row, why: string): Promise<string> {
  const { name } = memberOf(turn, row.node_id)
  const [facts] = await turn.parts.servers.forPlan(turn.parts.db, [row.node_id])
  const stage =
    facts!.stage === null || facts!.stage === 'running'
      ? ''
      : `, and the server was last seen ${stageSaid(facts!.stage)}`
  const told =
    row.sent_at === null
      ? ''
      : `. The restart with Talos ${row.version} was requested at ${atTime(row.sent_at)}${stage}`
  return `${name} does not answer: ${why}${told}`
}

/**
 * Steps `upgrade/<node id>` and `rollback/<node id>`: sends the command, and waits until the
 * machine runs the target.
 */
export async function restart(turn: ChangeTurn, at: StepAt, command: Command): Promise<StepResult> {
  const nodeId = at.nodeId!
  const { name } = memberOf(turn, nodeId)
  const row = await targetOf(turn, nodeId)
  const seen = await lookAt(viewOf(turn), nodeId)
  if ('silent' in seen) return { waiting: await silence(turn, row, seen.silent) }
  const isUp = seen.stage === 'running'
  if (runs(seen, row)) return isUp ? 'done' : waitFor(turn, at, seen)
  const isNewRound = row.round < (await roundOf(turn))
  // If the result of an attempt is unknown, another boot or a stage other than running shows that
  // the command has reached the machine.
  const wasTold =
    row.sent_at !== null ||
    (row.intent_at !== null &&
      (seen.bootId !== row.boot_id || (!isUp && command.worksWhileBooting !== true)))
  const mayBeTold = isUp || (command.worksWhileBooting === true && seen.stage === 'booting')
  if (!wasTold || (isNewRound && isUp))
    return mayBeTold ? send(turn, row, seen, command, at.key) : waitFor(turn, at, seen)
  if (seen.bootId !== row.boot_id && isUp) {
    const words = await lastWords(turn, nodeId)
    const reason = `${name} came back with Talos ${seen.version}${seen.version === row.version ? ' and its old image' : ''} instead of ${row.version}${words === '' ? '' : `: ${words}`}`
    return failedUnharmed(turn, row, reason)
  }
  const sentMs = row.sent_at === null ? 0 : turn.job.elapsedMs(row.sent_at)
  return isUp && sentMs > restartAgainMs
    ? send(turn, row, seen, command, at.key)
    : waitFor(turn, at, seen)
}
