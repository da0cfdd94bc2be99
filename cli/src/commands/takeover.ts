import {
  type ExistingObject,
  keptOf,
  objectWords,
  replaceableObjects,
} from '#contract/clusters/existing.ts'
import {
  clusterImport,
  clusterImportPreview,
  clusterKeyReplace,
  clusterSecretsImport,
  type Takeover,
  type TakeoverServer,
} from '#contract/clusters/takeover.ts'
import { clusterGet } from '#contract/clusters/clusters.ts'
import { beSure, sureOption } from '../ask.ts'
import { command, type Command, objectCommand } from '../command.ts'
import { CliError } from '../exit.ts'
import { readText } from '../files.ts'
import * as noun from '../nouns.ts'
import { type Column, facts, table } from '../table.ts'
import type { Terminal } from '../terminal.ts'
import { oneLine, words } from '../text.ts'
import { checksText } from './checks.ts'

const proofOptions = {
  secrets: {
    kind: 'text',
    value: 'FILE',
    help: 'Secrets bundle, as talosctl gen secrets writes it',
  },
  talosconfig: {
    kind: 'text',
    value: 'FILE',
    help: "An admin's talosconfig, in place of the bundle",
  },
} as const

async function proofOf({
  secrets,
  talosconfig,
}: {
  secrets: string | undefined
  talosconfig: string | undefined
}) {
  if ((secrets === undefined) === (talosconfig === undefined))
    throw new CliError('usage', 'Give either --secrets or --talosconfig')
  return secrets === undefined
    ? { talosconfig: await readText(talosconfig!) }
    : { secrets: await readText(secrets) }
}

const columns: readonly Column<TakeoverServer>[] = [
  { title: 'NAME', text: (s) => s.name },
  { title: 'ROLE', text: (s) => words(s.role ?? 'unknown') },
  { title: 'ADDRESS', text: (s) => s.address ?? '' },
  { title: 'TALOS', text: (s) => s.talos_version ?? '' },
  { title: 'UUID', text: (s) => s.uuid ?? '' },
  { title: 'SERIAL', text: (s) => s.serial ?? '' },
  { title: 'HERE', text: (s) => (s.known ? `is ${s.known.name}` : 'new') },
  { title: 'PROBLEM', text: (s) => s.problem ?? '', colour: () => 'red' },
]

const existingColumns: readonly Column<ExistingObject>[] = [
  { title: 'EXISTS ALREADY', text: (o) => o.name },
  {
    title: 'REPLACE',
    text: (o) => (o.replaceable ? `kept, unless --replace ${o.object}` : 'kept'),
  },
  { title: 'MEANING', text: (o) => o.message },
]

const takeoverText = (terminal: Terminal, t: Takeover): string =>
  [
    facts(terminal, [
      ['Cluster', t.name],
      ['Endpoint', t.endpoint],
      ['Talos', t.talos_version],
      ['Kubernetes', t.kubernetes_version],
      ['Pod CIDR', t.pod_cidr],
      ['Service CIDR', t.service_cidr],
    ]),
    '\n',
    table(terminal, t.servers, columns, 'No servers'),
    '\n',
    ...(t.existing.length === 0
      ? []
      : [table(terminal, t.existing, existingColumns, 'None'), '\n']),
    checksText(terminal, t.checks),
  ].join('')

const canTake = (t: Takeover): boolean =>
  t.checks.every((c) => c.ok) && t.servers.every((s) => s.problem === null)

/**
 * @throws CliError if the cluster can't be taken over; thrown before the user is asked for a name
 */
function refuse({ name, servers, checks }: Takeover): void {
  const server = servers.find((s) => s.problem !== null)
  const check = checks.find((c) => !c.ok)
  const why = server ? `${server.name}: ${server.problem}` : check?.message
  if (why === undefined) return
  throw new CliError(server?.uuid === null ? 'unreachable' : 'conflict', oneLine(why), {
    hint: `${oneLine(name)} was not taken over`,
  })
}

