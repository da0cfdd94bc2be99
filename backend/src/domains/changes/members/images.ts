/**
 * The images of servers that join a running cluster. A server gets the extensions that all servers
 * there have: otherwise its pods would miss them, such as iscsi-tools, without anybody being told.
 */
import type { Check, ClusterRole } from '#contract/clusters/clusters.ts'
import { Problem } from '#contract/errors.ts'
import { type Schematic, schematicId } from '#talos/schematic/schematic.ts'
import { chosenIn, type Installers, withChosen } from '../../images/api.ts'
import { type ChosenServer, emptySchematic, type ServerImages } from '../../clusters/api.ts'
import { listed } from '../../../sentences.ts'
import { check, isWanted } from '../../control-planes/api.ts'
import { type ChangeView } from '../frame.ts'

type Joiner = Pick<ChosenServer, 'node_id' | 'name' | 'role' | 'candidate'>

/** A server of the cluster. */
export interface Peer {
  readonly name: string
  readonly role: ClusterRole
  /** null: not known, or not of an image factory. */
  readonly schematic: string | null
}

/** The images of a plan's servers that join and get another one than they run. */
export interface PlannedImages extends ServerImages {
  /** Why the factory didn't say whether a server should get another image; null if it answers. */
  readonly silent: string | null
}

export interface JoiningImages {
  readonly images: PlannedImages
  readonly checks: readonly Check[]
  readonly warnings: readonly string[]
}

/** The servers that a joining one is compared with: those of its role, otherwise all. */
function peersOf(role: ClusterRole, all: readonly Peer[]): readonly Peer[] {
  const same = all.filter((peer) => peer.role === role)
  return same.length > 0 ? same : all
}

function saidOf(peers: readonly Peer[], all: readonly Peer[], cluster: string): string {
  if (peers.length === 1) return `${peers[0]!.name} has`
  const what =
    peers.length === all.length
      ? 'servers'
      : peers[0]!.role === 'worker'
        ? 'workers'
        : 'control planes'
  return `all other ${what} of ${cluster} have`
}

/** Reads each schematic once, and nothing more after the factory has not answered. */
function reader({ schematic }: Pick<Installers, 'schematic'>) {
  const known = new Map<string, Promise<Schematic>>([[emptySchematic, Promise.resolve({})]])
  let silent: Problem | null = null
  return async (id: string): Promise<Schematic> => {
    if (silent !== null && !known.has(id)) throw silent
    const asked = known.get(id) ?? schematic(id)
    known.set(id, asked)
    try {
      return await asked
    } catch (error) {
      if (error instanceof Problem && error.code === 'factory_unreachable') silent = error
      throw error
    }
  }
}

/** The extensions that all of these schematics have. */
async function commonOf(
  read: (id: string) => Promise<Schematic>,
  ids: ReadonlySet<string>,
): Promise<string[]> {
  let common: readonly string[] | null = null
  for (const id of ids) {
    const { extensions } = chosenIn(await read(id))
    common = common === null ? extensions : common.filter((one) => extensions.includes(one))
  }
  return [...new Set(common)].toSorted()
}

interface Judged {
  /** What it lacks; empty if that isn't known. */
  readonly lacks: readonly string[]
  /** The image that it gets; left out if it keeps its own. */
  readonly schematic?: Schematic
  /** Why it keeps its own. */
  readonly why?: string
  readonly isSilent?: boolean
}

/** What is to be said of a joining server; null: nothing. */
async function judgeOne(
  read: (id: string) => Promise<Schematic>,
  demandBuildable: (schematic: Schematic) => Promise<void>,
  { schematic: runs, system_disk: system }: Joiner['candidate'],
  peers: readonly Peer[],
): Promise<Judged | null> {
  const ids = new Set(peers.map(({ schematic }) => schematic ?? emptySchematic))
  const base = runs ?? emptySchematic
  if (ids.has(emptySchematic) || (ids.size === 1 && ids.has(base))) return null
  let lacks: readonly string[] = []
  try {
    const common = await commonOf(read, ids)
    if (common.length === 0) return null
    if (system !== null && runs === null) return { lacks, why: 'no image factory made its image' }
    const present = await read(base)
    const now = chosenIn(present)
    lacks = common.filter((one) => !now.extensions.includes(one))
    if (lacks.length === 0) return null
    if (system !== null) return { lacks, why: 'Talos is installed already, and is kept' }
    const schematic = withChosen(present, { ...now, extensions: [...now.extensions, ...lacks] })
    await demandBuildable(schematic)
    return { lacks, schematic }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return { lacks, why: error.message, isSilent: error.code === 'factory_unreachable' }
  }
}

