/**
 * The thread that reads texts in YAML: patches and configurations of users, and what machines and
 * the image factory say.
 */
import { imagesOf, sameAs, withSecretsOf, withValues } from '#talos/config/compare.ts'
import { valuesIn } from '#talos/config/values.ts'
import { networkEffect } from '#talos/network-effect/effect.ts'
import { configuredLinks } from '#talos/network-effect/missing.ts'
import { trialOf } from '#talos/network-effect/trial.ts'
import { removedIn } from '#talos/kubernetes-removals.ts'
import { inForm } from '#talos/secrets/rotation.ts'
import { bundleOf, filesOf } from '../domains/clusters/takeover/proof-files.ts'
import { toldBy } from '../domains/clusters/takeover/told.ts'
import { knownAs, storedSchematic } from '../domains/images/stored-schematic.ts'
import { differenceOf } from '../domains/configurations/drift/difference.ts'
import { maskText, unmask } from '../domains/configurations/composing/masking.ts'
import {
  checkBody,
  compose,
  composeChange,
  previewOf,
} from '../domains/configurations/composing/render.ts'
import { serveWork } from './serve.ts'

const work = {
  // Patches
  check: checkBody,
  compose,
  composeChange,
  links: configuredLinks,
  mask: maskText,
  preview: previewOf,
  unmask,
  // Configurations, of which a machine may have written the text
  bundle: bundleOf,
  difference: differenceOf,
  effect: networkEffect,
  form: inForm,
  images: imagesOf,
  removed: removedIn,
  same: sameAs,
  told: toldBy,
  trial: trialOf,
  values: valuesIn,
  withSecrets: withSecretsOf,
  withValues,
  // Files of users
  proof: filesOf,
  // Answers of the image factory
  known: knownAs,
  schematic: storedSchematic,
}

export type TextWork = typeof work

serveWork(work)
