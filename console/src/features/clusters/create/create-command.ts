/** The CLI command that creates the cluster of a draft. */
import {
  defaultPodCidr,
  defaultServiceCidr,
  type NewClusterInput,
} from '#contract/clusters/clusters.ts'
import { cliOf } from '../../../lib/shell.ts'
import type { Draft } from './draft.ts'

/**
 * The CLI command that creates the cluster. `servers`: all servers of the datacenter. `datacenter`:
 * its code. Options with default values are omitted.
 */
export function createCommand(
  draft: Draft,
  servers: readonly { id: string; name: string }[],
  datacenter: string,
  body: Partial<NewClusterInput> = {},
): string {
  const { confirmed_disks: confirmed = [], labels = {}, maintenance_window: window } = body
  const { snapshots, extensions, kernel_args: args } = body
  const chosen = servers.flatMap((s) => {
    const how = draft.servers[s.id]
    return how === undefined ? [] : [{ name: s.name, ...how }]
  })
  const named = (role: string) => chosen.filter((s) => s.role === role).map((s) => s.name)
  return cliOf(['cluster', 'create', draft.name], {
    datacenter,
    'control-plane': named('control_plane'),
    worker: named('worker'),
    interface: chosen.flatMap((s) => (s.link === '' ? [] : [`${s.name}=${s.link}`])),
    'install-disk': chosen.flatMap((s) =>
      s.installDisk === '' ? [] : [`${s.name}=/dev/${s.installDisk}`],
    ),
    'workload-disk': chosen.flatMap((s) => s.workloadDisks.map((disk) => `${s.name}=/dev/${disk}`)),
    'confirm-disk': confirmed.map((d) => `${d.wwid ?? d.serial}=${d.content}`),
    'talos-version': draft.talos,
    'kubernetes-version': draft.kubernetes,
    endpoint: draft.endpointKind === 'first' ? '' : draft.endpoint,
    'virtual-ip': draft.endpointKind === 'virtual',
    'vlan-id': draft.vlan,
    'pod-cidr': draft.podCidr === defaultPodCidr ? '' : draft.podCidr,
    'service-cidr': draft.serviceCidr === defaultServiceCidr ? '' : draft.serviceCidr,
    label: Object.entries(labels).map(([key, value]) => (value === '' ? key : `${key}=${value}`)),
    subnet: body.subnet_ids ?? [],
    extension: extensions ?? [],
    'no-extensions': extensions?.length === 0,
    'kernel-arg': args ?? [],
    'no-kernel-args': args?.length === 0,
    'window-day': window?.days ?? [],
    'window-from': window?.from,
    'window-minutes': window?.minutes,
    'window-time-zone': window?.time_zone,
    'snapshot-store': snapshots?.store_id,
    'snapshot-every': snapshots?.every_hours,
    'snapshot-at': snapshots?.at_hour,
    'snapshot-keep': snapshots?.keep_count === null ? 0 : snapshots?.keep_count,
    'snapshot-keep-days': snapshots?.keep_days,
  })
}
