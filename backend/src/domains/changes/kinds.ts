/** The kinds of changes, by the name that the contract gives them. */
import { configure } from './configure/configure.ts'
import { disks } from './configure/disks.ts'
import { endpoint } from './configure/endpoint.ts'
import { documents } from './configure/documents.ts'
import { defragment } from './defragment.ts'
import type { ChangeKinds } from './frame.ts'
import { upgradeKubernetes } from './kubernetes-upgrade/upgrade.ts'
import { grow } from './members/grow.ts'
import { replace } from './members/replace.ts'
import { role } from './members/role.ts'
import { shrink } from './members/shrink.ts'
import { restore } from './snapshots/restore.ts'
import { takeSnapshot } from './snapshots/take.ts'
import { extensions } from './talos-upgrade/extensions.ts'
import { rollbackTalos } from './talos-upgrade/rollback-talos.ts'
import { upgradeTalos } from './talos-upgrade/upgrade-talos.ts'
import { rotate } from './rotate/rotate.ts'

export const changeKinds: ChangeKinds = {
  defragment,
  grow,
  shrink,
  role,
  replace,
  upgradeTalos,
  extensions,
  rollbackTalos,
  configure,
  upgradeKubernetes,
  documents,
  endpoint,
  disks,
  rotate,
  snapshot: takeSnapshot,
  restore,
}
