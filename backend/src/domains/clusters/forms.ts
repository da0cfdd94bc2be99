/** In which form the configurations of a cluster's servers are. Pure. */
import { has } from '#talos/versions.ts'
import type { ClusterRow, MemberRow } from './store.ts'

type Contract = Pick<ClusterRow, 'contract'>
type Moved = Pick<MemberRow, 'is_moved'>

/** Whether Kubernetes has documents of its own in the server's configuration. */
export const isInDocuments = ({ contract }: Contract, { is_moved }: Moved): boolean =>
  is_moved || has(contract, 'kubernetesDocuments')
