/** What was at a time of the past: the option `--at` of commands that read. */
import { clusterList } from '#contract/clusters/clusters.ts'
import {
  clusterGetPast,
  clusterListPast,
  type PastCluster,
} from '#contract/clusters/past-cluster.ts'
import { findingList } from '#contract/findings/findings.ts'
import { findingKinds } from '#contract/findings/kinds.ts'
import { findingListPast, type PastFinding } from '#contract/findings/past-finding.ts'
import { momentOf } from '#contract/history/moment.ts'
import { overviewGetPast, type PastOverview } from '#contract/history/past-overview.ts'
import { labelsText } from '#contract/labels/changed.ts'
import type { AnyList } from '#contract/list.ts'
import type { Operation } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import {
  type PastServer,
  type PastServerPage,
  serverGetPast,
  serverListPast,
} from '#contract/servers/past-server.ts'
import { serverList } from '#contract/servers/servers.ts'
import { counted } from '#contract/words.ts'
import {
  command,
  type Command,
  type Context,
  given,
  narrowingOf,
  type TextOption,
} from '../command.ts'
import { CliError } from '../exit.ts'
import { findingColours, findingWord } from '../finding-text.ts'
import { type Column, facts, shownOf, table } from '../table.ts'
import type { Terminal } from '../terminal.ts'
import { disk, localTime, memory, oneLine, words } from '../text.ts'

const atOption: TextOption = {
  kind: 'text',
  value: 'TIME',
  help: 'What was at this time: 2026-11-27T02:00Z, or 2026-11-27 02:00 of your zone',
}

/** @throws CliError usage */
function timeOf(text: string): string {
  const moment = momentOf(text)
  if (moment.at === null) throw new CliError('usage', moment.reason)
  return moment.at.toISOString()
}

const zoneOf = (at: Date): string =>
  new Intl.DateTimeFormat('en', { timeZoneName: 'short' })
    .formatToParts(at)
    .find(({ type }) => type === 'timeZoneName')?.value ?? ''
/** "As it was at 2026-11-27 03:00:00 GMT+1 (2026-11-27 02:00:00 UTC)" */
const headOf = (at: string): string =>
  `As it was at ${localTime(at)} ${zoneOf(new Date(at))} (${at.slice(0, 10)} ${at.slice(11, 19)} UTC)\n`

interface OfPast {
  readonly at: string
  readonly not_recorded: readonly string[]
}
const known = (value: string | number | null | undefined): string =>
  value === null || value === undefined ? 'not recorded' : String(value)
const missing = ({ not_recorded }: OfPast): string => `\nNot recorded: ${not_recorded.join(', ')}\n`

const stateOf = ({ status, finding }: PastServer): string =>
  finding && finding.severity !== 'attention' ? findingWord(finding) : known(status)
const reasonOf = ({ finding, quarantine, talos }: PastServer): string =>
  finding?.reason ?? talos.reason ?? quarantine?.reason ?? ''

const serverColumns: readonly Column<PastServer>[] = [
  { title: 'NAME', text: (s) => known(s.name) },
  {
    title: 'STATUS',
    text: stateOf,
    colour: ({ finding }) => finding && findingColours[finding.severity],
  },
  { title: 'STAGE', text: (s) => words(known(s.talos.stage)) },
  { title: 'NODE TYPE', text: (s) => words(known(s.type)) },
  { title: 'DATACENTER', text: (s) => s.datacenter?.code ?? '' },
  { title: 'CLUSTER', text: (s) => s.cluster?.name ?? '' },
  { title: 'CORES', text: (s) => String(s.hardware.cores ?? '?'), right: true, minor: true },
  { title: 'MEMORY', text: (s) => memory(s.hardware.memory_bytes), right: true, minor: true },
  { title: 'TALOS', text: (s) => s.talos.version ?? 'unknown' },
  { title: 'WHY', text: reasonOf },
]
const clusterColumns: readonly Column<PastCluster>[] = [
  { title: 'NAME', text: (c) => known(c.name) },
  {
    title: 'STATUS',
    text: (c) => known(c.status),
    colour: ({ finding }) => finding && findingColours[finding.severity],
  },
  { title: 'DATACENTER', text: (c) => c.datacenter?.code ?? '' },
  { title: 'CONTROL PLANES', text: (c) => String(c.control_planes), right: true },
  { title: 'WORKERS', text: (c) => String(c.workers), right: true },
  { title: 'KUBERNETES', text: (c) => known(c.kubernetes_version) },
  { title: 'TALOS', text: (c) => known(c.talos_version) },
  { title: 'WHY', text: (c) => c.finding?.reason ?? c.reason ?? '' },
]
const findingColumns: readonly Column<PastFinding>[] = [
  { title: 'SEVERITY', text: (f) => f.severity, colour: (f) => findingColours[f.severity] },
  { title: 'FINDING', text: (f) => findingKinds[f.kind].word },
  { title: 'OF', text: (f) => f.object.name },
  { title: 'SINCE', text: (f) => localTime(f.since) },
  { title: 'WHY', text: (f) => known(f.reason) },
]

