/** What other domains may call of images: which versions exist, and installers for upgrades. */
import type { Schematic } from '#talos/schematic/schematic.ts'
import type { SupportedPair } from '#talos/versions.ts'

export { changedBy, type Chosen, chosenIn, type ImageWish, withChosen } from './chosen.ts'
export { compareVersions } from './factory.ts'

/** The versions that are offered, by the factory's last answer. No function makes a call. */
export interface OfferedVersions {
  /** The newest version of each minor that Steelyard supports, newest first. */
  readonly pairs: () => SupportedPair[]
  /** Those of `pairs` that are offered for new clusters. */
  readonly pairsForNew: () => SupportedPair[]
  /** Known Kubernetes versions that a Talos version runs, newest first. */
  readonly kubernetes: (talos: string) => string[]
  /** Why these versions can't be used together, or undefined. */
  readonly problem: (talos: string, kubernetes: string) => string | undefined
  /** Those of these versions that are out of support. */
  readonly unsupported: (talos: string, kubernetes: string) => Unsupported[]
  /** The sentences of `unsupported`. */
  readonly warnings: (talos: string, kubernetes: string) => string[]
}

/** A version that is out of support. */
export interface Unsupported {
  readonly of: 'talos' | 'kubernetes'
  readonly sentence: string
  /** The day on which its support ended, as `2026-09-03`. Null if it isn't known. */
  readonly since: string | null
}

/**
 * Installer images by the image factory. All throw Problem factory_unreachable, factory_refused.
 */
export interface Installers {
  /** A registered schematic. */
  readonly schematic: (id: string) => Promise<Schematic>
  /**
   * Throws if the factory has no installer of this version with this schematic, or does not answer.
   * The installer itself isn't requested, because the factory builds an installer on its first
   * request, which takes minutes.
   */
  readonly demand: (version: string, id: string) => Promise<void>
  /**
   * Throws if the factory does not build this version with the schematic's extensions, or if the
   * kernel command line would be too long. @throws Problem also invalid
   */
  readonly demandBuildable: (version: string, schematic: Schematic) => Promise<void>
  /** Registers a schematic and returns its id at the factory. Safe to repeat. */
  readonly register: (wanted: Schematic) => Promise<string>
}

export interface Images {
  readonly versions: OfferedVersions
  readonly installers: Installers
}
