import { isDeepStrictEqual } from 'node:util'
import { isSetBySteelyard } from '#contract/images.ts'
import type { Schematic } from '#talos/schematic/schematic.ts'

/**
 * The parts of a schematic that users choose. The others belong to the machine: its overlay, its
 * keys, and the arguments with which it announces itself. One contains a join token, so they are
 * never shown.
 */
export interface Chosen {
  readonly extensions: readonly string[]
  readonly kernel_args: readonly string[]
}

export const chosenIn = ({ officialExtensions = [], extraKernelArgs = [] }: Schematic): Chosen => ({
  extensions: officialExtensions,
  kernel_args: extraKernelArgs.filter((arg) => !isSetBySteelyard(arg)),
})

/** The schematic with other extensions and kernel arguments. */
export const withChosen = (
  schematic: Schematic,
  { extensions, kernel_args }: Chosen,
): Schematic => ({
  ...schematic,
  officialExtensions: [...new Set(extensions)].toSorted(),
  extraKernelArgs: [...kernel_args, ...(schematic.extraKernelArgs ?? []).filter(isSetBySteelyard)],
})

const sorted = ({ extensions, kernel_args }: Chosen): Chosen => ({
  extensions: [...new Set(extensions)].toSorted(),
  kernel_args: [...kernel_args],
})

/** What an image shall have. A field that is left out keeps what the image has. */
export interface ImageWish {
  readonly extensions?: readonly string[] | undefined
  readonly kernel_args?: readonly string[] | undefined
}

/** What an image with all of the wish has; null if the schematic's has all of it already. */
export function changedBy(wish: ImageWish, schematic: Schematic): Chosen | null {
  const now = chosenIn(schematic)
  const wanted = sorted({
    extensions: wish.extensions ?? now.extensions,
    kernel_args: wish.kernel_args ?? now.kernel_args,
  })
  return isDeepStrictEqual(sorted(now), wanted) ? null : wanted
}
