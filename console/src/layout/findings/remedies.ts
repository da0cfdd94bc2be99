/** Where the remedies of a finding lead, and the page of what it is about. */
import type { Finding } from '#contract/findings/findings.ts'
import type { RemedyAction } from '#contract/findings/kinds.ts'
import { paths } from '../../lib/paths.ts'
import { allowed } from '../../api/session.ts'
import type { Action } from '../../ui/actions.ts'
import { quarantineServer } from '../modals.ts'

interface Of {
  readonly finding: Finding
  /** Id of the object. */
  readonly id: string
  /** Id of its cluster. */
  readonly cluster: string
}

/** Remedies that open a dialog where the finding is shown. */
const dialogs = {
  quarantine: ({ finding: { object, reason } }) => ({
    can: allowed({ scope: 'servers:write' }),
    run: () => quarantineServer({ server: object, reason }),
  }),
} as const satisfies Partial<Record<RemedyAction, (of: Of) => Pick<Action, 'can' | 'run'>>>
type InDialog = keyof typeof dialogs
const isInDialog = (action: RemedyAction): action is InDialog => Object.hasOwn(dialogs, action)

const pages: Readonly<Record<Exclude<RemedyAction, InDialog>, (of: Of) => string>> = {
  certificates: ({ cluster }) => paths.cluster(cluster, 'health'),
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
  restore: ({ cluster }) => paths.changeCluster(cluster, 'restore'),
  secrets: ({ cluster }) => paths.cluster(cluster),
  server: ({ id }) => paths.server(id),
  servers: ({ finding }) =>
    paths.servers({ datacenter: finding.datacenter?.code ?? '', reachable: 'false' }),
  snapshot: ({ cluster }) => paths.changeCluster(cluster, 'snapshot'),
  timeline: ({ cluster }) => paths.cluster(cluster, 'timeline'),
}

/** A finding that has ended needs nothing. */
export const remedyActions = (finding: Finding): Action[] =>
  finding.ended_at !== null
    ? []
    : finding.remedies.map(({ title, action }) => {
        const of = {
          finding,
          id: finding.object.id,
          cluster: finding.cluster?.id ?? finding.object.id,
        }
        return {
          label: title,
          ...(isInDialog(action) ? dialogs[action](of) : { to: pages[action](of) }),
        }
      })

export const pageOfFinding = ({ object: { kind, id, name } }: Finding): string => {
  if (kind === 'datacenter') return paths.servers({ datacenter: name, reachable: 'false' })
  return kind === 'cluster' ? paths.cluster(id) : paths.server(id)
}
