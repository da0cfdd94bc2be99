/**
 * Schematics of the Image Factory: the customization of an image. The id is the hash of the
 * canonical text, so it can be computed without the factory (image-factory
 * `pkg/schematic/schematic.go`). The id that the factory returns is authoritative: an id works only
 * after the factory has received the text.
 */
import { createHash } from 'node:crypto'
import { emit } from '../config/emit.ts'
import { type MapNode, treeOf } from '../config/tree.ts'

export interface Schematic {
  /** Documents that the machine reads before any other (image-factory since 1.4.0). */
  embeddedMachineConfiguration?: string | undefined
  overlay?: { image: string; name: string; options?: Record<string, unknown> } | undefined
  extraKernelArgs?: readonly string[] | undefined
  /** Values written into the META partition. */
  meta?: readonly { key: number; value: string }[] | undefined
  /**
   * Names such as `siderolabs/gvisor`. Sorted and deduplicated in the text, so that the same set
   * has one id.
   */
  officialExtensions?: readonly string[] | undefined
  bootloader?: string | undefined
  secureboot?:
    | { enrollKeys?: string | undefined; includeWellKnownCertificates?: boolean | undefined }
    | undefined
}

/** Id of the schematic without any customization: plain Talos. */
export const emptySchematicId = '376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba'

/**
 * The canonical text that the factory hashes: fields in the factory's order, empty ones omitted,
 * `customization` always present.
 */
export function schematicText(schematic: Schematic): string {
  const filled = <T>(list: readonly T[] | undefined) =>
    list === undefined || list.length === 0 ? undefined : [...list]
  const extensions = filled([...new Set(schematic.officialExtensions)].toSorted())
  const secureboot = {
    enrollKeys: schematic.secureboot?.enrollKeys || undefined,
    includeWellKnownCertificates:
      schematic.secureboot?.includeWellKnownCertificates === true ? true : undefined,
  }
  const text = {
    overlay: schematic.overlay,
    customization: {
      embeddedMachineConfiguration: schematic.embeddedMachineConfiguration || undefined,
      extraKernelArgs: filled(schematic.extraKernelArgs),
      meta: filled(schematic.meta),
      systemExtensions: extensions === undefined ? undefined : { officialExtensions: extensions },
      bootloader: schematic.bootloader || undefined,
      secureboot: Object.values(secureboot).some((value) => value !== undefined)
        ? secureboot
        : undefined,
    },
  }
  // The image factory's own writer, whose bytes the id is of, quotes words as Talos 1.13 does.
  return emit([treeOf(text, 'schematic') as MapNode], '1.13').yaml
}

/** SHA-256 of the canonical text, lower-case hexadecimal. */
export function schematicId(schematic: Schematic): string {
  return createHash('sha256').update(schematicText(schematic)).digest('hex')
}
