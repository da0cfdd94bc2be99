/** The form "Choose by need": its values, the plan that it asks for, and the servers of the plan. */
import type { Server } from '#contract/servers/servers.ts'
import type { SettingsPart } from '#contract/templates/first-settings.ts'
import { type DiskRule, diskRuleSaid } from '#contract/templates/needs.ts'
import {
  type NewTemplate,
  type PlannedCluster,
  TemplatePlan,
} from '#contract/templates/templates.ts'
import type * as z from 'zod/mini'
import { readBy, type Read } from '../../../lib/fields.ts'
import type { Chosen, Draft } from '../create/draft.ts'

export type Role = 'control_planes' | 'workers'
type Wish = Pick<NewTemplate[Role], 'needs' | 'install_disk' | 'workload_disks' | 'patch'>

/** Values of the form: numbers as text, per role. */
export interface Need {
  control_planes: string
  control_planes_cores: string
  control_planes_memory: string
  control_planes_disks: string
  control_planes_labels: string
  workers: string
  workers_cores: string
  workers_memory: string
  workers_disks: string
  workers_labels: string
  spread: boolean
}

/** What the form asks for and doesn't show comes from the template: its disks and its image. */
export type Base = Pick<
  NewTemplate,
  'control_planes' | 'workers' | 'spread_over_racks' | 'extensions' | 'kernel_args'
>

const text = (n: number | undefined): string => (n === undefined ? '' : String(n))

/** Without a template: three control planes that any server may be. */
const anything: Base = (() => {
  const any: Wish = {
    needs: { disks: [] },
    install_disk: { prefer: 'smallest' },
    // All empty disks beside the one with Talos, as for servers that a person chooses.
    workload_disks: {},
  }
  return {
    control_planes: { count: 3, ...any },
    workers: { count: 0, ...any },
    spread_over_racks: true,
  }
})()

export const baseOf = (template: NewTemplate | undefined): Base => template ?? anything

/** The rule of disks that the form asks for. Further rules of a template stay as they are. */
export const firstRule = ({ needs }: Wish): DiskRule => {
  const [first] = needs.disks
  if (first === undefined) return { type: 'NVME' }
  const { count: _count, ...rule } = first
  return rule
}
/** "Disks (NVME, at least 900 GB)" */
export const disksLabel = (wish: Wish): string => {
  const said = diskRuleSaid(firstRule(wish))
  return said === '' ? 'Disks' : `Disks (${said})`
}

export const needOf = (base: Base): Need => {
  const of = (role: Role) => {
    const { count, needs } = base[role]
    return {
      count: String(count),
      cores: text(needs.cores),
      memory: text(needs.memory_gib),
      disks: text(needs.disks[0]?.count),
      labels: needs.labels ?? '',
    }
  }
  const [cp, w] = [of('control_planes'), of('workers')]
  return {
    control_planes: cp.count,
    control_planes_cores: cp.cores,
    control_planes_memory: cp.memory,
    control_planes_disks: cp.disks,
    control_planes_labels: cp.labels,
    workers: w.count,
    workers_cores: w.cores,
    workers_memory: w.memory,
    workers_disks: w.disks,
    workers_labels: w.labels,
    spread: base.spread_over_racks,
  }
}

/** Empty text is no wish; text that is no number is refused by the schema. */
const number = (typed: string): number | undefined =>
  typed.trim() === '' ? undefined : /^\d+$/.test(typed.trim()) ? Number(typed) : Number.NaN

function roleOf(base: Base, need: Need, role: Role): object {
  const wish = base[role]
  const disks = number(need[`${role}_disks`])
  const [, ...more] = wish.needs.disks
  const [cores, memory_gib] = [number(need[`${role}_cores`]), number(need[`${role}_memory`])]
  const labels = need[`${role}_labels`].trim()
  return {
    ...wish,
    count: number(need[role]) ?? Number.NaN,
    needs: {
      ...(cores !== undefined && { cores }),
      ...(memory_gib !== undefined && { memory_gib }),
      disks: [
        ...(disks === undefined || disks === 0 ? [] : [{ count: disks, ...firstRule(wish) }]),
        ...more,
      ],
      ...(labels !== '' && { labels }),
    },
  }
}

/** The body of `templatePlan`, or the sentences at the form's fields. */
export function readNeed(
  base: Base,
  need: Need,
  cluster: Pick<Draft, 'name' | 'datacenterId' | 'kubernetes' | 'leftOut'> & {
    readonly talos: string
  },
): Read<z.input<typeof TemplatePlan>> {
  const template = {
    // The plan isn't saved; a template needs a name.
    name: cluster.name,
    control_planes: roleOf(base, need, 'control_planes'),
    workers: roleOf(base, need, 'workers'),
    spread_over_racks: need.spread,
    // A server that can't get the image is not chosen.
    ...(!cluster.leftOut.includes('extensions' satisfies SettingsPart) && {
      ...(base.extensions && { extensions: base.extensions }),
      ...(base.kernel_args && { kernel_args: base.kernel_args }),
    }),
  }
  const read = readBy(TemplatePlan, {
    template,
    datacenter_id: cluster.datacenterId,
    clusters: [{ name: cluster.name }],
    ...(cluster.talos !== '' && { talos_version: cluster.talos }),
    ...(cluster.kubernetes !== '' && { kubernetes_version: cluster.kubernetes }),
  })
  return read.ok ? { ok: true, body: read.body } : { ok: false, fields: fieldsOf(read.fields) }
}

/** The fields of the form for the paths of the body. */
export function fieldsOf(said: Readonly<Record<string, string>>): Record<string, string> {
  const fields: Record<string, string> = {}
  for (const [path, sentence] of Object.entries(said)) {
    const [, role, part, what] = path.split('.')
    if (role !== 'control_planes' && role !== 'workers') continue
    const field =
      part === 'needs' && what !== undefined
        ? `${role}_${what === 'memory_gib' ? 'memory' : what}`
        : role
    fields[field] ??= sentence
  }
  return fields
}

/** The servers of a plan as the form holds them, each with the reasons. */
export const chosenOf = ({ body, servers }: PlannedCluster): Draft['servers'] =>
  Object.fromEntries(
    body.servers.map((one) => {
      const planned = servers.find((s) => s.node_id === one.node_id)
      const chosen: Chosen = {
        role: one.role,
        // A proposal of roles doesn't change what was chosen for a role.
        roleSet: true,
        link: one.interface ?? '',
        installDisk: plain(one.install_disk ?? ''),
        workloadDisks: one.workload_disks.map(plain),
        ...(one.patch && { patch: one.patch }),
        why: [
          ...(planned?.reasons ?? []),
          ...(planned
            ? [`Talos on ${planned.install_disk.device}: ${planned.install_disk.reason}`]
            : []),
        ],
      }
      return [one.node_id, chosen]
    }),
  )
const plain = (device: string): string => device.replace(/^\/dev\//, '')

/** The chosen servers with their reasons, control planes first; without reasons: by a person. */
export const whyOf = (
  chosen: Draft['servers'],
  servers: readonly Pick<Server, 'id' | 'name'>[],
): { id: string; name: string; role: Chosen['role']; why: string }[] =>
  servers
    .flatMap(({ id, name }) => {
      const one = chosen[id]
      return one === undefined
        ? []
        : [{ id, name, role: one.role, why: one.why?.join('; ') ?? 'chosen by you' }]
    })
    .toSorted((a, b) => Number(a.role === 'worker') - Number(b.role === 'worker'))
