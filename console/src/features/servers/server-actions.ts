/** Actions on servers, for row menu, page header, bulk bar and ⌘K. */
import { clusterCreate } from '#contract/clusters/clusters.ts'
import type { BulkActKind } from '#contract/servers/bulk.ts'
import { bulkAlsoNeeds } from '#contract/servers/bulk-needs.ts'
import { all, no, type Verdict, yes } from '#contract/rule.ts'
import {
  type MachineCommand,
  machineCommandKinds,
  machineCommands,
} from '#contract/servers/machine-commands.ts'
import {
  canCommandServer,
  canConfirmServer,
  canControlServer,
  canForceRemoveServer,
  canLabelServer,
  canMoveServer,
  canRemoveServer,
  canRenameServer,
  canResetServer,
  isIdle,
  isInDoubt,
  type ListedServer,
  serverCommands,
  serverConfirm,
  serverRemove,
  serverReset,
  serverTalosconfig,
  serverUpdate,
} from '#contract/servers/servers.ts'
import { call, download } from '../../api/client.ts'
import { allowed } from '../../api/session.ts'
import { type Action, confirm, only } from '../../ui/actions.ts'
import { reasonOf } from '../../lib/reason.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { paths } from '../../lib/paths.ts'
import { editServerName, quarantineServer } from '../../layout/modals.ts'
import { bulkServers } from '../../layout/operations/bulk-servers.ts'
import { anyAble } from './any-able.ts'
import type { ItemResult } from './dialogs/bulk.ts'
import {
  assignDatacenter,
  confirmHardware,
  labelServers,
  leaveCluster,
  removeServer,
} from './dialogs/dialogs.ts'
import { refreshServers } from './server-queries.ts'

const renameVerdict = (s: ListedServer): Verdict => all(allowed(serverUpdate), canRenameServer(s))
export const confirmVerdict = (s: ListedServer): Verdict =>
  all(allowed(serverConfirm), canConfirmServer(s))
export const talosconfigVerdict = (s: ListedServer): Verdict =>
  all(allowed(serverTalosconfig), canControlServer(s))
const labelVerdict = (s: ListedServer): Verdict => all(allowed(serverUpdate), canLabelServer(s))
const removeVerdict = (s: ListedServer): Verdict => all(allowed(serverRemove), canRemoveServer(s))

/** Refused actions stay visible with the reason. */
export const serverActions = (s: ListedServer): Action[] => [
  {
    label: 'Rename',
    icon: 'edit',
    can: renameVerdict(s),
    run: () => editServerName({ serverId: s.id, name: s.name }),
  },
  {
    label: 'Assign datacenter',
    icon: 'datacenter',
    can: all(allowed(serverUpdate), canMoveServer(s)),
    run: () => assignDatacenter({ servers: [s] }),
  },
  {
    label: 'Labels and notes',
    icon: 'edit',
    can: labelVerdict(s),
    run: () => labelServers({ servers: [s] }),
  },
  quarantineAction(s),
  ...only(isInDoubt(s), {
    label: 'Confirm hardware',
    icon: 'check',
    can: confirmVerdict(s),
    run: () => confirmHardware({ ids: [s.id] }),
  }),
  {
    label: 'Talosconfig',
    icon: 'download',
    can: talosconfigVerdict(s),
    run: () => downloadTalosconfig(s),
  },
  ...machineCommandKinds.map((kind): Action => {
    const { title, icon, danger } = machineCommands[kind]
    return {
      label: title,
      icon,
      danger,
      can: all(allowed(serverCommands[kind]), canCommandServer(s), isIdle(s)),
      run: () => command(s, kind),
    }
  }),
  {
    label: 'Reset to maintenance',
    icon: 'swap',
    danger: true,
    can: all(allowed(serverReset), canResetServer(s)),
    run: () => leaveCluster({ way: 'reset', server: s }),
  },
  {
    label: 'Remove',
    icon: 'trash',
    danger: true,
    can: removeVerdict(s),
    run: () => removeServer({ server: s }),
  },
  // Only for servers in a cluster: for other servers "Remove" does the same.
  ...only(s.cluster !== null, {
    label: 'Remove by force',
    icon: 'trash',
    danger: true,
    can: all(allowed(serverRemove), canForceRemoveServer(s)),
    run: () => leaveCluster({ way: 'remove', server: s }),
  }),
]

