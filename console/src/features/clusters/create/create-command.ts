/** The CLI command that creates the cluster of a draft. */
import { defaultPodCidr, defaultServiceCidr } from '#contract/clusters/clusters.ts'
import type { ConfirmedDisk } from '#contract/servers/disks.ts'
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
  confirmed: readonly ConfirmedDisk[] = [],
): string {
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
  })
}
