/** Words about shared patches and their servers. */
import type { Operation } from '#contract/operations.ts'
import { hasEnded } from '#contract/operations.ts'
import type {
  SharedPatchFacts,
  SharedPatchServer,
  Targets,
} from '#contract/shared-patches/shared-patches.ts'
import { count, counted } from '#contract/words.ts'
import type { Tone } from '../../../ui/feedback/Status.tsx'

interface Said {
  tone: Tone
  word: string
  why?: string | null
}

/** Names by id. An id without a name is not one that the page knows. */
export type Names = ReadonlyMap<string, string>

const rolesSaid = { control_plane: 'control planes', worker: 'workers' } as const

/** The first names, and how many there are beside them. */
const some = (ids: readonly string[], names: Names, one: string, many = `${one}s`): string => {
  const known = ids.flatMap((id) => names.get(id) ?? [])
  if (known.length < ids.length || ids.length > 3)
    return `${count(ids.length)} ${ids.length === 1 ? one : many}`
  return known.join(' or ')
}

/**
 * "rack=3 or rack=4, workers, in poz-shop": kinds that must all match, with the entries of which any
 * matches. Empty for a patch without targets.
 */
export function targetsSaid(targets: Targets, clusters: Names, servers: Names = new Map()): string {
  const { labels, roles, cluster_ids, node_ids } = targets
  return [
    ...(labels.length > 0 ? [labels.join(' or ')] : []),
    ...(roles.length > 0 ? [roles.map((role) => rolesSaid[role]).join(' or ')] : []),
    ...(cluster_ids.length > 0 ? [`in ${some(cluster_ids, clusters, 'cluster')}`] : []),
    ...(node_ids.length > 0 ? [some(node_ids, servers, 'server')] : []),
  ].join(', ')
}

/** "31 current, 9 behind". */
const countsSaid = ({ current, behind }: SharedPatchFacts['servers']): string =>
  [
    ...(current > 0 || behind === 0 ? [`${count(current)} current`] : []),
    ...(behind > 0 ? [`${count(behind)} behind`] : []),
  ].join(', ')

/** The state of a patch: what runs, what stopped, or how many servers lack it. */
export function patchSaid({ servers, last_operation: last }: SharedPatchFacts): Said {
  if (last !== null && !hasEnded(last))
    return {
      tone: 'busy',
      word: last.kind === 'sharedPatchUndo' ? 'Undoing' : 'Rolling out',
      why: last.reason ?? countsSaid(servers),
    }
  if (servers.behind > 0 && last?.status === 'failed')
    return { tone: 'danger', word: 'Stopped', why: last.reason }
  if (servers.behind > 0)
    return {
      tone: 'warn',
      word: `${count(servers.behind)} behind`,
      why: servers.current > 0 ? `${count(servers.current)} current` : null,
    }
  return servers.targets === 0
    ? { tone: 'off', word: 'No servers' }
    : { tone: 'ok', word: 'Current' }
}

type Step = Operation['steps'][number]

/**
 * The state of a server with regard to a patch. `step`: what the last operation does or did about
 * it.
 */
export function serverSaid(
  { state, revision }: Pick<SharedPatchServer, 'state' | 'revision'>,
  step?: Pick<Step, 'status' | 'reason'>,
): Said {
  if (step?.status === 'running') return { tone: 'busy', word: 'Changing' }
  if (step?.status === 'waiting') return { tone: 'busy', word: 'Waiting', why: step.reason }
  if (state === 'current') return { tone: 'ok', word: 'Current' }
  if (step?.status === 'failed') return { tone: 'danger', word: 'Refused', why: step.reason }
  if (state === 'extra')
    return { tone: 'warn', word: 'Extra', why: 'The patch is not for this server any more' }
  return {
    tone: 'warn',
    word: 'Behind',
    why: revision === null ? null : `It has revision ${revision}`,
  }
}

/** What an undo does, for the text beside its button. `servers`: how many it changes, if known. */
export const undoSaid = (servers: number | null): string =>
  `Undo gives ${servers === null ? 'the servers that it changed' : counted(servers, 'server')} back what ${servers === 1 ? 'it' : 'they'} had before, one after another. A server on which somebody has changed this patch since keeps what it has.`
