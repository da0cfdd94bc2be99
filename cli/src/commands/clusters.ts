import { certificateKinds } from '#contract/clusters/certificates.ts'
import {
  type Cluster,
  clusterCreate,
  clusterDelete,
  clusterGet,
  clusterKubeconfig,
  clusterList,
  clusterPreview,
  clusterServerFailure,
  clusterTalosconfig,
} from '#contract/clusters/clusters.ts'
import { heldByFiles } from '#contract/clusters/files.ts'
import { keptSentences } from '#contract/clusters/foreign-sentences.ts'
import { lockedOutSentences } from '#contract/clusters/foreign-sentences.ts'
import { clusterSaid } from '#contract/findings/said.ts'
import { serversSaid } from '#contract/findings/servers-said.ts'
import { labelsText } from '#contract/labels/changed.ts'
import { clusterResume } from '#contract/restoration.ts'
import { beSure, sureOption } from '../ask.ts'
import { command, type Command, type Context, listCommand, objectCommand } from '../command.ts'
import { fileOptions, writeSecretFile } from '../files.ts'
import { findingColours, findingLine, saidColour } from '../finding-text.ts'
import * as noun from '../nouns.ts'
import { facts, table } from '../table.ts'
import type { Colour, Terminal } from '../terminal.ts'
import { localTime, oneLine, words } from '../text.ts'
import { showBegun, waitOption, waitOr } from '../watch.ts'
import { checksText } from './checks.ts'
import { shownWindow } from './cluster-changes/run-change.ts'
import { createOptions, readNewCluster } from './cluster-create.ts'
import { clusterHealthCommand } from './cluster-state/cluster-health.ts'
import { clusterPodsCommand } from './cluster-state/cluster-pods.ts'
import { withDisks } from './confirm-disks.ts'
import { askedOf, createFromTemplate, templateOptions } from './templates/from-template.ts'
import { resumedText } from './operations.ts'
import { withLosses } from './confirm-loss.ts'

const colours: Partial<Record<Cluster['status'], Colour>> = { ready: 'green' }
const colourOf = (c: Cluster): Colour | null =>
  saidColour(clusterSaid(c), colours[c.status] ?? 'yellow')
const serversOf = (c: Cluster) => serversSaid(c.servers_said, c.control_planes + c.workers)

/** The certificate that expires first of those that should be renewed by now. */
function endingText({ certificates_ending: all = [] }: Cluster, now: number): string | null {
  const [first, ...more] = all.toSorted((a, b) => a.ends_at.localeCompare(b.ends_at))
  if (first === undefined) return null
  const of = first.name === null ? '' : ` of ${first.name}`
  const others = more.length === 0 ? '' : ` and ${more.length} more`
  const verb = Date.parse(first.ends_at) <= now ? 'has expired since' : 'expires'
  return `${certificateKinds[first.kind].title}${of} ${verb} ${localTime(first.ends_at)}${others}: ${first.reason}`
}

const clusterText = (terminal: Terminal, c: Cluster): string =>
  `${facts(terminal, [
    ['Name', c.name],
    ['Id', c.id],
    ['Status', clusterSaid(c).word],
    ['Servers', serversOf(c)?.text ?? null],
    ['Finding', c.finding ? findingLine(c.finding) : null],
    ['Reason', c.reason],
    ['Trouble', c.troubles.map((t) => t.message).join('; ') || null],
    ['Locked out', c.locked_out && lockedOutSentences[c.locked_out.authority]],
    ['Locked', c.files ? heldByFiles(c.name, c.files) : null],
    ['Datacenter', c.datacenter.code],
    ['Kubernetes', c.kubernetes_version],
    ['Talos', c.talos_version],
    ['Wanted', c.upgrade?.sentence ?? null],
    ['Certificates', endingText(c, terminal.now())],
    ['Endpoint', `${c.endpoint}${c.virtual_ip ? ' (virtual IP)' : ''}`],
    ['VLAN', c.vlan_id],
    ['Pod CIDR', c.pod_cidr],
    ['Service CIDR', c.service_cidr],
    ['Subnets', c.subnets.map((s) => `${s.name} ${s.cidr}`).join(', ')],
    ['Address', c.chainAddress],
    ...(c.kept ?? []).map((kept): [string, string] => ['Kept', keptSentences[kept.object](kept)]),
    ['Offer', c.offerId],
    ['Operation', c.operation_id],
    ['Window', shownWindow(c.maintenance_window)],
    ['Labels', labelsText(c.labels ?? {})],
    ['Notes', c.notes],
    ['Created', localTime(c.created_at)],
  ])}\n${table(
    terminal,
    c.servers,
    [
      { title: 'SERVER', text: (s) => s.name },
      { title: 'ROLE', text: (s) => words(s.role) },
      { title: 'ID', text: (s) => s.node_id },
    ],
    'No servers',
  )}`

