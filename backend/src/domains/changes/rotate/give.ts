/**
 * Sends one server its current configuration with the secrets of a step. Safe to repeat after a
 * crash: the machine is read before anything is sent.
 */
import { driftSentence } from '#contract/servers/drift.ts'
import { TalosError } from '#talos/client/errors.ts'
import type { Form } from '#talos/secrets/rotation.ts'
import { sentBy } from '../../../reading/asker.ts'
import { within } from '../../../reading/reader.ts'
import { touching } from '../../control-planes/api.ts'
import { readFound } from '#talos/client/found.ts'
import { formsOf, type MemberRow, type OpenRotation, type ServerStep } from '../../clusters/api.ts'
import { type ChangeTurn, keyOf, type StepResult, talos, viewOf, write } from '../frame.ts'

const applyDeadlineMs = 60_000

/** @throws TalosError; Problem server_unreachable */
export async function give(
  turn: ChangeTurn,
  rotation: OpenRotation,
  m: MemberRow,
  step: ServerStep,
): Promise<StepResult> {
  const { parts } = turn
  const { cluster_id: clusterId, node_id: nodeId, name } = m
  const { kept } = parts.configurations
  const isControlPlane = m.role === 'control_plane'
  const { form, later } = formsOf(rotation.what, step)
  const { stored: found, active } = await talos(turn, nodeId, readFound)
  const from = sentBy(name)
  const inForm = (config: string, one: Form, read = parts.read) =>
    read(from, 'form', config, isControlPlane, rotation, one)
  const isSame = async (one: string, other: string): Promise<boolean> =>
    (await parts.read(from, 'same', one, [other]))[0]!
  const wanted = await inForm(found, form)
  const configs = await kept.all(parts.db, clusterId, nodeId)
  if (configs === null)
    return { failed: `Steelyard does not know which configuration ${name} should have` }
  const { newest, held } = configs

  const note = (generation: number, reached: Form) =>
    write(turn, async (tx) => {
      await kept.noteHeld(tx, clusterId, nodeId, generation)
      await kept.rebase(tx, clusterId, nodeId, (base) =>
        inForm(base, reached, within(parts.read, tx)),
      )
    })

  const forms = [form, ...later]
  const texts: string[] = []
  for (const one of forms) texts.push(await inForm(found, one))
  const reached = forms[(await parts.read(from, 'same', found, texts)).indexOf(true)]
  if (reached !== undefined) {
    // The configuration was sent before a crash, or the server has it already.
    if (await isSame(newest.yaml, found)) await note(newest.generation, reached)
    else if (!(await isSame(held.yaml, found))) return { failed: drifted(name) }
    return (await isSame(active, found))
      ? 'done'
      : { waiting: `${name} restarts with its new secrets` }
  }

  if (!(await isSame(newest.yaml, wanted))) {
    if (!(await isSame(newest.yaml, found)))
      return (await isSame(held.yaml, found))
        ? { waiting: `${name} has not received its newest configuration yet` }
        : { failed: drifted(name) }
    await write(turn, (tx) => kept.store(tx, clusterId, nodeId, wanted))
  }
  let generation: number
  try {
    const touched = await touching(viewOf(turn), m, () =>
      turn.job.effect(keyOf(`rotate-${step}`, nodeId), () =>
        talos(
          turn,
          nodeId,
          (client) =>
            parts.configurations.applyNewest(client, m, {
              mode: rotation.what === 'tokens' ? 'auto' : 'no-reboot',
            }),
          applyDeadlineMs,
        ),
      ),
    )
    if ('forbidden' in touched)
      return { waiting: touched.forbidden, againMs: 1_000, isUnsent: true }
    generation = touched.sent.generation
  } catch (error) {
    if (error instanceof TalosError && error.kind === 'invalid_argument')
      return { failed: `${name} refused its new secrets: ${error.message}` }
    throw error
  }
  await note(generation, form)
  return rotation.what === 'tokens' ? { waiting: `${name} restarts with its new secrets` } : 'done'
}

const drifted = (name: string): string =>
  `${name}: ${driftSentence.toLowerCase()}. Keep or overwrite the change, then retry`
