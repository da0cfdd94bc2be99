/**
 * The image that a new server of a cluster is installed with, if other extensions or kernel
 * arguments are asked for than those of the image that it runs. Talos installs what
 * `machine.install.image` names, so the servers need not be booted again.
 */
import { Problem } from '#contract/errors.ts'
import { type Schematic, schematicId } from '#talos/schematic/schematic.ts'
import type { WantedImage } from '../../../db/columns.ts'
import { changedBy, type Installers, withChosen } from '../../images/api.ts'
import { type ChosenServer, emptySchematic } from '../blueprint.ts'

/** The schematics of servers by their ids, and those that the image factory has to know. */
export interface ServerImages {
  readonly schematics: ReadonlyMap<string, { readonly runs: string | null; readonly gets: string }>
  readonly unknown: readonly Schematic[]
}
export const noImages: ServerImages = { schematics: new Map(), unknown: [] }

/** null: nothing is asked for. */
export const wantedImage = ({ extensions, kernel_args }: WantedImage): WantedImage | null =>
  extensions === undefined && kernel_args === undefined
    ? null
    : { ...(extensions && { extensions }), ...(kernel_args && { kernel_args }) }

/**
 * The images that servers get. Registers nothing.
 * @throws Problem factory_unreachable, factory_refused, invalid; not_eligible for a server that
 * keeps its installed Talos, because nothing is installed there
 */
export async function imagesOf(
  installers: Pick<Installers, 'schematic' | 'demandBuildable'>,
  wish: WantedImage | null,
  version: string,
  servers: readonly Pick<ChosenServer, 'node_id' | 'name' | 'candidate'>[],
): Promise<ServerImages> {
  if (wish === null) return noImages
  const known = new Map<string, Schematic>([[emptySchematic, {}]])
  const schematics = new Map<string, { runs: string | null; gets: string }>()
  const unknown = new Map<string, Schematic>()
  for (const { node_id, name, candidate } of servers) {
    const runs = candidate.schematic
    const base = runs ?? emptySchematic
    const present = known.get(base) ?? (await installers.schematic(base))
    known.set(base, present)
    const wanted = changedBy(wish, present)
    if (wanted === null) {
      schematics.set(node_id, { runs, gets: base })
      continue
    }
    if (candidate.system_disk !== null) {
      const sentence = `${name}: Talos is installed on ${candidate.system_disk} with another image, and is kept. Boot it with the wanted image with \`talos.experimental.wipe=system\`, or leave the extensions and kernel arguments out`
      throw new Problem('not_eligible', sentence, { extensions: sentence })
    }
    const schematic = withChosen(present, wanted)
    const gets = schematicId(schematic)
    if (!unknown.has(gets)) await installers.demandBuildable(version, schematic)
    unknown.set(gets, schematic)
    schematics.set(node_id, { runs, gets })
  }
  return { schematics, unknown: [...unknown.values()] }
}

/** The servers with the schematics that they get. */
export const withImages = <S extends Pick<ChosenServer, 'node_id'>>(
  servers: readonly S[],
  { schematics }: ServerImages,
): (S & Pick<ChosenServer, 'schematic'>)[] =>
  servers.map((one) => {
    const image = schematics.get(one.node_id)
    return image === undefined ? one : { ...one, schematic: image.gets }
  })

/** @throws Problem conflict if a server runs another image than the one that was judged */
export function demandSameImages(
  servers: readonly Pick<ChosenServer, 'node_id' | 'name' | 'candidate'>[],
  { schematics }: ServerImages,
): void {
  for (const { node_id, name, candidate } of servers) {
    const image = schematics.get(node_id)
    if (image !== undefined && image.runs !== candidate.schematic)
      throw new Problem('conflict', `${name} has just been booted with another image: try again`)
  }
}