const credentials = (
  what: 'kubeconfig' | 'talosconfig',
  operation: typeof clusterKubeconfig,
  tool: string,
): Command =>
  command({
    name: `cluster ${what}`,
    summary: `A ${what}, created now and valid 24 h. Anyone who has it controls the cluster.`,
    operands: { cluster: noun.cluster },
    options: fileOptions,
    examples: [`cluster ${what} web --output ./web.${what}`, tool],
    json: false,
    async run({ terminal, api }: Context, { operands, options }) {
      const text = await api.call(operation, {
        params: { id: await noun.idOf(api, noun.cluster, operands.cluster) },
      })
      if (options.output === undefined) return terminal.out(text)
      await writeSecretFile(options.output, text, options.force)
      terminal.err(`Written to ${oneLine(options.output)}\n`)
    },
  })

export const clusterCommands: Command[] = [
  listCommand({
    name: 'cluster list',
    summary: 'The clusters.',
    examples: ['cluster list', 'cluster list -l env=prod', 'cluster list --status ready --json'],
    operation: clusterList,
    shown: [
      'name',
      'status',
      'servers_said',
      'datacenter',
      'control_planes',
      'workers',
      'kubernetes_version',
      'talos_version',
      'reason',
    ],
    cells: {
      status: { text: (c) => clusterSaid(c).word, colour: colourOf },
      servers_said: {
        title: 'NOT WELL',
        text: (c) => serversOf(c)?.text ?? '',
        colour: (c) => findingColours[serversOf(c)?.severity ?? 'attention'],
        optional: true,
      },
      datacenter: { title: 'DATACENTER' },
      control_planes: { text: (c) => String(c.control_planes), right: true },
      workers: { text: (c) => String(c.workers), right: true },
      labels: {
        text: ({ labels = {} }) => labelsText(labels),
        minor: true,
      },
      reason: {
        text: (c) =>
          clusterSaid(c).sentence ??
          (c.locked_out ? lockedOutSentences[c.locked_out.authority] : ''),
      },
    },
  }),
  objectCommand({
    name: 'cluster show',
    of: noun.cluster,
    operation: clusterGet,
    summary: 'One cluster with its servers.',
    say: (c, _name, { terminal }) => clusterText(terminal, c),
  }),
  clusterHealthCommand,
  clusterPodsCommand,
  command({
    name: 'cluster create',
    summary:
      'Create a cluster from free servers, which are named, or chosen by the needs of a template. If one of the servers cannot be reserved, nothing is changed.',
    operands: { name: { value: 'NAME', help: 'Name of the cluster' } },
    options: {
      ...templateOptions,
      ...createOptions,
      'dry-run': { kind: 'flag', help: 'Only show the checks and the steps' },
      yes: {
        kind: 'flag',
        help: 'With --template or --like: do not ask for confirmation; required if there is no terminal',
      },
      'idempotency-key': {
        kind: 'text',
        value: 'KEY',
        help: 'Idempotency key: the same command with the same key within 24 h is carried out only once',
      },
      ...waitOption,
    },
    examples: [
      'cluster create web --datacenter PL-POZ-1 --control-plane cp-1,cp-2,cp-3 --worker w-1,w-2 --wait',
      'cluster create web --datacenter PL-POZ-1 --control-plane cp-1 --install-disk cp-1=/dev/nvme0n1 --dry-run',
      'cluster create shop-02 --like shop-01 --control-planes 3 --workers 5',
      'cluster create edge-01 --also edge-02,edge-03 --template edge --datacenter PL-POZ-1',
    ],
    async run(context, { operands, options }) {
      const { terminal, api, show } = context
      const asked = askedOf(operands.name, options)
      if (asked) return createFromTemplate(context, asked)
      const body = await readNewCluster(context, operands.name, options)
      if (options['dry-run']) {
        const preview = await api.call(clusterPreview, { body })
        show(preview, (p) =>
          [
            checksText(terminal, p.checks),
            ...p.servers.flatMap((s) =>
              s.warnings.map((w) => `Warning, ${oneLine(s.name)}: ${oneLine(w)}\n`),
            ),
            `\n${table(terminal, p.steps, [{ title: 'STEPS', text: (s) => s.title }], 'No steps')}`,
          ].join(''),
        )
        return preview.checks.every((c) => c.ok) ? 0 : 1
      }
      const { confirmed_disks: named = [], ...wanted } = body
      const created = await withDisks(context, body.servers, named, (confirmed) =>
        withLosses(context, options, (losses) =>
          api.call(
            clusterCreate,
            {
              body: {
                ...wanted,
                ...(confirmed.length > 0 && { confirmed_disks: confirmed }),
                ...losses,
              },
            },
            { idempotencyKey: options['idempotency-key'] },
          ),
        ),
      )
      const watched = await waitOr(context, created.operation.id, options.wait)
      const answer = watched
        ? {
            cluster: await api.call(clusterGet, { params: { id: created.cluster.id } }),
            operation: watched.operation,
          }
        : created
      show(
        answer,
        ({ cluster }) =>
          `Cluster ${oneLine(cluster.name)} is ${cluster.status}${cluster.reason ? `: ${oneLine(cluster.reason)}` : ''}\n`,
      )
      return watched?.exit
    },
  }),
  objectCommand({
    name: 'cluster delete',
    of: noun.cluster,
    operation: clusterDelete,
    summary:
      'Delete a cluster: its servers are wiped and come back in maintenance mode. Asks for the name of the cluster first.',
    options: {
      force: {
        kind: 'flag',
        help: 'Forget the servers without resetting them, if they do not answer',
      },
      ...sureOption,
      ...waitOption,
    },
    examples: ['cluster delete web --wait', 'cluster delete web --force --yes'],
    async ask({ api, terminal }, { options: { force, yes } }, { id }) {
      const { name } = await api.call(clusterGet, { params: { id } })
      const what = force
        ? `Steelyard forgets the servers of ${oneLine(name)} without resetting them.`
        : `This wipes the servers of ${oneLine(name)}.`
      await beSure(terminal, what, name, yes)
      return force ? ({ query: { force: 'true' } } as const) : {}
    },
    done: (context, begun, { options }) =>
      showBegun(
        context,
        begun,
        options.wait,
        `Cluster ${oneLine(begun.operation.target.name)} is being deleted`,
      ),
  }),
  command({
    name: 'cluster failure',
    summary:
      'Show the reason of the last failure of a server, and the last lines of its log from the boot that failed.',
    operands: { cluster: noun.cluster, server: noun.server },
    examples: ['cluster failure web brave-otter-042'],
    async run(context, { operands }) {
      const cluster = await noun.clusterOf(context.api, operands.cluster)
      const params = { id: cluster.id, node_id: noun.memberId(cluster, operands.server) }
      context.show(await context.api.call(clusterServerFailure, { params }), ({ reason, log }) => {
        if (reason === null && log === null)
          return `Nothing has failed on ${oneLine(operands.server)} in ${oneLine(cluster.name)}\n`
        const what = facts(context.terminal, [
          ['Reason', reason],
          ['Log', log === null ? 'could not be read' : `as of ${localTime(log.at)}`],
        ])
        return log === null
          ? what
          : `${what}\n${log.lines.map((line) => `${oneLine(line)}\n`).join('')}`
      })
    },
  }),
  credentials('kubeconfig', clusterKubeconfig, 'cluster kubeconfig web > web.kubeconfig'),
  credentials('talosconfig', clusterTalosconfig, 'cluster talosconfig web > web.talosconfig'),
  objectCommand({
    name: 'cluster resume',
    of: noun.cluster,
    operation: clusterResume,
    say: resumedText,
  }),
]
