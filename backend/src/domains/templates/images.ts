/**
 * Servers that can't get the image of a template: Talos on their disk is kept, and a creation
 * refuses them another image.
 */
import { Problem } from '#contract/errors.ts'
import type { Server } from '#contract/servers/server.ts'
import { emptySchematicId, type Schematic } from '#talos/schematic/schematic.ts'
import { changedBy, type ImageWish, type Installers } from '../images/api.ts'

const kept = 'Talos is installed with another image, and is kept'

/** Why servers can't get the image that is asked for, by their ids. Registers nothing. */
export async function otherImages(
  { schematic }: Pick<Installers, 'schematic'>,
  { extensions, kernel_args }: ImageWish,
  servers: readonly Pick<Server, 'id' | 'cluster' | 'talos'>[],
): Promise<ReadonlyMap<string, string>> {
  const others = new Map<string, string>()
  if (extensions === undefined && kernel_args === undefined) return others
  const reasons = new Map<string, string | null>()
  let silent: string | null = null
  const reasonOf = async (id: string): Promise<string | null> => {
    try {
      const present: Schematic = id === emptySchematicId ? {} : await schematic(id)
      return changedBy({ extensions, kernel_args }, present) === null ? null : kept
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      const reason = `Talos is installed, and its image is not known: ${error.message}`
      if (error.code === 'factory_unreachable') silent = reason
      return reason
    }
  }
  for (const { id, cluster, talos } of servers) {
    if (cluster !== null || talos.installed === null) continue
    const image = talos.schematic ?? emptySchematicId
    // A factory that is silent isn't asked again.
    if (!reasons.has(image)) reasons.set(image, silent ?? (await reasonOf(image)))
    const reason = reasons.get(image) ?? null
    if (reason !== null) others.set(id, reason)
  }
  return others
}
