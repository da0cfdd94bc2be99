import type { ListedServer } from '#contract/servers/servers.ts'
import { dialog } from '../../../ui/overlay/dialogs.ts'
import type { BulkDialog } from './bulk.ts'

/** Assigns servers to a datacenter. */
export const assignDatacenter = dialog<BulkDialog>(() => import('./AssignDatacenter.tsx'))
/** Edits the labels and notes of one server, or sets and removes labels of several. */
export const labelServers = dialog<BulkDialog>(() => import('./LabelServers.tsx'))
/** Removes a server that is in no cluster. */
export const removeServer = dialog<{ server: ListedServer }>(() => import('./RemoveServer.tsx'))
/** Takes a server out of its cluster, by reset or by force. */
export const leaveCluster = dialog<{ server: ListedServer; way: 'reset' | 'remove' }>(
  () => import('./LeaveCluster.tsx'),
)
/** Shows the hardware of servers to confirm. */
export const confirmHardware = dialog<{ ids: readonly string[] }>(
  () => import('./ConfirmHardware.tsx'),
)
