import type { ComponentProps } from 'react'
import type BulkServers from '../../features/servers/dialogs/BulkServers.tsx'
import { dialog } from '../../ui/overlay/dialogs.ts'

/** Plans an act on many servers, and begins it. */
export const bulkServers = dialog<ComponentProps<typeof BulkServers>>(
  () => import('../../features/servers/dialogs/BulkServers.tsx'),
)
