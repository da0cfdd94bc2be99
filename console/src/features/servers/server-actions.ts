/** Everything that can be done to servers: row menu, page header, bulk bar and ⌘K show these lists. */
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import { clusterCreate } from '#contract/clusters.ts'
import { all, no, type Verdict, yes } from '#contract/rule.ts'
import {
  canConfirmServer,
  canControlServer,
  canMoveServer,
  canRemoveServer,
  canRenameServer,
  type Server,
  serverConfirm,
  serverReboot,
  serverRemove,
  serverShutdown,
  serverTalosconfig,
  serverUpdate,
} from '#contract/servers.ts'
import { counted } from '#contract/words.ts'
import { call, download } from '../../api/client.ts'
import { allowed } from '../../api/session.ts'
import { type Action, confirm } from '../../ui/actions.ts'
import { toast } from '../../ui/toast.ts'
import { paths } from '../../lib/paths.ts'
import { modals } from '../../layout/modals.ts'
import { serverDialog } from './dialogs.ts'
import { refreshServers } from './server-queries.ts'

export const renameVerdict = (s: Server): Verdict => all(allowed(serverUpdate), canRenameServer(s))
export const confirmVerdict = (s: Server): Verdict => all(allowed(serverConfirm), canConfirmServer(s))
export const talosconfigVerdict = (s: Server): Verdict => all(allowed(serverTalosconfig), canControlServer(s))
const removeVerdict = (s: Server): Verdict => all(allowed(serverRemove), canRemoveServer(s))

/** Rename, confirm, download, reboot, shut down, move, remove: what the machine or the rules refuse stays in sight with the reason. */
export const serverActions = (client: QueryClient, s: Server): Action[] => [
  { label: 'Rename', icon: 'edit', can: renameVerdict(s), run: () => modals.open('editServerName', { serverId: s.id, name: s.name }) },
  {
    label: 'Assign datacenter',
    icon: 'datacenter',
    can: all(allowed(serverUpdate), canMoveServer(s)),
    run: () => serverDialog.set({ kind: 'assignDatacenter', servers: [s] }),
  },
  ...(s.identity.state === 'confirmed'
    ? []
    : [
        {
          label: 'Confirm hardware',
          icon: 'check',
          can: confirmVerdict(s),
          run: () => serverDialog.set({ kind: 'confirmHardware', ids: [s.id] }),
        } satisfies Action,
      ]),
  { label: 'Talosconfig', icon: 'download', can: talosconfigVerdict(s), run: () => downloadTalosconfig(s) },
  { label: 'Reboot', icon: 'refresh', can: all(allowed(serverReboot), canControlServer(s), idle(s)), run: () => reboot(client, s) },
  { label: 'Shut down', icon: 'power', danger: true, can: all(allowed(serverShutdown), canControlServer(s), idle(s)), run: () => shutDown(client, s) },
  { label: 'Remove', icon: 'trash', danger: true, can: removeVerdict(s), run: () => removeServers(client, [s]) },
]

const idle = (s: Server): Verdict => (s.operation_id === null ? yes : no('An operation on the server has not ended'))

/** What the whole selection allows: the first server that does not says why, by its name. */
function each(servers: readonly Server[], judge: (s: Server) => Verdict): Verdict {
  for (const s of servers) {
    const verdict = judge(s)
    if (!verdict.ok) return servers.length === 1 ? verdict : no(`${s.name}: ${verdict.reason}`)
  }
  return yes
}

/** A server may be offered for a cluster while it is free; whether it is eligible is said in the form, server by server. */
const free = (s: Server): Verdict =>
  s.status === 'maintenance' && s.cluster === null ? yes : no(s.cluster ? `is in the cluster ${s.cluster.name}` : 'was removed')

export const bulkActions = (client: QueryClient, servers: readonly Server[], clear: () => void): Action[] => [
  {
    label: 'Create cluster',
    icon: 'cluster',
    can: all(allowed(clusterCreate), each(servers, free)),
    to: `${paths.createCluster()}?servers=${servers.map((s) => s.id).join(',')}`,
  },
  {
    label: 'Assign datacenter',
    icon: 'datacenter',
    can: all(allowed(serverUpdate), each(servers, canMoveServer)),
    run: () => serverDialog.set({ kind: 'assignDatacenter', servers, done: clear }),
  },
  {
    label: 'Remove',
    icon: 'trash',
    danger: true,
    can: each(servers, removeVerdict),
    run: () => removeServers(client, servers).then((done) => done && clear()),
  },
]

async function downloadTalosconfig(s: Server): Promise<void> {
  try {
    await download(serverTalosconfig, { params: { id: s.id } }, `talosconfig-${s.name}.yaml`)
  } catch (error) {
    toast.error(sentenceOf(error, 'The talosconfig could not be downloaded'))
  }
}

const sentenceOf = (error: unknown, otherwise: string): string => (error instanceof Error && error.message !== '' ? error.message : otherwise)

const reboot = (client: QueryClient, s: Server): Promise<boolean> =>
  confirm({
    title: `Reboot ${s.name}?`,
    text: `What runs on it stops until it is back, in a few minutes. ${inCluster(s)}`,
    act: async () => {
      await call(serverReboot, { params: { id: s.id } })
      await refreshServers(client, s.id)
    },
  })

const shutDown = (client: QueryClient, s: Server): Promise<boolean> =>
  confirm({
    title: `Shut down ${s.name}?`,
    label: 'Shut down',
    text: `It stays off until somebody switches it on: Steelyard can't. ${inCluster(s)}`,
    danger: true,
    typed: s.name,
    act: async () => {
      await call(serverShutdown, { params: { id: s.id } })
      await refreshServers(client, s.id)
    },
  })

const inCluster = (s: Server): string =>
  s.cluster ? `It is a ${s.type === 'control_plane' ? 'control plane' : 'worker'} of the cluster ${s.cluster.name}.` : ''

/** Removes them one after another. What fails is told by name, the others are gone. Resolves to whether all were removed. */
function removeServers(client: QueryClient, servers: readonly Server[]): Promise<boolean> {
  const one = servers.length === 1 ? servers[0] : undefined
  const typed = one?.name ?? `remove ${counted(servers.length, 'server')}`
  return confirm({
    title: one ? `Remove ${one.name}?` : `Remove ${counted(servers.length, 'server')}?`,
    text: `Nothing is wiped. ${one ? 'The server' : 'Each'} is kept in the history as deleted; a machine that announces itself again becomes a new server.`,
    danger: true,
    typed,
    act: async () => {
      const left = new Set(servers)
      const failures: string[] = []
      for (const s of servers) {
        try {
          await call(serverRemove, { params: { id: s.id } })
          left.delete(s)
        } catch (error) {
          failures.push(`${s.name}: ${sentenceOf(error, 'it could not be removed')}`)
        }
      }
      await refreshServers(client)
      if (failures.length > 0) throw new Error(failures.join(' '))
      toast.success(one ? `${one.name} was removed` : `${counted(servers.length, 'server')} were removed`)
    },
  })
}

export function useServerDeeds(): {
  talosconfig: (s: Server) => void
  actions: (s: Server) => Action[]
  bulk: (servers: readonly Server[], clear: () => void) => Action[]
} {
  const client = useQueryClient()
  return useMemo(
    () => ({
      talosconfig: (s) => void downloadTalosconfig(s),
      actions: (s) => serverActions(client, s),
      bulk: (servers, clear) => bulkActions(client, servers, clear),
    }),
    [client],
  )
}
