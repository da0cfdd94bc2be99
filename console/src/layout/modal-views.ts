import { type ComponentType, lazy } from 'react'
import type { ModalName, ModalProps } from './modals.ts'

/** One line per global dialog: features make them, and they are fetched when first opened. */
export const modalViews: { [Name in ModalName]?: ComponentType<ModalProps<Name>> } = {
  showClusterKey: lazy(() => import('../features/clusters/ShowClusterKey.tsx')),
  editServerName: lazy(() => import('../features/servers/EditServerName.tsx')),
  confirmServersWithoutPatch: lazy(() => import('../features/servers/ServersWithoutPatch.tsx')),
}
