import { clusterGet } from '#contract/clusters/clusters.ts'
import type { Answer } from '#contract/operation.ts'
import {
  type AddressRun,
  clusterSubnets,
  clusterSubnetsAssign,
  clusterSubnetsPreview,
  type Subnet,
  subnetAddresses,
  subnetCreate,
  subnetExport,
  subnetGet,
  subnetImport,
  subnetList,
  subnetPurposes,
  subnetRemove,
  subnetUpdate,
} from '#contract/network/subnets.ts'
import { subnetWarnings, utilisation } from '#contract/network/subnet-rules.ts'
import { beSure, sureOption } from '../ask.ts'
import {
  command,
  type Command,
  type Context,
  given,
  listCommand,
  exportOptions,
  exportQuery,
  objectCommand,
} from '../command.ts'
import { CliError } from '../exit.ts'
import { readText } from '../files.ts'
import * as noun from '../nouns.ts'
import { importedText } from '../output/imported.ts'
import { type Column, facts, table } from '../table.ts'
import type { Colour, Terminal } from '../terminal.ts'
import { ago, manyLines, oneLine } from '../text.ts'
import { showBegun, waitOption } from '../watch.ts'

const colourOf = (s: Subnet): Colour | null =>
  (
    {
      unassigned: null,
      applying: 'yellow',
      active: 'green',
      draining: 'yellow',
      error: 'red',
    } as const
  )[s.status]
const clustersOf = (s: Subnet) => s.clusters.map((c) => c.name).join(', ')
/**
 * "37 of 253": used addresses of a subnet. For IPv6 only the used number. An unknown number is
 * "unknown", not 0.
 */
function used(s: Subnet): string {
  // A management subnet counts the servers in it, without a cluster too.
  if (s.clusters.length === 0 && s.purpose === 'workload')
    return s.total === null ? '' : `0 of ${s.total}`
  if (s.used === null) return 'unknown'
  return s.total === null || s.type === 'IPv6' ? String(s.used) : `${s.used} of ${s.total}`
}

const runColumns: readonly Column<AddressRun>[] = [
  { title: 'ADDRESSES', text: (r) => (r.first === r.last ? r.first : `${r.first}-${r.last}`) },
  { title: 'STATE', text: (r) => r.state },
  { title: 'BY', text: (r) => r.by ?? '' },
]

function subnetText(terminal: Terminal, s: Subnet): string {
  return facts(terminal, [
    ['Name', s.name],
    ['Id', s.id],
    ['CIDR', `${s.cidr} (${s.type})`],
    ['Gateway', s.gateway],
    ['VLAN', s.vlan_id],
    ['Excluded', s.exclude.join(', ')],
    ['First and last address', s.first_and_last ? 'assigned too' : 'never assigned'],
    ['Purpose', s.purpose],
    ['Datacenter', s.datacenter.code],
    ['Cluster', clustersOf(s) || 'none'],
    ['Status', s.status],
    ['Reason', s.reason],
    [
      'Used',
      `${used(s)}${utilisation(s.used, s.total) ? ` (${utilisation(s.used, s.total)})` : ''}`,
    ],
    ['Seen', s.observed_at === null ? null : ago(s.observed_at, terminal.now())],
  ])
}

const gateway = { kind: 'text', value: 'ADDRESS', help: 'Gateway, inside the CIDR' } as const
const vlan = { kind: 'number', value: 'N', help: 'VLAN ID, 1 to 4094' } as const
const exclude = {
  kind: 'text',
  value: 'ENTRY',
  help: 'Address, CIDR or a-b range that is never assigned',
  many: true,
} as const
const firstAndLast = {
  kind: 'flag',
  help: 'The network and broadcast address may be assigned too. For a routed network that is not on a link',
} as const
const purpose = {
  kind: 'text',
  value: 'PURPOSE',
  help: 'Workload: the pool of one cluster. Management: addresses of servers',
  choices: subnetPurposes,
} as const

const warn = (terminal: Terminal, s: Subnet) =>
  subnetWarnings(s).forEach((w) => terminal.err(`Warning: ${w}\n`))

const mostTries = 5

interface Assigning {
  readonly wait: boolean
  readonly 'dry-run': boolean
  /** For `remove`: removes subnets even if their addresses are in use. */
  readonly force?: boolean
  readonly yes?: boolean
}

/**
 * Adds or removes subnets of a cluster. The API replaces the whole list, so the new list is made
 * from the current one. If another user changes the list meanwhile, the new list is made again, or
 * the command fails if the user has confirmed the old one.
 */
