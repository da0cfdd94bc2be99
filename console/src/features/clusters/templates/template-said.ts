/** What a template holds, in words. */
import { diskRuleSaid } from '#contract/templates/needs.ts'
import { type NewTemplate, sizeSaid } from '#contract/templates/templates.ts'
import { counted } from '#contract/words.ts'
import { versionShown } from '../../../lib/text.ts'

type Role = NewTemplate['control_planes']

/** "16 cores, 64 GiB, 2 disks (NVME)"; empty if any server will do. */
const needsSaid = ({ cores, memory_gib, disks, labels }: Role['needs']): string =>
  [
    ...(cores === undefined ? [] : [counted(cores, 'core')]),
    ...(memory_gib === undefined ? [] : [`${memory_gib} GiB`]),
    ...disks.map(({ count, ...rule }) => {
      const said = diskRuleSaid(rule)
      return counted(count, 'disk') + (said === '' ? '' : ` (${said})`)
    }),
    ...(labels === undefined ? [] : [`labels ${labels}`]),
  ].join(', ')

type Said = readonly [part: string, said: string]
const named = (parts: readonly Said[]): Said[] => parts.filter(([, said]) => said !== '')

/** What a template asks of servers, and gives them. */
export const serverParts = ({ control_planes, workers, ...more }: Servers): Said[] =>
  named([
    ['Servers', `${sizeSaid({ control_planes, workers })}, control planes + workers`],
    ['A control plane has', needsSaid(control_planes.needs)],
    ['A worker has', workers.count === 0 ? '' : needsSaid(workers.needs)],
    ['Racks', more.spread_over_racks ? '' : 'Not spread over racks'],
    [
      'Patches',
      [control_planes.patch, workers.patch].flatMap((patch) => patch?.name ?? []).join(', '),
    ],
  ])
type Servers = Pick<NewTemplate, 'control_planes' | 'workers' | 'spread_over_racks'>

/** The parts of a template with their contents. Parts that are empty are left out. */
export const partsOf = (template: NewTemplate): Said[] => [
  ...serverParts(template),
  ...named([
    ['Talos', template.talos_version ? versionShown(template.talos_version) : 'Newest'],
    [
      'Kubernetes',
      template.kubernetes_version ? versionShown(template.kubernetes_version) : 'Newest',
    ],
    ['Pod network', template.pod_cidr],
    ['Service network', template.service_cidr],
    ['VLAN', template.vlan_id === null ? '' : String(template.vlan_id)],
    ['Subnets', template.subnets.length === 0 ? '' : String(template.subnets.length)],
    ['Extensions', template.extensions?.join(', ') ?? ''],
    [
      'Labels',
      Object.entries(template.labels)
        .map(([key, value]) => (value === '' ? key : `${key}=${value}`))
        .join(', '),
    ],
    ['Maintenance window', template.maintenance_window === null ? '' : 'As the cluster has'],
    ['Snapshots', template.snapshots === null ? '' : `To the store ${template.snapshots.store}`],
  ]),
]
