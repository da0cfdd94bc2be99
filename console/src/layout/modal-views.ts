import { type ComponentType, lazy } from 'react'
import { patiently } from '../lib/code.ts'
import type { ModalName, ModalProps } from './modals.ts'

/** One line per global dialog: features make them, and they are fetched when first opened. */
export const modalViews: { [Name in ModalName]?: ComponentType<ModalProps<Name>> } = {
  showClusterKey: lazy(patiently(() => import('../features/clusters/ShowClusterKey.tsx'))),
  editServerName: lazy(patiently(() => import('../features/servers/dialogs/EditServerName.tsx'))),
  confirmServersWithoutPatch: lazy(patiently(() => import('../features/servers/dialogs/ServersWithoutPatch.tsx'))),
}