const serverText = (terminal: Terminal, s: PastServerPage & OfPast): string =>
  facts(terminal, [
    ['Name', known(s.name)],
    ['Id', s.id],
    ['Status', stateOf(s)],
    ['Finding', s.finding && `${findingWord(s.finding)}: ${s.finding.reason}`],
    ['Stage', words(known(s.talos.stage))],
    ['Node type', words(known(s.type))],
    ['Datacenter', s.datacenter?.code ?? 'none'],
    ['Rack', s.placement],
    ['Cluster', s.cluster?.name ?? 'none'],
    ['Addresses', s.nodeAddresses?.join(', ') ?? 'not recorded'],
    ['Talos', s.talos.version ?? 'unknown'],
    ['Schematic', s.talos.schematic],
    ['Unreachable since', s.talos.unreachable_since && localTime(s.talos.unreachable_since)],
    ['Reason', s.talos.reason],
    [
      'In Kubernetes',
      s.kubernetes &&
        (s.kubernetes.ready === true
          ? 'Ready'
          : `${s.kubernetes.ready === null ? 'unknown' : 'NotReady'}: ${s.kubernetes.reason ?? 'no reason was given'}`),
    ],
    ['Failure', s.failure && (s.failure.reason ?? 'the reason is not recorded')],
    ['Configuration', s.drift && 'changed outside of Steelyard'],
    ['Identity', s.identity.state],
    ['System UUID', s.identity.uuid],
    ['Serial', s.identity.serial],
    ['Quarantine', s.quarantine?.reason ?? null],
    ['Labels', s.labels === null ? 'not recorded' : labelsText(s.labels)],
    [
      'Capacity',
      `${s.hardware.cores ?? '?'} cores, ${memory(s.hardware.memory_bytes)} memory, ${disk(s.hardware.disk_bytes)} disk`,
    ],
  ]) +
  (s.parts === null || s.parts.length === 0
    ? ''
    : `\nHARDWARE\n${s.parts.map((part) => `${oneLine(part)}\n`).join('')}`)

const clusterText = (terminal: Terminal, c: PastCluster & OfPast): string =>
  facts(terminal, [
    ['Name', known(c.name)],
    ['Id', c.id],
    ['Status', known(c.status)],
    ['Why', c.finding?.reason ?? c.reason],
    ['Datacenter', known(c.datacenter?.code)],
    ['Kubernetes', known(c.kubernetes_version)],
    ['Talos', known(c.talos_version)],
    ['Endpoint', known(c.endpoint)],
    ['Labels', c.labels === null ? 'not recorded' : labelsText(c.labels)],
  ]) +
  `\nSERVERS\n${table(
    terminal,
    c.servers,
    [
      { title: 'NAME', text: (s) => s.name },
      { title: 'ROLE', text: (s) => words(known(s.role)) },
    ],
    'No servers',
  )}`

const overviewText = (terminal: Terminal, o: PastOverview): string =>
  facts(terminal, [
    ['Findings', String(o.findings.total)],
    [
      'Servers',
      `${o.servers.total}: ${o.servers.ready} ready, ${o.servers.maintenance} in maintenance, ${o.servers.unreachable} without an answer`,
    ],
    [
      'Clusters',
      `${o.clusters.total}${Object.entries(o.clusters.by_status)
        .map(([status, n], i) => `${i === 0 ? ': ' : ', '}${n} ${status}`)
        .join('')}`,
    ],
    ['24 hours before', counted(o.last_day.entries, 'entry', 'entries')],
  ]) + `\n${table(terminal, o.findings.items, findingColumns, 'No findings')}`