export const takeoverCommands: Command[] = [
  command({
    name: 'cluster import',
    summary:
      'Take over a cluster that was created without Steelyard. Shows what was found, then asks for the name of the cluster. Nothing is sent to the machines.',
    options: {
      ...proofOptions,
      kubeconfig: {
        kind: 'text',
        value: 'FILE',
        help: "An admin's kubeconfig, to check that it belongs to the same cluster",
      },
      address: {
        kind: 'text',
        value: 'ADDRESS',
        many: true,
        help: 'Addresses of control planes (default: the endpoints of the talosconfig)',
      },
      datacenter: { kind: 'text', value: 'CODE', help: 'Datacenter of its servers. Required' },
      name: {
        kind: 'text',
        value: 'NAME',
        help: "Name of the cluster in Steelyard (default: the cluster's own name)",
      },
      replace: {
        kind: 'text',
        value: 'OBJECT',
        many: true,
        choices: replaceableObjects,
        help: "Replace an object that exists in the cluster's Kubernetes already (default: all are kept). Replacing a key ends the proofs of the offers that use it",
      },
      confirm: {
        kind: 'text',
        value: 'NAME',
        help: 'Name of the cluster, which confirms --replace if --yes is given',
      },
      'dry-run': { kind: 'flag', help: 'Only show what was found' },
      ...sureOption,
    },
    examples: [
      'cluster import --secrets secrets.yaml --address 10.0.4.11 --datacenter PL-POZ-1 --dry-run',
      'cluster import --talosconfig ~/.talos/config --kubeconfig ~/.kube/config --datacenter PL-POZ-1 --yes',
      'cluster import --talosconfig ~/.talos/config --datacenter PL-POZ-1 --replace cluster_key --confirm web --yes',
    ],
    async run({ api, terminal, show }, { options }) {
      if (options.datacenter === undefined)
        throw new CliError('usage', '--datacenter is missing', {
          hint: 'steelyard datacenter list shows the codes',
        })
      const body = {
        ...(await proofOf(options)),
        ...(options.kubeconfig !== undefined && { kubeconfig: await readText(options.kubeconfig) }),
        ...(options.name !== undefined && { name: options.name }),
        addresses: options.address,
        datacenter_id: await noun.idOf(api, noun.datacenter, options.datacenter),
      }
      if (options.replace.length > 0 && options.yes && options.confirm === undefined)
        throw new CliError(
          'usage',
          '--replace with --yes needs --confirm with the name of the cluster',
          { hint: 'Nothing was taken over' },
        )
      const found = await api.call(clusterImportPreview, { body })
      if (options['dry-run']) {
        show(found, (t) => takeoverText(terminal, t))
        return canTake(found) ? 0 : 1
      }
      terminal.err(takeoverText(terminal, found))
      refuse(found)
      const { replace } = options
      const replaced =
        replace.length === 0
          ? ''
          : ` It replaces its ${replace.map((object) => objectWords[object]).join(' and its ')}.`
      await beSure(
        terminal,
        `Steelyard takes over ${oneLine(found.name)} with these machines.${replaced}`,
        found.name,
        options.yes,
      )
      const confirmed = replace.length > 0 && {
        replace,
        confirm: options.yes ? options.confirm! : found.name,
      }
      const taken = await api.call(clusterImport, {
        body: { ...body, seen: found.seen, ...confirmed },
      })
      show(taken, ({ cluster }) => `Cluster ${oneLine(cluster.name)} is ${cluster.status}\n`)
      return undefined
    },
  }),
  command({
    name: 'cluster replace-key',
    summary:
      'Give a cluster whose own key was kept at its takeover a key of this Steelyard. The offers that use the kept key are not proved any more.',
    operands: { cluster: noun.cluster },
    options: {
      confirm: {
        kind: 'text',
        value: 'NAME',
        help: 'Name of the cluster; required if there is no terminal',
      },
    },
    examples: ['cluster replace-key web', 'cluster replace-key web --confirm web'],
    async run({ api, terminal, show }, { operands, options }) {
      const params = { id: await noun.idOf(api, noun.cluster, operands.cluster) }
      const cluster = await api.call(clusterGet, { params })
      const kept = keptOf(cluster, 'cluster_key')
      if (kept === null)
        throw new CliError(
          'conflict',
          `${oneLine(cluster.name)} has a key of this Steelyard already`,
        )
      if (options.confirm === undefined)
        await beSure(
          terminal,
          `The key ${kept.address ?? 'without a readable address'} in ${oneLine(cluster.name)} is lost.`,
          cluster.name,
          false,
        )
      const body = { address: kept.address, confirm: options.confirm ?? cluster.name }
      show(
        await api.call(clusterKeyReplace, { params, body }),
        (c) => `The key of ${oneLine(c.name)} is ${c.chainAddress}\n`,
      )
      return undefined
    },
  }),
  objectCommand({
    name: 'cluster import-secrets',
    of: noun.cluster,
    operation: clusterSecretsImport,
    summary:
      "Import a cluster's new secrets after its authorities were changed outside of Steelyard (talosctl rotate-ca). The secrets are checked against the machines of the cluster.",
    options: proofOptions,
    examples: [
      'cluster import-secrets web --talosconfig ~/.talos/config',
      'cluster import-secrets web --secrets secrets.yaml',
    ],
    ask: async (_context, { options }) => ({ body: await proofOf(options) }),
    say: (c) => `The secrets of ${oneLine(c.name)} are imported\n`,
  }),
]
