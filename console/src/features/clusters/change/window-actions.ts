import type { ComponentProps } from 'react'
import { dialog } from '../../../ui/overlay/dialogs.ts'
import type EditWindow from './EditWindow.tsx'

/** Sets the maintenance window of a cluster. */
export const editWindow = dialog<ComponentProps<typeof EditWindow>>(
  () => import('./EditWindow.tsx'),
)
