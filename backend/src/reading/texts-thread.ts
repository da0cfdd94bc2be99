/**
 * The thread that reads texts in YAML: patches and configurations of users, and what machines and
 * the image factory say.
 */
import { sameAs } from '#talos/config/compare.ts'
import { factsOf, withFacts, withSecretsOf } from '#talos/facts/facts.ts'
import { imagesOf } from '#talos/facts/images.ts'
import { homesOf } from '#talos/facts/patch.ts'
import { factsThatDiffer, formOf, moveToDocuments } from '#talos/move/move.ts'
import { networkEffect } from '#talos/network-effect/effect.ts'
import { configuredLinks } from '#talos/network-effect/missing.ts'
import { trialOf } from '#talos/network-effect/trial.ts'
import { removedIn } from '#talos/kubernetes-removals.ts'
import { inForm } from '#talos/secrets/rotation.ts'
import { bundleOf, filesOf } from '../domains/clusters/takeover/proof-files.ts'
import { toldBy } from '../domains/clusters/takeover/told.ts'
import { earlyDocuments } from '#talos/schematic/early.ts'
import { knownAs, storedSchematic } from '#talos/schematic/stored.ts'
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
  documentForm: formOf,
  effect: networkEffect,
  facts: factsOf,
  factsThatDiffer,
  form: inForm,
  homes: homesOf,
  images: imagesOf,
  moveToDocuments,
  removed: removedIn,
  same: sameAs,
  told: toldBy,
  trial: trialOf,
  withFacts,
  withSecrets: withSecretsOf,
  // Files of users
  proof: filesOf,
  // Documents of an image
  early: earlyDocuments,
  // Answers of the image factory
  known: knownAs,
  schematic: storedSchematic,
}

export type TextWork = typeof work

serveWork(work)