/** Puts a server into quarantine, or lifts its quarantine. */
export const quarantineAction = (s: ListedServer): Action => ({
  label: s.quarantine ? 'Lift quarantine' : 'Quarantine',
  icon: 'alert',
  can: labelVerdict(s),
  run: () => quarantineServer({ server: s }),
})

/**
 * Yes if every selected server allows the action, otherwise the first refusal with the server's
 * name.
 */
function each(servers: readonly ListedServer[], judge: (s: ListedServer) => Verdict): Verdict {
  for (const s of servers) {
    const verdict = judge(s)
    if (!verdict.ok) return servers.length === 1 ? verdict : no(`${s.name}: ${verdict.reason}`)
  }
  return yes
}

/** Whether a server is in no cluster. The form for a new cluster checks further conditions. */
const free = (s: ListedServer): Verdict =>
  s.status === 'maintenance' && s.cluster === null
    ? yes
    : no(s.cluster ? `is in the cluster ${s.cluster.name}` : 'was removed')

/** Acts that are planned for all chosen servers, and become one operation. */
const bulks: readonly [BulkActKind, string, Action['icon'], (s: ListedServer) => Verdict][] = [
  ['reboot', 'Reboot', 'refresh', canCommandServer],
  ['restart_kubelet', 'Restart kubelet', 'refresh', canCommandServer],
  ['upgrade', 'Upgrade Talos', 'arrow-up', canCommandServer],
  ['commit', 'Commit', 'lock', canLabelServer],
  ['reset', 'Reset', 'swap', canResetServer],
  ['remove', 'Remove', 'trash', canRemoveServer],
]

/** `done` receives the result of each server for which no operation begins. */
export const bulkActions = (
  servers: readonly ListedServer[],
  done: (results: readonly ItemResult[]) => void,
): Action[] => [
  {
    label: 'Create cluster',
    icon: 'cluster',
    can: all(allowed(clusterCreate), each(servers, free)),
    to: `${paths.createCluster()}?servers=${servers.map((s) => s.id).join(',')}`,
  },
  {
    label: 'Labels',
    icon: 'edit',
    can: all(allowed(serverUpdate), anyAble(servers, canLabelServer)),
    run: () => labelServers({ servers, done }),
  },
  ...bulks.map(([kind, label, icon, judge]): Action => ({
    label,
    icon,
    danger: judge === canResetServer || judge === canRemoveServer,
    can: all(
      allowed(serverUpdate),
      allowed({ scope: bulkAlsoNeeds[kind] ?? null }),
      anyAble(servers, judge),
    ),
    run: () => bulkServers({ kind, node_ids: servers.map((s) => s.id) }),
  })),
  {
    label: 'Assign datacenter',
    icon: 'datacenter',
    can: all(allowed(serverUpdate), anyAble(servers, canMoveServer)),
    run: () => assignDatacenter({ servers, done }),
  },
]

export const downloadTalosconfig = (s: ListedServer): Promise<unknown> =>
  download(serverTalosconfig, { params: { id: s.id } }, `talosconfig-${s.name}.yaml`).catch(
    (error: unknown) => toast.error(reasonOf(error)),
  )

const command = (s: ListedServer, kind: MachineCommand): Promise<boolean> => {
  const { title, question, consequence, danger } = machineCommands[kind]
  return confirm({
    title: question(s.name),
    label: title,
    text: `${consequence} ${inCluster(s)}`,
    danger,
    ...(danger && { typed: s.name }),
    act: async () => {
      await call(serverCommands[kind], { params: { id: s.id } })
      await refreshServers(s.id)
    },
  })
}

const inCluster = (s: ListedServer): string =>
  s.cluster
    ? `It is a ${s.type === 'control_plane' ? 'control plane' : 'worker'} of the cluster ${s.cluster.name}.`
    : ''
