/** Clusters that are made from a template: the API chooses the servers, and says why. */
import type {
  ClusterDocument,
  ClustersDocument,
  TemplateDocument,
} from '#contract/apply/documents.ts'
import { clusterCreate } from '#contract/clusters/clusters.ts'
import { diskSentence } from '#contract/disks/wipe.ts'
import {
  type NewTemplate,
  type PlannedCluster,
  type PlannedServer,
  templatePlan,
} from '#contract/templates/templates.ts'
import { settingsSaid } from '#contract/templates/first-settings.ts'
import { counted } from '#contract/words.ts'
import { withDisks } from '../../commands/confirm-disks.ts'
import { withLosses } from '../../commands/confirm-loss.ts'
import { disk as diskSize, words } from '../../text.ts'
import type { Placed } from '../files.ts'
import { documentsOf, keyOf, planner, type Planning, ranks, refuse, type Run } from '../plan.ts'

const sizeOf = ({ size }: { readonly size: number | null }): string =>
  size === null ? '' : `, ${diskSize(size)}`

/** The lines of a server in the plan: why it was chosen, and which of its disks are wiped. */
function serverLines(one: PlannedServer): string[] {
  const { device, disk, content, wiped, reason } = one.install_disk
  return [
    `${one.name}, ${words(one.role)}: ${one.reasons.join('; ')}`,
    `  Talos on ${device} (${disk}${sizeOf(one.install_disk)}): ${reason}${wiped ? `. It is wiped; it holds ${content}` : ', and it is not wiped'}`,
    ...one.workload_disks.map(
      (d) =>
        `  Workload on ${d.device} (${d.disk}${sizeOf(d)}). It is wiped; it holds ${d.content}`,
    ),
  ]
}

const detailsOf = (
  { servers, to_confirm, subnets }: PlannedCluster,
  template: NewTemplate,
): string[] => [
  ...servers.flatMap(serverLines),
  ...to_confirm.map((one) => `To be confirmed: ${diskSentence(one)}`),
  ...subnets.map(({ name, cidr }) => `Subnet ${name} (${cidr})`),
  ...settingsSaid(template).flatMap(({ part, said }) => (part === 'subnets' ? [] : [said])),
]

/** The template that the document names: of the call, of a document, or a saved one. */
async function templateOf(
  planning: Planning,
  placed: Placed<ClustersDocument>,
): Promise<{ template: NewTemplate } | { template_id: string } | null> {
  const { template: name } = placed.document
  const given = planning.templates.get(name)
  if (given) return { template: given }
  const written = documentsOf<TemplateDocument>(planning, 'template').find(
    ({ document }) => document.name === name,
  )
  if (written) {
    const { kind: _kind, ...template } = written.document
    return { template }
  }
  const saved = (await planning.world.templates()).find((one) => one.name === name)
  if (saved) return { template_id: saved.id }
  refuse(planning, placed, `There is no template ${name}, and no document describes it`, 'template')
  return null
}

async function create(run: Run, { name, body, to_confirm }: PlannedCluster): Promise<void> {
  const { confirmed_disks: empty, ...asked } = body
  // A confirmation names a disk of one cluster; others would refuse it.
  const own = run.confirmedDisks.filter((given) =>
    to_confirm.some(({ disk }) =>
      given.wwid === undefined ? disk.serial === given.serial : disk.wwid === given.wwid,
    ),
  )
  const { cluster, operation } = await withDisks(
    run.context,
    () => Promise.resolve(to_confirm),
    [...empty, ...own],
    (confirmed_disks) =>
      withLosses(run.context, run.confirmedLoss, (losses) =>
        run.call(clusterCreate, { body: { ...asked, confirmed_disks, ...losses } }),
      ),
  )
  run.made('cluster', name, cluster.id)
  run.begun(name, operation.id)
}

function planCluster(
  planning: Planning,
  placed: Placed<ClustersDocument>,
  planned: PlannedCluster,
  template: NewTemplate,
): void {
  const { name, servers } = planned
  planning.plan.steps.push({
    kind: 'cluster',
    name,
    placed,
    rank: ranks.cluster,
    does: 'create',
    changes: [],
    note: `${counted(servers.length, 'server')} from the template ${template.name}`,
    details: detailsOf(planned, template),
    run: (run) => create(run, planned),
  })
}

export const clustersFromTemplate = planner<ClustersDocument>({
  kind: 'clusters',
  // Its clusters are recorded as such.
  appliedKind: null,
  nameOf: ({ names }) => names.join(', '),

  async plan(planning, placed) {
    const { world, plan, context } = planning
    const now = new Map((await world.clusters()).map((c) => [c.name, c]))
    const servers = new Map((await world.servers()).map((s) => [s.name, s.id]))
    // Servers that documents name are not chosen.
    const without = new Set(
      documentsOf<ClusterDocument>(planning, 'cluster').flatMap(({ document }) =>
        document.servers.flatMap(({ server }) => servers.get(server) ?? []),
      ),
    )
    const named = new Set<string>()
    for (const one of placed) {
      const { names, datacenter: code, endpoints, ...wishes } = one.document
      const { control_planes, workers, talos_version, kubernetes_version } = wishes
      const twice = names.find(
        (name, i) =>
          names.indexOf(name) !== i ||
          named.has(name) ||
          planning.defined.has(keyOf('cluster', name)),
      )
      if (twice !== undefined) {
        refuse(planning, one, `The cluster ${twice} is described twice`, 'names')
        continue
      }
      for (const name of names) {
        named.add(name)
        const known = now.get(name)
        if (known) planning.described.add(keyOf('cluster', known.id))
      }
      const stray = Object.keys(endpoints).find((name) => !names.includes(name))
      if (stray !== undefined) {
        refuse(planning, one, `${stray} is none of the names`, 'endpoints', stray)
        continue
      }
      const missing = names.filter((name) => !now.has(name))
      plan.unchanged += names.length - missing.length
      const template = await templateOf(planning, one)
      if (missing.length === 0 || template === null) continue
      planning.referred.set(keyOf('template', one.document.template), one)
      const datacenter = (await world.datacenters()).find((d) => d.code === code)
      if (!datacenter) {
        if (planning.defined.has(keyOf('datacenter', code)))
          plan.waiting.push({
            kind: 'clusters',
            name: missing.join(', '),
            placed: one,
            reason: `the datacenter ${code} is created first: apply again`,
          })
        else
          refuse(
            planning,
            one,
            `There is no datacenter ${code}, and no document describes it`,
            'datacenter',
          )
        continue
      }
      const planned = await context.api.call(templatePlan, {
        body: {
          ...template,
          datacenter_id: datacenter.id,
          clusters: missing.map((name) => ({
            name,
            ...(endpoints[name] !== undefined && { endpoint: endpoints[name] }),
          })),
          ...(control_planes !== undefined && { control_planes }),
          ...(workers !== undefined && { workers }),
          ...(talos_version !== undefined && { talos_version }),
          ...(kubernetes_version !== undefined && { kubernetes_version }),
          without: [...without],
        },
      })
      for (const refusal of planned.refusals) refuse(planning, one, refusal, 'template')
      plan.notes.push(...planned.warnings)
      for (const cluster of planned.clusters ?? []) {
        for (const { node_id } of cluster.servers) without.add(node_id)
        planCluster(planning, one, cluster, planned.template)
      }
      if (planned.clusters)
        plan.notes.push(
          ...planned.left.map(
            ({ reason, count }) => `Not chosen, ${counted(count, 'server')}: ${reason}`,
          ),
        )
    }
  },

  prune: async () => undefined,
  export: async () => [],
})
