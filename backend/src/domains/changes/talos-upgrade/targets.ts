/**
 * Targets of the servers of an upgrade. They are stored before anything is sent, so that an upgrade
 * that continues after a crash has the same targets.
 */
import { Problem } from '#contract/errors.ts'
import { installImage } from '../../clusters/api.ts'
import { type ChangeTurn, prefixOf, type StepResult, viewOf, write } from '../frame.ts'
import { lookAt } from './look.ts'
import { passIn } from '../shared/passes.ts'
import * as store from './store.ts'

/** Version and schematic that a server gets. */
interface Wanted {
  readonly version: string
  readonly schematic: string
}

/** Ids of the servers that the operation restarts in a pass, without those that have left. */
const changedBy = ({ operation, state }: ChangeTurn, pass: string | undefined): string[] =>
  operation.steps.flatMap(({ key, node_id }) =>
    prefixOf(key) === 'upgrade' &&
    passIn(key) === pass &&
    state.members.some((m) => m.node_id === node_id && m.released_at === null)
      ? [node_id!]
      : [],
  )

/** The installer image of a version and a schematic for this server. @throws Problem not_found */
async function imageFor(
  { parts }: ChangeTurn,
  nodeId: string,
  { version, schematic }: Wanted,
): Promise<string> {
  const [facts] = await parts.servers.forPlan(parts.db, [nodeId])
  return installImage({ schematic, secure_boot: facts!.secure_boot }, version, parts.config)
}

/**
 * Step `image`: stores the target of each server. `wantedOf` gets what the server runs now.
 * `demand` throws if the factory does not have the image; a rollback needs none. Servers that have
 * a target already keep it. `pass`: the version of a pass; the next pass has other targets.
 */
export async function decideTargets(
  turn: ChangeTurn,
  wantedOf: (now: Wanted) => Promise<Wanted>,
  demand: (wanted: Wanted) => Promise<void> = ({ version, schematic }) =>
    turn.parts.installers.demand(version, schematic),
  { pass, version }: { readonly pass?: string | undefined; readonly version?: string } = {},
): Promise<StepResult> {
  const { parts, operation, job } = turn
  const decided = new Set(
    (await store.ofOperation(parts.db, operation.id))
      .filter((row) => version === undefined || row.version === version)
      .map((row) => row.node_id),
  )
  for (const nodeId of changedBy(turn, pass).filter((id) => !decided.has(id))) {
    const seen = await lookAt(viewOf(turn), nodeId)
    if ('silent' in seen) return { waiting: seen.silent, isSafe: true }
    let row: Parameters<typeof store.put>[1]
    try {
      const wanted = await wantedOf(seen)
      await demand(wanted)
      const image = await imageFor(turn, nodeId, wanted)
      row = {
        operation_id: operation.id,
        node_id: nodeId,
        image,
        version: wanted.version,
        schematic: wanted.schematic,
        version_before: seen.version,
        schematic_before: seen.schematic,
        created_at: new Date(job.now()),
      }
    } catch (error) {
      if (error instanceof Problem && error.code === 'factory_refused')
        return { failed: error.message }
      throw error
    }
    await write(turn, (tx) => store.put(tx, row))
  }
  return 'done'
}

/** @throws Error if the server has no target */
export async function targetOf(
  { parts, operation }: ChangeTurn,
  nodeId: string,
): Promise<store.TargetRow> {
  const row = await store.get(parts.db, operation.id, nodeId)
  if (!row) throw new Error(`The operation ${operation.id} has no target for ${nodeId}`)
  return row
}
