/**
 * Writes the new image into a server's configuration after its restart, so that a later
 * installation of this server uses the same image.
 */
import { TalosError } from '#talos/client/errors.ts'
import { configuringQueue } from '../../configurations/api.ts'
import { clusterRows, type MemberRow } from '../../clusters/api.ts'
import { type ChangeTurn, memberOf, type StepAt, type StepResult, talos, write } from '../frame.ts'
import * as targets from './store.ts'
import { targetOf } from './targets.ts'

/**
 * A step that has waited for this time, in ms, requests a dry run to find out why the machine
 * doesn't take its configuration.
 */
const quietMs = 20_000

/**
 * Step `follow/<node id>`: renders the server's configuration with the new image, and waits until
 * the server's reconciler has delivered it.
 */
export async function follow(turn: ChangeTurn, { nodeId, step }: StepAt): Promise<StepResult> {
  const { parts, state } = turn
  const m = memberOf(turn, nodeId!)
  const row = await targetOf(turn, m.node_id)
  if (row.followed_at === null) {
    await write(turn, async (tx) => {
      const images =
        m.images === null ? {} : { images: JSON.stringify({ ...m.images, install: row.image }) }
      await clusterRows.updateMember(tx, state.row.id, m.node_id, {
        install_image: row.image,
        ...images,
      })
      await parts.servers.noteTalos(tx, m.node_id, {
        talos_version: row.version,
        schematic: row.schematic,
      })
      // Talos accepts another install image without a restart (Talos `v1alpha1_server.go`,
      // ApplyConfiguration).
      await parts.configurations.renderAgain(tx, state.row.id, m.node_id)
      await parts.engine.wake(tx, configuringQueue, m.node_id)
      await targets.update(tx, row, { followed_at: new Date(turn.job.now()) })
    })
    return { waiting: `${m.name} gets its configuration`, againMs: 200 }
  }
  const [newest, [facts]] = await Promise.all([
    parts.configurations.kept.state(parts.db, state.row.id, m.node_id),
    parts.servers.forPlan(parts.db, [m.node_id]),
  ])
  if (facts!.drift_since !== null)
    return {
      waiting: `The configuration of ${m.name} was changed outside of Steelyard: look at the difference, then keep or overwrite it`,
    }
  if (newest === null || newest.held_at !== null) return 'done'
  const undone = await turn.parts.configurations.whyUndone(state.row.id, m.node_id)
  if (undone !== null)
    return {
      failed: `${m.name} can't get its configuration. A saved patch was undone: ${undone}. Change or remove it, then retry`,
    }
  // The server's reconciler may not send it now. It does later, also after a cancel.
  if (facts!.pending !== null)
    return { waiting: facts!.pending, againMs: 1_000, isSafe: true, isUnsent: true }
  const isLong =
    step.started_at !== null && turn.job.elapsedMs(Date.parse(step.started_at)) > quietMs
  return (
    (isLong ? await refusal(turn, m) : null) ?? {
      waiting: `${m.name} gets its configuration`,
    }
  )
}

/**
 * Why the machine refuses its configuration, from a dry run, or null. The reconciler of
 * configurations doesn't send a refused one again.
 */
async function refusal(turn: ChangeTurn, m: MemberRow): Promise<StepResult | null> {
  try {
    await talos(turn, m.node_id, (client) =>
      turn.parts.configurations.applyNewest(client, m, { mode: 'no-reboot', dryRun: true }),
    )
    return null
  } catch (error) {
    if (!(error instanceof TalosError) || error.kind !== 'invalid_argument') throw error
    return { failed: `${m.name} refuses its configuration: ${error.message}` }
  }
}
