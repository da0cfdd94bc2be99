/** The current extensions and kernel arguments of a cluster's servers. */
import { Problem } from '#contract/errors.ts'
import type { ServerExtensions } from '#contract/clusters/extensions.ts'
import type { Schematic } from '#talos/schematic/schematic.ts'
import { chosenIn } from '../../images/api.ts'
import type { ChangeView } from '../frame.ts'
import { lookAtAll } from './checks.ts'

/**
 * Reads the schematic id of every machine, and each schematic once from the image factory. Changes
 * nothing.
 */
export async function installedOn(view: ChangeView): Promise<{ items: ServerExtensions[] }> {
  const { installers } = view.parts
  const looked = await lookAtAll(view)
  const schematics = new Map<string, Promise<Schematic>>()
  const items = looked.map(async ({ m, seen, silent }): Promise<ServerExtensions> => {
    const about = { node_id: m.node_id, name: m.name }
    const unknown = (reason: string) => ({ ...about, extensions: null, kernel_args: null, reason })
    if (seen === null) return unknown(silent)
    const asked = schematics.get(seen.schematic) ?? installers.schematic(seen.schematic)
    schematics.set(seen.schematic, asked)
    try {
      const { extensions, kernel_args } = chosenIn(await asked)
      return { ...about, extensions: [...extensions], kernel_args: [...kernel_args], reason: null }
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      return unknown(error.message)
    }
  })
  return { items: await Promise.all(items) }
}
