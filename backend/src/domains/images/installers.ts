/**
 * Installer images for upgrades of servers: whether the factory has them, and schematics that
 * differ from a server's own.
 */
import * as z from 'zod/mini'
import { Problem } from '#contract/errors.ts'
import { imageLimits } from '#contract/images/customization.ts'
import { kernelCommandLine } from '#talos/schematic/command-line.ts'
import {
  emptySchematicId,
  type Schematic,
  schematicId,
  schematicText,
} from '#talos/schematic/schematic.ts'
import type { Reader } from '../../reading/reader.ts'
import { sentBy } from '../../reading/asker.ts'
import type { Installers } from './api.ts'
import { asProblem, notBuilt, offered } from './checks.ts'
import { FactoryError } from './factory-call.ts'
import type { Factory } from './factory.ts'

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
    embeddedMachineConfiguration: z.optional(z.string()),
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

export function installers({
  factory,
  read: readText,
}: {
  factory: Factory
  read: Reader
}): Installers {
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

    async demand(version: string, id: string): Promise<void> {
      const { items, reason } = await factory.versions(true).catch((error: unknown) => {
        throw asProblem(error)
      })
      if (reason !== null) throw new Problem('factory_unreachable', reason)
      if (!items.includes(version)) throw notBuilt(version)
      const { officialExtensions = [] } = await schematic(id)
      await demandOffered(version, officialExtensions).catch((error: unknown) => {
        if (!(error instanceof Problem) || error.code !== 'factory_refused') throw error
        if (error.fields?.['extensions'] === undefined) throw error
        throw new Problem('factory_refused', `${error.message}. Change the extensions first`)
      })
    },

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
