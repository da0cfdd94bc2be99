import type { Schematic } from '#talos/schematic/schematic.ts'

/**
 * The parts of a schematic that users choose. The others belong to the machine: its overlay, its
 * keys, and the argument with which it announces itself.
 */
export interface Chosen {
  readonly extensions: readonly string[]
  readonly kernel_args: readonly string[]
}

/**
 * The argument with which a server announces itself. It contains a join token, so it is never
 * shown.
 */
const isOfSteelyard = (arg: string): boolean => arg.startsWith('talos.config=')

export const chosenIn = ({ officialExtensions = [], extraKernelArgs = [] }: Schematic): Chosen => ({
  extensions: officialExtensions,
  kernel_args: extraKernelArgs.filter((arg) => !isOfSteelyard(arg)),
})

/** The schematic with other extensions and kernel arguments. */
export const withChosen = (
  schematic: Schematic,
  { extensions, kernel_args }: Chosen,
): Schematic => ({
  ...schematic,
  officialExtensions: [...new Set(extensions)].toSorted(),
  extraKernelArgs: [...kernel_args, ...(schematic.extraKernelArgs ?? []).filter(isOfSteelyard)],
})
