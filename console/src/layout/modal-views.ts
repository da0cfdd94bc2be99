import { type ComponentType, lazy } from 'react'
import { patiently } from '../lib/code.ts'
import type { ModalName, ModalProps } from './modals.ts'

/** The global dialogs. Features define them; their code loads when first opened. */
export const modalViews: { [Name in ModalName]?: ComponentType<ModalProps<Name>> } = {
  showClusterKey: lazy(patiently(() => import('../features/clusters/ShowClusterKey.tsx'))),
  editServerName: lazy(patiently(() => import('../features/servers/dialogs/EditServerName.tsx'))),
  confirmServersWithoutPatch: lazy(patiently(() => import('../features/servers/dialogs/ServersWithoutPatch.tsx'))),
}
