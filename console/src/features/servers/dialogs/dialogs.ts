import type { Server } from '#contract/servers/servers.ts'
import { dialog } from '../../../ui/overlay/dialogs.ts'
import type { BulkDialog } from './bulk.ts'

/** Sets where servers stand. */
export const assignDatacenter = dialog<BulkDialog>(() => import('./AssignDatacenter.tsx'))
/** Removes servers that are in no cluster. */
export const removeServers = dialog<BulkDialog>(() => import('./RemoveServers.tsx'))
/** Takes a server out of its cluster: wiped, or forgotten by force. */
export const leaveCluster = dialog<{ server: Server; way: 'reset' | 'remove' }>(() => import('./LeaveCluster.tsx'))
/** Shows the hardware of servers that a person has to confirm. */
export const confirmHardware = dialog<{ ids: readonly string[] }>(() => import('./ConfirmHardwareDialog.tsx'))
