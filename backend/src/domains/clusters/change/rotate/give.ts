/** Sends one server its current configuration with the secrets of a step. Safe to repeat after a crash: the machine is read before anything is sent. */
import { driftSentence } from '#contract/servers/drift.ts'
import { TalosError } from '#talos/client/errors.ts'
import { compareConfigs } from '#talos/config/compare.ts'
import { type Form, inForm } from '#talos/secrets/rotation.ts'
import { readFound } from '../../../patches/drift/found.ts'
import { outside } from '../../outside.ts'
import { storeConfig } from '../../render.ts'
import type * as store from '../../store.ts'
import { type ChangeTurn, keyOf, type StepResult, talos, write } from '../frame.ts'
import { formsOf, type ServerStep } from './stages.ts'
import type { OpenRotation } from '../../secrets.ts'

const applyDeadlineMs = 60_000

const isSame = (one: string, other: string): boolean => compareConfigs(one, other).same

/** @throws TalosError; Problem server_unreachable */
export async function give(turn: ChangeTurn, rotation: OpenRotation, m: store.MemberRow, step: ServerStep): Promise<StepResult> {
  const { parts } = turn
  const { cluster_id: clusterId, node_id: nodeId, name } = m
  const kept = outside(parts)
  const isControlPlane = m.role === 'control_plane'
  const { form, later } = formsOf(rotation.what, step)
  const { stored: found, active } = await talos(turn, nodeId, readFound)
  const wanted = inForm(found, isControlPlane, rotation, form)
  const configs = await kept.configs(parts.db, clusterId, nodeId)
  if (configs === null) return { failed: `Steelyard does not know which configuration ${name} should have` }
  const { newest, held } = configs

  const note = (generation: number, reached: Form) =>
    write(turn, async (tx) => {
      await kept.noteHeld(tx, clusterId, nodeId, generation)
      await kept.rebase(tx, clusterId, nodeId, (base) => inForm(base, isControlPlane, rotation, reached))
    })

  const reached = [form, ...later].find((one) => isSame(found, inForm(found, isControlPlane, rotation, one)))
  if (reached !== undefined) {
    // The configuration was sent before a crash, or the server has it already.
    if (isSame(newest.yaml, found)) await note(newest.generation, reached)
    else if (!isSame(held.yaml, found)) return { failed: drifted(name) }
    return isSame(active, found) ? 'done' : { waiting: `${name} restarts with its new secrets` }
  }

  let { generation } = newest
  if (!isSame(newest.yaml, wanted)) {
    if (!isSame(newest.yaml, found))
      return isSame(held.yaml, found) ? { waiting: `${name} has not received its newest configuration yet` } : { failed: drifted(name) }
    generation = await write(turn, (tx) => storeConfig(parts, tx, clusterId, nodeId, wanted))
  }
  try {
    await turn.job.effect(keyOf(`rotate-${step}`, nodeId), () =>
      talos(turn, nodeId, (client) => client.applyConfiguration(wanted, { mode: rotation.what === 'tokens' ? 'auto' : 'no-reboot' }), applyDeadlineMs),
    )
  } catch (error) {
    if (error instanceof TalosError && error.kind === 'invalid_argument') return { failed: `${name} refused its new secrets: ${error.message}` }
    throw error
  }
  await note(generation, form)
  return rotation.what === 'tokens' ? { waiting: `${name} restarts with its new secrets` } : 'done'
}

const drifted = (name: string): string => `${name}: ${driftSentence.toLowerCase()}. Keep or overwrite the change, then retry`
