/** What is said of a patch, at the function that every door of a configuration asks. */
import { expect } from 'vitest'
import { config } from '#talos/testing/generated.ts'
import { cautionsOf, composeChange, previewOf, refusedOf } from '../render.ts'
import { generatedFor, type Reported, world } from './reported.ts'

const layer = (body: string) => [{ id: 'id', name: 'mine', weight: 500, body }]

/** The sentences of a save and of a preview of an input on a server of a cluster. */
export function said({ on, version, of, cluster = '', body }: Reported) {
  const generated = generatedFor(version)
  const base = config({ ...generated, role: on })
  const context = {
    talosVersion: version,
    kubernetesVersion: generated.kubernetesVersion,
    controlPlane:
      on === 'worker'
        ? composeChange(
            { base: config(generated), layers: [] },
            { base: config(generated), layers: layer(cluster) },
            { talosVersion: version },
            null,
          ).yaml
        : undefined,
  }
  const inventory = { ...world, ...of }
  const saved = composeChange(
    { base, layers: [] },
    { base, layers: layer(body) },
    context,
    inventory,
  )
  const shown = previewOf({
    base,
    context,
    without: [],
    with: layer(body),
    patch: { name: 'mine', body },
    audience: 'everybody',
    links: null,
    inventory,
  })
  const refused = refusedOf(saved.findings, 'mine').map(({ message }) => message)
  const warned = cautionsOf(saved, 'mine').map(({ message }) => message)
  expect(saved.errors.map(({ message }) => message)).toEqual([])
  expect(shown.errors.map(({ message }) => message)).toEqual(refused)
  expect(shown.cautions.map(({ message }) => message)).toEqual(warned)
  return { refused, warned }
}

/** The answer that an input must get, in the form that `said` has. */
export const answerOf = ({ answer, sentence }: Reported) => {
  const it = answer === 'right' ? [] : [expect.stringMatching(sentence!) as string]
  return {
    refused: answer === 'refused' ? it : [],
    warned: answer === 'refused' ? expect.anything() : it,
  }
}
