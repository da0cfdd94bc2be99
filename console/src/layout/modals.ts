import type { ComponentProps } from 'react'
import type { JoinToken } from '#contract/join-tokens.ts'
import type ReplaceServer from '../features/clusters/page/ReplaceServer.tsx'
import type RetryDisks from '../features/clusters/page/RetryDisks.tsx'
import type QuarantineServer from '../features/servers/dialogs/QuarantineServer.tsx'
import { dialog } from '../ui/overlay/dialogs.ts'
import type { Labelled } from './labels/labelled.ts'

// Dialogs that several features open. The first three are the specification's global modals, shown
// in the specified order.
export const showClusterKey = dialog<{ clusterIds: string[] }>(
  () => import('../features/clusters/ShowClusterKey.tsx'),
  1,
)

export const editServerName = dialog<{ serverId: string; name: string }>(
  () => import('../features/servers/dialogs/EditServerName.tsx'),
  2,
)

export const confirmServersWithoutPatch = dialog<{
  servers: { id: string; name: string; address?: string }[]
  onConfirm: () => unknown
}>(() => import('../features/servers/dialogs/ServersWithoutPatch.tsx'), 3)

/**
 * Creates a join token and shows it or, with `onMade`, passes it on without showing it.
 * `datacenter`: id of the preselected datacenter.
 */
export const createJoinToken = dialog<{ datacenter?: string; onMade?: (token: JoinToken) => void }>(
  () => import('../features/join-tokens/CreateJoinToken.tsx'),
)

/**
 * Asks the user to prove their identity again. Shown above every other dialog, because it belongs
 * to the call of that dialog.
 */
export const confirmIdentity = dialog<undefined, boolean>(
  () => import('./proof/ConfirmIdentity.tsx'),
  -1,
)

/** Replaces a failed server of a creation. */
export const replaceServer = dialog<ComponentProps<typeof ReplaceServer>>(
  () => import('../features/clusters/page/ReplaceServer.tsx'),
)
/** Asks to confirm the disks that a retry would wipe. */
export const retryWithDisks = dialog<ComponentProps<typeof RetryDisks>>(
  () => import('../features/clusters/page/RetryDisks.tsx'),
)

/** Edits the labels and notes of a server or a cluster. */
export const editLabels = dialog<{ of: Labelled }>(() => import('./labels/EditLabels.tsx'))
/** Puts a server into quarantine, or lifts its quarantine. */
export const quarantineServer = dialog<ComponentProps<typeof QuarantineServer>>(
  () => import('../features/servers/dialogs/QuarantineServer.tsx'),
)