async function assign(
  context: Context,
  remove: boolean,
  { cluster, subnets }: { readonly cluster: string; readonly subnets: readonly string[] },
  { force = false, yes = false, wait, 'dry-run': dryRun }: Assigning,
) {
  const { api, terminal, show } = context
  const params = { id: await noun.idOf(api, noun.cluster, cluster) }
  const ids = await Promise.all(subnets.map((name) => noun.idOf(api, noun.subnet, name)))
  const read = async () => {
    // Reads the version before the list, so that the version is never newer than the list.
    const { name, version } = await api.call(clusterGet, { params })
    const { items } = await api.call(clusterSubnets, { params })
    const now = items.filter((s) => s.status !== 'draining').map((s) => s.id)
    const stranger = remove ? ids.findIndex((one) => !items.some((s) => s.id === one)) : -1
    if (stranger >= 0)
      throw new CliError(
        'not_found',
        `${oneLine(subnets[stranger]!)} is not assigned to this cluster`,
      )
    return {
      name,
      version,
      subnet_ids: remove ? now.filter((one) => !ids.includes(one)) : [...new Set([...now, ...ids])],
    }
  }
  const send = async (
    { version, subnet_ids }: Awaited<ReturnType<typeof read>>,
    tries: number,
  ): Promise<Answer<typeof clusterSubnetsAssign>> => {
    try {
      return await api.call(
        clusterSubnetsAssign,
        { params, body: { subnet_ids, force } },
        { version },
      )
    } catch (e) {
      // No retry with `force`, because the user has confirmed only this list of subnets.
      if (force || tries <= 1 || !(e instanceof CliError) || e.body?.code !== 'stale') throw e
      return send(await read(), tries - 1)
    }
  }
  const wanted = await read()
  const { name, subnet_ids } = wanted
  if (dryRun) {
    show(await api.call(clusterSubnetsPreview, { params, body: { subnet_ids } }), (p) =>
      [
        ...p.warnings.map((w) => `Warning: ${oneLine(w)}\n`),
        ...p.losing.map((l) => `${oneLine(l.service)} would lose ${oneLine(l.address)}\n`),
        p.provider === null
          ? '# No load balancer that Steelyard supports was found in this cluster: apply this manifest yourself\n'
          : `# For ${p.provider}\n`,
        manyLines(p.after),
      ].join(''),
    )
    return undefined
  }
  if (force) {
    const { losing } = await api.call(clusterSubnetsPreview, { params, body: { subnet_ids } })
    for (const l of losing) terminal.err(`${oneLine(l.service)} loses ${oneLine(l.address)}\n`)
    await beSure(terminal, `Services of ${oneLine(name)} lose their addresses at once.`, name, yes)
  }
  return showBegun(
    context,
    await send(wanted, mostTries),
    wait,
    `Subnets of ${oneLine(cluster)} are being ${remove ? 'unassigned' : 'assigned'}`,
  )
}

const ofCluster = {
  cluster: noun.cluster,
  subnets: { value: 'SUBNET', help: 'Names or ids of subnets', many: true },
} as const
const dryRunOption = {
  'dry-run': { kind: 'flag', help: 'Only show the manifest that would be applied to the cluster' },
} as const

