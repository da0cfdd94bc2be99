import { basename } from 'node:path'
import * as z from 'zod/mini'
import {
  canHaveControlPlanes,
  type ClusterRole,
  controlPlaneWarning,
  type NewClusterInput,
} from '#contract/clusters/clusters.ts'
import { NewPatch } from '#contract/patches.ts'
import { type Context, type Given, given, type Operands } from '../command.ts'
import { CliError } from '../exit.ts'
import { readText } from '../files.ts'
import * as noun from '../nouns.ts'
import { oneLine } from '../text.ts'
import { confirmedDisks, confirmOption } from './confirm-disks.ts'
import { lossOption } from './confirm-loss.ts'
import { firstOptions, firstSettings } from './templates/first-settings.ts'

export const createOptions = {
  datacenter: { kind: 'text', value: 'CODE', help: 'Datacenter of its servers. Required' },
  'control-plane': {
    kind: 'text',
    value: 'SERVER',
    many: true,
    help: 'Servers that become control planes: an odd number. Required',
  },
  worker: { kind: 'text', value: 'SERVER', many: true, help: 'Servers that become workers' },
  'install-disk': {
    kind: 'text',
    value: 'SERVER=DISK',
    many: true,
    onePerServer: true,
    help: 'System disk, by id (nvme0n1) or path (/dev/nvme0n1). Default: the smallest fixed disk that is large enough; empty disks are preferred',
  },
  'workload-disk': {
    kind: 'text',
    value: 'SERVER=DISK',
    many: true,
    help: 'Disks for the workload, by id or path',
  },
  ...confirmOption,
  ...lossOption,
  patch: {
    kind: 'text',
    value: '[SERVER=]FILE',
    many: true,
    onePerServer: true,
    help: 'YAML file of a patch for one server, or without SERVER for all others; the patch is named after the file',
  },
  interface: {
    kind: 'text',
    value: 'SERVER=LINK',
    many: true,
    onePerServer: true,
    help: 'Link for the workload (default: the link that Steelyard reaches the server on)',
  },
  endpoint: {
    kind: 'text',
    value: 'ADDRESS',
    help: "Address or DNS name of the Kubernetes API; else the first control plane's address",
  },
  'virtual-ip': {
    kind: 'flag',
    help: 'The endpoint is a virtual IP: an unused address that the control planes share',
  },
  'kubernetes-version': { kind: 'text', value: 'VERSION', help: 'Default: the newest supported' },
  'talos-version': { kind: 'text', value: 'VERSION', help: 'Default: the newest supported' },
  'vlan-id': { kind: 'number', value: 'ID', help: 'VLAN ID, 1 to 4094' },
  'pod-cidr': { kind: 'text', value: 'CIDR', help: 'Network of the pods (default: 10.244.0.0/16)' },
  'service-cidr': {
    kind: 'text',
    value: 'CIDR',
    help: 'Network of the services (default: 10.96.0.0/12)',
  },
  ...firstOptions,
} as const

type CreateOptions = Given<Operands, typeof createOptions>['options']

/** `SERVER=VALUE` pairs. Each server must belong to the cluster. */
export function perServer(
  option: string,
  pairs: readonly string[],
  servers: readonly string[],
): Map<string, string[]> {
  const values = new Map<string, string[]>()
  for (const pair of pairs) {
    const [server = '', value = ''] = pair.split(/=(.*)/s)
    if (value === '')
      throw new CliError('usage', `--${option} takes SERVER=VALUE, not ${oneLine(pair)}`)
    if (!servers.includes(server))
      throw new CliError(
        'usage',
        `--${option}: ${oneLine(server)} is none of the servers of this cluster`,
      )
    values.set(server, [...(values.get(server) ?? []), value])
  }
  return values
}

/**
 * Reads a patch from a file. The file's name gives the patch's name: `./edge-net.yaml` → edge-net.
 */