/** The sentence of servers of which the same is said. */
function sentence(
  names: readonly string[],
  { lacks, why }: Judged,
  others: string,
  cluster: string,
): string {
  const isOne = names.length === 1
  const what = listed(lacks, 12)
  if (why === undefined)
    return `${listed(names)} ${isOne ? 'is' : 'are'} installed with ${what}, which ${others}`
  const after = `Once ${isOne ? 'it has' : 'they have'} joined, use “Change extensions” of ${cluster} (steelyard cluster extensions)`
  return lacks.length === 0
    ? `It is not known whether ${listed(names)} ${isOne ? 'has' : 'have'} the extensions that ${others}: ${why}. ${after}`
    : `${listed(names)} ${isOne ? 'lacks' : 'lack'} ${what}, which ${others}: ${why}. ${after}`
}

/**
 * The images that servers get when they join, and what the plan says about them. Registers nothing.
 * If the images of the cluster aren't known or have no extension in common, nothing is said.
 */
export async function judgeImages(
  installers: Pick<Installers, 'schematic' | 'demandBuildable'>,
  { name, version, peers: all }: { name: string; version: string; peers: readonly Peer[] },
  joiners: readonly Joiner[],
): Promise<JoiningImages> {
  const read = reader(installers)
  const schematics = new Map<string, { runs: string | null; gets: string }>()
  const unknown = new Map<string, Schematic>()
  const said = new Map<string, { names: string[]; judged: Judged; others: string }>()
  for (const joiner of joiners) {
    const peers = peersOf(joiner.role, all)
    if (peers.length === 0) continue
    const judged = await judgeOne(
      read,
      (schematic) => installers.demandBuildable(version, schematic),
      joiner.candidate,
      peers,
    )
    if (judged === null) continue
    const { lacks, schematic, why } = judged
    if (schematic !== undefined) {
      const gets = schematicId(schematic)
      unknown.set(gets, schematic)
      schematics.set(joiner.node_id, { runs: joiner.candidate.schematic, gets })
    }
    const others = saidOf(peers, all, name)
    const key = JSON.stringify([lacks, why, others])
    const same = said.get(key) ?? { names: [], judged, others }
    same.names.push(joiner.name)
    said.set(key, same)
  }
  const sentences = [...said.values()].map(({ names, judged, others }) => ({
    isMended: judged.schematic !== undefined,
    text: sentence(names, judged, others, name),
  }))
  return {
    images: {
      schematics,
      unknown: [...unknown.values()],
      silent: [...said.values()].find(({ judged }) => judged.isSilent)?.judged.why ?? null,
    },
    checks: sentences.filter((s) => s.isMended).map(({ text }) => check('image', true, text)),
    warnings: sentences.filter((s) => !s.isMended).map(({ text }) => text),
  }
}

/** `judgeImages` of servers that join the cluster of the view. */
export function imagesOfJoining(
  { parts, state: { row, members }, facts }: Pick<ChangeView, 'parts' | 'state' | 'facts'>,
  joiners: readonly Joiner[],
): Promise<JoiningImages> {
  const peers = members
    .filter((m) => isWanted(m) && m.node_ready_at !== null)
    .filter((m) => !joiners.some(({ node_id }) => node_id === m.node_id))
    .map((m) => ({
      name: m.name,
      role: m.role,
      schematic: facts.get(m.node_id)?.schematic ?? null,
    }))
  return judgeImages(
    parts.installers,
    { name: row.name, version: row.talos_version, peers },
    joiners,
  )
}

/** Whether a server gets another image than the one that it runs. */
export const hasOther = (images: ServerImages | undefined): boolean =>
  images !== undefined && images.schematics.size > 0

/**
 * Tells the factory the schematics of a plan, because it builds only an image whose schematic it
 * knows. One that is never used harms nothing. @throws Problem transition_refused
 */
export async function registerImages(
  { installers }: Pick<ChangeView['parts'], 'installers'>,
  images: ServerImages | undefined,
): Promise<void> {
  try {
    for (const schematic of images?.unknown ?? []) await installers.register(schematic)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    throw Problem.of('transition_refused', {
      ok: false,
      reason: `The image of a server that joins can't be had: ${error.message}. Plan the change again, or boot the server with the extensions first`,
      kind: error.kind,
    })
  }
}
