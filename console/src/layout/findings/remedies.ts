/** Where the remedies of a finding lead, and the page of what it is about. */
import type { Finding } from '#contract/findings/findings.ts'
import type { FindingObject, RemedyAction } from '#contract/findings/kinds.ts'
import { call } from '../../api/client.ts'
import { paths } from '../../lib/paths.ts'
import { navigate } from '../../lib/router.ts'
import { allowed } from '../../api/session.ts'
import type { Action } from '../../ui/actions.ts'
import { quarantineServer } from '../modals.ts'

/** What remedies are made from: a finding, or the worst part of an incident. */
export type Mended = Pick<
  Finding,
  'object' | 'cluster' | 'datacenter' | 'reason' | 'remedies' | 'ended_at'
>

interface Of {
  readonly finding: Mended
  /** Id of the object. */
  readonly id: string
  /** Id of its cluster. */
  readonly cluster: string
}

/**
 * Opens the roll-out of the shared patch that the server lacks. Of several, the page of the server
 * shows each. The call is loaded when it is asked.
 */
async function rollOut(id: string): Promise<void> {
  const { serverSharedPatches } = await import('#contract/shared-patches/shared-patches.ts')
  const found = await call(serverSharedPatches, { params: { id } }).catch(() => ({ items: [] }))
  const [first, ...others] = found.items.filter(({ state }) => state !== 'current')
  await navigate(
    first === undefined || others.length > 0
      ? paths.server(id)
      : paths.sharedPatch(first.id, 'roll-out'),
  )
}

/** Remedies that act where the finding is shown. */
const acts = {
  quarantine: ({ finding: { object, reason } }) => ({
    can: allowed({ scope: 'servers:write' }),
    run: () => quarantineServer({ server: object, reason }),
  }),
  resume: ({ id }) => ({
    can: allowed({ scope: 'clusters:write' }),
    run: async () => (await import('../operations/resume-cluster.tsx')).resumeClusterOf(id),
  }),
  'roll-out': ({ id }) => ({
    can: allowed({ scope: 'servers:write' }),
    run: () => rollOut(id),
  }),
} as const satisfies Partial<Record<RemedyAction, (of: Of) => Pick<Action, 'can' | 'run'>>>
type Act = keyof typeof acts
const isAct = (action: RemedyAction): action is Act => Object.hasOwn(acts, action)

const pages: Readonly<Record<Exclude<RemedyAction, Act>, (of: Of) => string>> = {
  backups: () => paths.backups(),
  certificates: ({ cluster }) => paths.cluster(cluster, 'health'),
  channels: () => paths.channels(),
  confirm: ({ id }) => paths.server(id),
  defragment: ({ cluster }) => paths.changeCluster(cluster, 'defragment'),
  drift: ({ id }) => paths.server(id),
  health: ({ cluster }) => paths.cluster(cluster, 'health'),
  // Its page shows where the operation stopped, and goes on.
  operation: ({ finding }) =>
    paths.operation(
      finding.remedies
        .find((r) => r.action === 'operation')
        ?.call.split('/')
        .at(-2) ?? '',
    ),
  pools: ({ cluster }) => paths.assignSubnets({ cluster }),
  replace: ({ id, cluster }) => paths.changeCluster(cluster, 'replace', { server: id }),
  // Its page has the command, which asks first.
  restart: ({ id }) => paths.server(id),
  restore: ({ cluster }) => paths.changeCluster(cluster, 'restore'),
  secrets: ({ cluster }) => paths.cluster(cluster),
  server: ({ id }) => paths.server(id),
  servers: ({ finding }) =>
    paths.servers({ datacenter: finding.datacenter?.code ?? '', reachable: 'false' }),
  snapshot: ({ cluster }) => paths.changeCluster(cluster, 'snapshot'),
  timeline: ({ cluster }) => paths.cluster(cluster, 'timeline'),
}

/** Remedies that only show more; they come after those that mend. */
const looks: ReadonlySet<RemedyAction> = new Set(['health', 'server', 'servers', 'timeline'])

/** The remedies that don't lead to the page on which they would stand. */
export const remediesFrom = (page: string, finding: Mended): Action[] =>
  remedyActions(finding).filter(({ to }) => to === undefined || to.split('?')[0] !== page)

/** A finding that has ended needs nothing. */
export const remedyActions = (finding: Mended): Action[] =>
  finding.ended_at !== null
    ? []
    : finding.remedies
        .toSorted((a, b) => Number(looks.has(a.action)) - Number(looks.has(b.action)))
        .map(({ title, action }) => {
          const of = {
            finding,
            id: finding.object.id,
            cluster: finding.cluster?.id ?? finding.object.id,
          }
          return {
            label: title,
            ...(isAct(action) ? acts[action](of) : { to: pages[action](of) }),
          }
        })

const pagesOf: Readonly<Record<FindingObject, (finding: Pick<Finding, 'object'>) => string>> = {
  server: ({ object }) => paths.server(object.id),
  cluster: ({ object }) => paths.cluster(object.id),
  datacenter: ({ object }) => paths.servers({ datacenter: object.name, reachable: 'false' }),
  channel: () => paths.channels(),
  installation: () => paths.backups(),
}
export const pageOfFinding = (finding: Pick<Finding, 'object'>): string =>
  pagesOf[finding.object.kind](finding)