async function patchIn(file: string): Promise<NewPatch> {
  const name = basename(file).replace(/\.ya?ml$/, '')
  const body = await readText(file)
  const read = z.safeParse(NewPatch, { name, body })
  if (!read.success)
    throw new CliError('usage', `--patch ${oneLine(file)}: ${read.error.issues[0]!.message}`)
  return read.data
}

/** The patch of each server: from the server's own file, else from the file for all servers. */
export async function patchesOf(
  options: readonly string[],
  servers: readonly string[],
): Promise<(server: string) => NewPatch | undefined> {
  const isOwn = (option: string) =>
    servers.includes(option.split('=', 1)[0]!) && option.includes('=')
  const [everybody, second] = options.filter((option) => !isOwn(option))
  if (second !== undefined)
    throw new CliError(
      'usage',
      '--patch is given twice without a server: each server takes one new patch',
    )
  const own = perServer('patch', options.filter(isOwn), servers)
  const patches = new Map<string, NewPatch>()
  for (const server of servers) {
    const file = single('patch', own, server) ?? everybody
    if (file !== undefined) patches.set(server, await patchIn(file))
  }
  return (server) => patches.get(server)
}

/**
 * The option's value for a server. Throws CliError if the option was given twice for the server.
 */
export function single(
  option: string,
  values: Map<string, string[]>,
  server: string,
): string | undefined {
  const entered = values.get(server)
  if (entered && entered.length > 1)
    throw new CliError('usage', `--${option} is given twice for ${oneLine(server)}`)
  return entered?.[0]
}

/**
 * Builds the body of `clusterCreate` from the options. Resolves names to ids and prints warnings.
 * Throws CliError.
 */
export async function readNewCluster(
  context: Context,
  name: string,
  options: CreateOptions,
): Promise<NewClusterInput> {
  const { terminal, api } = context
  if (options.datacenter === undefined)
    throw new CliError('usage', '--datacenter is missing', {
      hint: 'steelyard datacenter list shows the codes',
    })
  const controlPlanes = options['control-plane']
  const servers = [...controlPlanes, ...options.worker]
  const verdict = canHaveControlPlanes(controlPlanes.length)
  if (!verdict.ok) throw new CliError('usage', verdict.reason)
  const twice = servers.find((s, i) => servers.indexOf(s) !== i)
  if (twice !== undefined) throw new CliError('usage', `${oneLine(twice)} is named twice`)
  const installDisks = perServer('install-disk', options['install-disk'], servers)
  const workloadDisks = perServer('workload-disk', options['workload-disk'], servers)
  const interfaces = perServer('interface', options.interface, servers)
  const patchOf = await patchesOf(options.patch, servers)
  const warning = controlPlaneWarning(controlPlanes.length)
  if (warning) terminal.err(`${warning}\n`)

  const asked: NewClusterInput['servers'] = []
  for (const server of servers) {
    const role: ClusterRole = controlPlanes.includes(server) ? 'control_plane' : 'worker'
    const chosen = {
      interface: single('interface', interfaces, server),
      install_disk: single('install-disk', installDisks, server),
      workload_disks: workloadDisks.get(server),
      patch: patchOf(server),
    }
    asked.push({ node_id: await noun.idOf(api, noun.server, server), role, ...given(chosen) })
  }
  return {
    name,
    datacenter_id: await noun.idOf(api, noun.datacenter, options.datacenter),
    servers: asked,
    ...(await firstSettings(context, options)),
    ...given({
      endpoint: options.endpoint,
      virtual_ip: options['virtual-ip'] || undefined,
      kubernetes_version: options['kubernetes-version'],
      talos_version: options['talos-version'],
      vlan_id: options['vlan-id'],
      pod_cidr: options['pod-cidr'],
      service_cidr: options['service-cidr'],
      confirmed_disks:
        options['confirm-disk'].length > 0 ? confirmedDisks(options['confirm-disk']) : undefined,
    }),
  }
}