export const subnetCommands: Command[] = [
  listCommand({
    name: 'subnet list',
    summary:
      'The subnets with their number of used addresses. --search with an address finds the subnet that contains it.',
    examples: ['subnet list --datacenter PL-POZ-1', 'subnet list --search 203.0.113.7'],
    operation: subnetList,
    shown: ['name', 'cidr', 'gateway', 'vlan_id', 'datacenter', 'cluster', 'used', 'status'],
    cells: {
      used: { text: used, right: true },
      status: { text: (s) => s.status, colour: colourOf },
    },
  }),
  objectCommand({
    name: 'subnet show',
    of: noun.subnet,
    operation: subnetGet,
    say: (s, _name, { terminal }) => subnetText(terminal, s),
  }),
  objectCommand({
    name: 'subnet map',
    of: noun.subnet,
    operation: subnetAddresses,
    summary:
      'All addresses of a subnet as ranges: free, gateway, excluded, reserved, or in use and by what.',
    say: ({ runs }, _name, { terminal }) => table(terminal, runs, runColumns, 'No addresses'),
  }),
  command({
    name: 'subnet add',
    summary: 'Add a subnet.',
    operands: { name: { value: 'NAME', help: 'Name of the subnet' } },
    options: {
      cidr: { kind: 'text', value: 'CIDR', help: 'The network, such as 203.0.113.0/24' },
      datacenter: { kind: 'text', value: 'CODE', help: 'Datacenter that the subnet is routed to' },
      gateway,
      vlan,
      exclude,
      'first-and-last': firstAndLast,
      purpose,
    },
    examples: [
      'subnet add edge-pool --cidr 203.0.113.0/26 --datacenter PL-POZ-1 --gateway 203.0.113.1 --exclude 203.0.113.10-203.0.113.19',
    ],
    async run({ terminal, api, show }, { operands, options }) {
      if (options.cidr === undefined || options.datacenter === undefined)
        throw new CliError('usage', 'Give --cidr and --datacenter')
      const made = await api.call(subnetCreate, {
        body: {
          name: operands.name,
          datacenter_id: await noun.idOf(api, noun.datacenter, options.datacenter),
          cidr: options.cidr,
          exclude: options.exclude,
          first_and_last: options['first-and-last'],
          ...given({ gateway: options.gateway, vlan_id: options.vlan, purpose: options.purpose }),
        },
      })
      warn(terminal, made)
      show(made, (s) => `${oneLine(s.name)} (${s.cidr}) is added\n`)
    },
  }),
  objectCommand({
    name: 'subnet edit',
    of: noun.subnet,
    operation: subnetUpdate,
    summary: 'Change a subnet; --exclude replaces all earlier exclusions.',
    options: {
      name: { kind: 'text', value: 'NAME', help: 'New name' },
      cidr: {
        kind: 'text',
        value: 'CIDR',
        help: 'New network; possible only while the subnet is assigned to no cluster',
      },
      gateway,
      'no-gateway': { kind: 'flag', help: 'The subnet has no gateway' },
      vlan,
      'no-vlan': { kind: 'flag', help: 'The subnet is in no VLAN' },
      exclude,
      'no-exclusions': { kind: 'flag', help: 'Nothing is excluded' },
      'first-and-last': firstAndLast,
      'no-first-and-last': { kind: 'flag', help: 'Never assign the network and broadcast address' },
      purpose,
    },
    examples: [
      'subnet edit edge-pool --exclude 203.0.113.10-203.0.113.31',
      'subnet edit edge-pool --no-vlan',
    ],
    async ask(_context, { options: o }) {
      const both = (['gateway', 'vlan', 'first-and-last'] as const).find(
        (name) => o[`no-${name}`] && o[name] !== undefined && o[name] !== false,
      )
      if (both) throw new CliError('usage', `Give either --${both} or --no-${both}`)
      if (o['no-exclusions'] && o.exclude.length > 0)
        throw new CliError('usage', 'Give either --exclude or --no-exclusions')
      const body = given({
        name: o.name,
        cidr: o.cidr,
        gateway: o['no-gateway'] ? null : o.gateway,
        vlan_id: o['no-vlan'] ? null : o.vlan,
        exclude: o['no-exclusions'] ? [] : o.exclude.length > 0 ? o.exclude : undefined,
        first_and_last: o['first-and-last'] ? true : o['no-first-and-last'] ? false : undefined,
        purpose: o.purpose,
      })
      if (Object.keys(body).length === 0) throw new CliError('usage', 'Specify what to change')
      return { body }
    },
    done({ terminal, show }, changed) {
      warn(terminal, changed)
      show(changed, (s) => `${oneLine(s.name)} (${s.cidr}) is changed\n`)
      return undefined
    },
  }),
  objectCommand({
    name: 'subnet remove',
    of: noun.subnet,
    operation: subnetRemove,
    say: (_none, name) => `${oneLine(name)} is removed\n`,
  }),
  command({
    name: 'subnet assign',
    summary: 'Assign more subnets to a cluster, as address pools of its load balancer.',
    operands: ofCluster,
    options: { ...dryRunOption, ...waitOption },
    examples: ['subnet assign web edge-pool --wait', 'subnet assign web edge-pool --dry-run'],
    run: (context, { operands, options }) => assign(context, false, operands, options),
  }),
  command({
    name: 'subnet unassign',
    summary: 'Unassign subnets from a cluster after their addresses are no longer in use.',
    operands: ofCluster,
    options: {
      force: {
        kind: 'flag',
        help: 'Unassign at once: Services lose their addresses. Asks for the name of the cluster',
      },
      ...dryRunOption,
      ...sureOption,
      ...waitOption,
    },
    examples: [
      'subnet unassign web edge-pool --wait',
      'subnet unassign web edge-pool --force --yes',
    ],
    run: (context, { operands, options }) => assign(context, true, operands, options),
  }),
  command({
    name: 'subnet import',
    summary:
      'Add and change subnets from CSV: either all rows are written, or none and every problem is reported with its line.',
    operands: {
      file: { value: 'FILE', help: 'CSV with a header; - reads standard input' },
    },
    options: { 'dry-run': { kind: 'flag', help: 'Only show what each row would do' } },
    examples: ['subnet import subnets.csv --dry-run', 'subnet import subnets.csv'],
    async run({ terminal, api, show }, { operands, options }) {
      const csv = await readText(operands.file)
      const answer = await api.call(subnetImport, { body: { csv, dry_run: options['dry-run'] } })
      show(answer, (imported) => importedText(terminal, imported))
      return answer.problems.length > 0 ? 1 : undefined
    },
  }),
  command({
    name: 'subnet export',
    summary: 'The subnets as CSV, which can be imported again.',
    options: exportOptions(subnetList.list),
    examples: ['subnet export > subnets.csv', 'subnet export --datacenter PL-POZ-1'],
    json: false,
    async run({ terminal, api }, { options }) {
      terminal.out(await api.call(subnetExport, { query: exportQuery(subnetList.list, options) }))
    },
  }),
]
