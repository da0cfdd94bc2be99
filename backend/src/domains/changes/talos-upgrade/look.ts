/** What a server runs now: its version and image, its boot, and what it is doing. */
import { Problem } from '#contract/errors.ts'
import { TalosError } from '#talos/client/errors.ts'
import { readStatus } from '#talos/client/inventory.ts'
import { readTrouble } from '#talos/client/trouble.ts'
import { emptySchematicId } from '#talos/schematic/schematic.ts'
import { has } from '#talos/versions.ts'
import { type ChangeTurn, type ChangeView, viewOf } from '../frame.ts'
import { talosOf } from '../../control-planes/api.ts'
import type { TargetRow } from './store.ts'

export interface Running {
  readonly version: string
  readonly schematic: string
  readonly stage: string
  readonly bootId: string
  /** What the machine waits for; empty if nothing. */
  readonly unmet: string
  /** Free bytes on the partition that holds images; null if the machine doesn't have it mounted. */
  readonly freeBytes: number | null
}
interface Silent {
  /** Why the machine didn't answer. */
  readonly silent: string
}

const lookDeadlineMs = 5_000
const troubleDeadlineMs = 5_000

/** Mount point of the partition EPHEMERAL. */
const ephemeral = '/var'

/** Reads the state from the machine. Throws only if the caller's signal aborts, or on a bug. */
export async function lookAt(
  view: Pick<ChangeView, 'parts' | 'state' | 'signal'>,
  nodeId: string,
): Promise<Running | Silent> {
  try {
    return await talosOf(
      view,
      nodeId,
      async (client) => {
        const [status, bootId, mounts] = await Promise.all([
          readStatus(client),
          client.bootId(),
          client.mounts(),
        ])
        return {
          version: status.version,
          schematic: status.schematic ?? emptySchematicId,
          stage: status.stage,
          bootId,
          unmet: status.unmet.map((u) => `${u.name}: ${u.reason}`).join('; '),
          freeBytes: mounts.find((m) => m.on === ephemeral)?.availableBytes ?? null,
        }
      },
      lookDeadlineMs,
    )
  } catch (error) {
    if (view.signal.aborted || !(error instanceof TalosError || error instanceof Problem))
      throw error
    return { silent: error.message }
  }
}

/**
 * The last lines of the machine's log about a failure or its current work; '' if the log can't be
 * read or has none.
 */
export async function lastWords(turn: ChangeTurn, nodeId: string): Promise<string> {
  try {
    const { reason, last } = await talosOf(
      viewOf(turn),
      nodeId,
      (client) => readTrouble(client),
      troubleDeadlineMs,
    )
    return reason ?? last ?? ''
  } catch (error) {
    if (turn.job.signal.aborted || !(error instanceof TalosError || error instanceof Problem))
      throw error
    return ''
  }
}

/**
 * Whether the machine can write an image without a restart. It is then written before the drain.
 */
export const writesAhead = (version: string, isStaged: boolean): boolean =>
  has(version, 'lifecycleService') && !isStaged

/** Whether a server runs its target version and image. */
export const runs = (
  seen: Pick<Running, 'version' | 'schematic'>,
  target: Pick<TargetRow, 'version' | 'schematic'>,
): boolean => seen.version === target.version && seen.schematic === target.schematic
