/** The form of each kind of change, loaded when its page is opened. */
import type { ComponentType } from 'react'
import { part } from '../../../ui/part.tsx'
import type { ChangeFormProps, ShownKind } from './change-kinds.ts'

export const changeForms: Readonly<Record<ShownKind, ComponentType<ChangeFormProps>>> = {
  grow: part(() => import('./forms/Grow.tsx')),
  replace: part(() => import('./forms/Replace.tsx')),
  role: part(() => import('./forms/Role.tsx')),
  shrink: part(() => import('./forms/Shrink.tsx')),
  upgradeTalos: part(() => import('./forms/UpgradeTalos.tsx')),
  rollbackTalos: part(() => import('./forms/RollbackTalos.tsx')),
  upgradeKubernetes: part(() => import('./forms/UpgradeKubernetes.tsx')),
  configure: part(() => import('./forms/Configure.tsx')),
  documents: part(() => import('./forms/MoveToDocuments.tsx')),
  extensions: part(() => import('./forms/Extensions.tsx')),
  snapshot: part(() => import('./forms/TakeSnapshot.tsx')),
  restore: part(() => import('./forms/Restore.tsx')),
  rotate: part(() => import('./forms/Rotate.tsx')),
  disks: part(() => import('./forms/Disks.tsx')),
  endpoint: part(() => import('./forms/Endpoint.tsx')),
  defragment: part(() => import('./forms/Defragment.tsx')),
}
