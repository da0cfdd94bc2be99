/**
 * Installer images for upgrades of servers: whether the factory has them, and schematics that
 * differ from a server's own.
 */
import * as z from 'zod/mini'
import { Problem } from '#contract/errors.ts'
import { imageLimits } from '#contract/images.ts'
import { kernelCommandLine } from '#talos/schematic/command-line.ts'
import {
  emptySchematicId,
  type Schematic,
  schematicId,
  schematicText,
} from '#talos/schematic/schematic.ts'
import { type Reader, sentBy } from '../../reading/reader.ts'
import { asProblem, notBuilt, offered } from './checks.ts'
import { FactoryError } from './factory-call.ts'
import type { Factory } from './factory.ts'

export type Installers = ReturnType<typeof installers>

/**
 * The parts of a schematic that users choose. The others belong to the machine: its overlay, its
 * keys, and the argument with which it announces itself.
 */
export interface Chosen {
  readonly extensions: readonly string[]
  readonly kernel_args: readonly string[]
}

const texts = z.optional(z.array(z.string()))
/**
 * The parts of a schematic that `talos/schematic` can write (image-factory
 * `pkg/schematic/schematic.go`).
 */
const Stored = z.strictObject({
  overlay: z.optional(
    z.strictObject({
      image: z.string(),
      name: z.string(),
      options: z._default(z.record(z.string(), z.unknown()), {}),
    }),
  ),
  customization: z.strictObject({
    extraKernelArgs: texts,
    meta: z.optional(z.array(z.strictObject({ key: z.number(), value: z.string() }))),
    systemExtensions: z.optional(z.strictObject({ officialExtensions: texts })),
    bootloader: z.optional(z.string()),
    secureboot: z.optional(
      z.strictObject({
        enrollKeys: z.optional(z.string()),
        includeWellKnownCertificates: z.optional(z.boolean()),
      }),
    ),
  }),
})

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

export function installers({ factory, read: readText }: { factory: Factory; read: Reader }) {
  /**
   * @throws Problem factory_unreachable; factory_refused, also for a schematic with settings that
   * Steelyard doesn't know and would lose
   */
  const schematic = async (id: string): Promise<Schematic> => {
    if (id === emptySchematicId) return {}
    const short = `${id.slice(0, 12)}…`
    const text = await factory.schematic(id).catch((error: unknown) => {
      if (error instanceof FactoryError && error.kind === 'refused')
        throw new Problem(
          'factory_refused',
          `The image factory at ${factory.url} does not know the schematic ${short}: prepare an image with it first`,
        )
      throw asProblem(error)
    })
    const value = await readText(sentBy(factory.url), 'schematic', text)
    if (value === null)
      throw new Problem(
        'factory_unreachable',
        `The image factory at ${factory.url} sent an invalid response: the schematic ${short} is not YAML`,
      )
    const read = z.safeParse(Stored, value)
    if (!read.success)
      throw new Problem(
        'factory_refused',
        `The schematic ${short} has settings that Steelyard does not know: ${read.error.issues[0]!.path.join('.')}`,
      )
    const { overlay, customization } = read.data
    const { systemExtensions, ...others } = customization
    return { overlay, ...others, officialExtensions: systemExtensions?.officialExtensions }
  }

  /** @throws Problem factory_unreachable, factory_refused */
  const demandOffered = async (version: string, extensions: readonly string[]): Promise<void> => {
    const reason = await offered(factory, version, extensions)
    if (reason !== null) throw new Problem('factory_unreachable', reason)
  }

  return {
    schematic,

    /**
     * Throws if the factory has no installer of this version with this schematic, or does not
     * answer. The installer itself isn't requested, because the factory builds an installer on its
     * first request, which takes minutes.
     * @throws Problem factory_unreachable, factory_refused
     */
    async demand(version: string, id: string): Promise<void> {
      const { items, reason } = await factory.versions(true).catch((error: unknown) => {
        throw asProblem(error)
      })
      if (reason !== null) throw new Problem('factory_unreachable', reason)
      if (!items.includes(version)) throw notBuilt(version)
      const { officialExtensions = [] } = await schematic(id)
      await demandOffered(version, officialExtensions)
    },

    /**
     * Throws if the factory does not build this version with the schematic's extensions, or if the
     * kernel command line would be too long.
     * @throws Problem factory_unreachable, factory_refused, invalid
     */
    async demandBuildable(
      version: string,
      { officialExtensions = [], extraKernelArgs = [] }: Schematic,
    ): Promise<void> {
      // arm64 has the longer default arguments.
      const { length } = kernelCommandLine(
        { talosVersion: version, arch: 'arm64', secureboot: true },
        extraKernelArgs,
      )
      if (length > imageLimits.kernelCommandLine)
        throw new Problem(
          'invalid',
          `The kernel command line would have ${length} characters; at most ${imageLimits.kernelCommandLine} fit`,
        )
      await demandOffered(version, officialExtensions)
    },

    /**
     * Registers a schematic and returns its id at the factory. Safe to repeat. @throws Problem
     * factory_unreachable, factory_refused
     */
    async register(wanted: Schematic): Promise<string> {
      const ours = { text: schematicText(wanted), id: schematicId(wanted) }
      const answered = await factory.register(ours.text).catch((error: unknown) => {
        throw asProblem(error)
      })
      const id = await readText(sentBy(factory.url), 'known', ours, answered)
      if (id === null)
        throw new Problem(
          'factory_unreachable',
          `The image factory at ${factory.url} answered with the id of another schematic`,
        )
      return id
    },
  }
}