type Run = (context: Context, read: Parameters<Command['run']>[1], at: string) => Promise<void>

/** The pages of a list of the past, as the list's own command asks for them. */
const pageOf =
  <Item>(list: AnyList, operation: Operation, columns: readonly Column<Item>[]): Run =>
  async ({ terminal, api, show }, { options }, at) => {
    const query = given({
      ...narrowingOf(list, options),
      q: options['search'],
      sort: options['sort'],
      page: options['page'],
      per_page: options['per-page'],
      at,
    })
    const page = (await api.call<Operation>(operation, { query })) as Page<Item> & OfPast
    show(
      page,
      ({ items }) =>
        headOf(page.at) +
        table(terminal, items, columns, `No ${list.nouns[1]}`) +
        (terminal.layout?.headers === false ? '' : shownOf(page)),
    )
  }

/** The object that had the name then: another one may have it now. */
const objectOf =
  <Item extends OfPast>(
    list: AnyList,
    all: Operation,
    one: Operation,
    text: (terminal: Terminal, item: Item) => string,
  ): Run =>
  async ({ terminal, api, show }, { operands }, at) => {
    const [noun] = list.nouns
    const wanted = String(operands[noun])
    const isId = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(wanted)
    const query = { q: wanted.slice(0, 200), at, per_page: list.mostPerPage }
    const id = isId
      ? wanted
      : (
          (await api.call<Operation>(all, { query })) as Page<{ id: string; name: string | null }>
        ).items.find(({ name }) => name === wanted.trim())?.id
    if (id === undefined)
      throw new CliError('not_found', `There was no ${noun} ${oneLine(wanted)} at ${at}`)
    const item = (await api.call<Operation>(one, { params: { id }, query: { at } })) as Item
    show(item, () => headOf(item.at) + text(terminal, item) + missing(item))
  }

const ofPast: Readonly<Record<string, Run>> = {
  'server list': pageOf(serverList.list, serverListPast, serverColumns),
  'server show': objectOf<PastServerPage & OfPast>(
    serverList.list,
    serverListPast,
    serverGetPast,
    serverText,
  ),
  'cluster list': pageOf(clusterList.list, clusterListPast, clusterColumns),
  'cluster show': objectOf<PastCluster & OfPast>(
    clusterList.list,
    clusterListPast,
    clusterGetPast,
    clusterText,
  ),
  findings: pageOf(findingList.list, findingListPast, findingColumns),
}

/** The commands, of which some also read the past. */
export const withPast = (commands: readonly Command[]): readonly Command[] =>
  commands.map((one) => {
    const run = ofPast[one.name]
    if (run === undefined) return one
    return {
      ...one,
      options: { ...one.options, at: atOption },
      examples: [...one.examples, `${one.examples[0]} --at 2026-11-27T02:00Z`],
      async run(context, read) {
        const { at, watch, columns } = read.options
        if (at === undefined) return one.run(context, read)
        if (watch === true)
          throw new CliError('usage', 'The past does not change: leave out --watch')
        if (Array.isArray(columns) && columns.length > 0)
          throw new CliError('usage', 'The past has columns of its own: leave out --columns')
        return run(context, read, timeOf(String(at)))
      },
    } satisfies Command
  })

export const pastCommands: Command[] = [
  command({
    name: 'overview',
    summary: 'Servers, clusters and findings in numbers, at a time of the past.',
    options: { at: atOption },
    examples: ['overview --at 2026-11-27T02:00Z'],
    async run({ terminal, api, show }, { options }) {
      if (options.at === undefined)
        throw new CliError('usage', 'Say the time, such as --at 2026-11-27T02:00Z')
      const answer = await api.call(overviewGetPast, { query: { at: timeOf(options.at) } })
      show(answer, (o) => headOf(o.at) + overviewText(terminal, o))
    },
  }),
]
