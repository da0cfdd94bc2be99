/** The images that a configuration names. */
import { rootsOf } from '../config/whole.ts'
import type { MapNode } from '../config/tree.ts'
import { copyFrom, readIn } from './home.ts'
import { facts } from './table.ts'

const imageFacts = {
  install: 'installImage',
  kubelet: 'kubeletImage',
  apiServer: 'apiServerImage',
  controllerManager: 'controllerManagerImage',
  scheduler: 'schedulerImage',
  proxy: 'proxyImage',
} as const

/**
 * Images as a configuration names them: `registry.k8s.io/kube-apiserver:v1.36.3`. Images that
 * aren't set are left out.
 */
export type MachineImages = { readonly [name in keyof typeof imageFacts]?: string }
const imageNames = Object.keys(imageFacts) as (keyof MachineImages)[]

const imagesIn = (roots: readonly MapNode[]): MachineImages =>
  Object.fromEntries(
    imageNames.flatMap((name) => {
      const image = readIn(roots, facts[imageFacts[name]])
      return image === null ? [] : [[name, image] as const]
    }),
  )

/** The images of a configuration. @throws ConfigError for invalid YAML */
export const imagesOf = (config: string): MachineImages => imagesIn(rootsOf(config))

/** The images by names of facts, for `patchOf` and `withFacts`. */
export const factsOfImages = (images: MachineImages) =>
  Object.fromEntries(
    imageNames.flatMap((name) =>
      images[name] === undefined ? [] : [[imageFacts[name], images[name]]],
    ),
  ) as { readonly [name in (typeof imageFacts)[keyof MachineImages]]?: string }

/**
 * The documents of `before` with the images of `after` that differ, and all images of `after`; null
 * if none differs.
 */
export function withChangedImages(
  before: readonly MapNode[],
  after: readonly MapNode[],
): { roots: readonly MapNode[]; images: MachineImages | null } {
  const [old, now] = [imagesIn(before), imagesIn(after)]
  const changed = imageNames.filter(
    (name) => now[name] !== undefined && old[name] !== undefined && now[name] !== old[name],
  )
  return {
    roots: changed.reduce(
      (roots, name) => copyFrom<string | null>(roots, after, facts[imageFacts[name]]),
      before,
    ),
    images: changed.length > 0 ? now : null,
  }
}
