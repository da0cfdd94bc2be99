/** After a server runs another Talos: its configuration names the image, so that an installation of it and new servers get the same. */
import { configuringQueue } from '../../../patches/configuring.ts'
import { renderAgain } from '../../render.ts'
import * as clusters from '../../store.ts'
import { type ChangeTurn, memberOf, type StepAt, type StepResult, write } from '../frame.ts'
import * as targets from './store.ts'
import { targetOf } from './targets.ts'

/** Step `follow/<node id>`: renders the server's configuration with the new image, has it sent, and waits until the machine has it. */
export async function follow(turn: ChangeTurn, { nodeId }: StepAt): Promise<StepResult> {
  const { parts, state } = turn
  const m = memberOf(turn, nodeId!)
  const row = await targetOf(turn, m.node_id)
  if (row.followed_at === null) {
    await write(turn, async (tx) => {
      const images = m.images === null ? {} : { images: JSON.stringify({ ...m.images, install: row.image }) }
      await clusters.updateMember(tx, state.row.id, m.node_id, { install_image: row.image, ...images })
      await parts.servers.noteTalos(tx, m.node_id, { talos_version: row.version, schematic: row.schematic })
      // Talos takes another install image without a restart (Talos `v1alpha1_server.go`, ApplyConfiguration).
      await renderAgain(parts, tx, state.row.id, m.node_id)
      await parts.engine.wake(tx, configuringQueue, m.node_id)
      await targets.update(tx, row, { followed_at: new Date(turn.job.now()) })
    })
    return { waiting: `${m.name} gets its configuration`, againMs: 200 }
  }
  const [newest, [facts]] = await Promise.all([clusters.newestConfig(parts.db, state.row.id, m.node_id), parts.servers.forPlan(parts.db, [m.node_id])])
  if (facts!.drift_since !== null)
    return { waiting: `The configuration of ${m.name} was changed outside of Steelyard: look at the difference, then keep or overwrite it` }
  return newest === undefined || newest.held_at !== null ? 'done' : { waiting: `${m.name} gets its configuration`, againMs: 500 }
}
