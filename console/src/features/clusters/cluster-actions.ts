/** Actions on clusters, for row menu, page header and ⌘K. */
import {
  type Cluster,
  clusterCreate,
  clusterDelete,
  clusterKubeconfig,
  clusterTalosconfig,
} from '#contract/clusters/clusters.ts'
import {
  canDeleteCluster,
  canDownloadKubeconfig,
  canDownloadTalosconfig,
} from '#contract/clusters/rules.ts'
import { clusterUpdate } from '#contract/clusters/update.ts'
import { counted } from '#contract/words.ts'
import { call, download } from '../../api/client.ts'
import { allowed } from '../../api/session.ts'
import { labelledOf } from '../../layout/labels/labelled.ts'
import { editLabels, showClusterKey } from '../../layout/modals.ts'
import { refreshClusters } from '../../api/refresh.ts'
import { paths } from '../../lib/paths.ts'
import { navigate } from '../../lib/router.ts'
import { type Action, both, confirm, only } from '../../ui/actions.ts'
import { reasonOf } from '../../lib/reason.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { dialog } from '../../ui/overlay/dialogs.ts'

const save = (what: 'kubeconfig' | 'talosconfig', c: Cluster): Promise<unknown> =>
  download(
    what === 'kubeconfig' ? clusterKubeconfig : clusterTalosconfig,
    { params: { id: c.id } },
    `${what}-${c.name}.yaml`,
  ).catch((error: unknown) => toast.error(reasonOf(error)))

export const showKeys = (clusters: readonly Pick<Cluster, 'id'>[]): void =>
  void showClusterKey({ clusterIds: clusters.map((c) => c.id) })

const saveAsTemplate = dialog<{ cluster: Pick<Cluster, 'id' | 'name'> }>(
  () => import('./templates/SaveAsTemplate.tsx'),
)

export const kubeconfigAction = (c: Cluster): Action => ({
  label: 'Kubeconfig',
  icon: 'download',
  can: both(allowed(clusterKubeconfig), canDownloadKubeconfig(c)),
  run: () => save('kubeconfig', c),
})
export const talosconfigAction = (c: Cluster): Action => ({
  label: 'Talosconfig',
  icon: 'download',
  can: both(allowed(clusterTalosconfig), canDownloadTalosconfig(c)),
  run: () => save('talosconfig', c),
})

const removal = (c: Cluster, force: boolean): Promise<boolean> =>
  confirm({
    title: force ? `Forget ${c.name}?` : `Delete ${c.name}?`,
    label: force ? 'Forget cluster' : 'Delete cluster',
    text: force
      ? `Steelyard forgets the ${counted(c.servers.length, 'server')} of the cluster and resets none: nothing is wiped, and what runs there continues without Steelyard. The secrets of the cluster are kept in escrow only.`
      : `${c.servers.length === 1 ? 'Its server is reset' : `Its ${counted(c.servers.length, 'server')} are reset, workers first`}: all data of the cluster is wiped. Talos stays installed, and each server is free again after a user has confirmed it.`,
    danger: true,
    typed: c.name,
    act: async () => {
      await call(clusterDelete, { params: { id: c.id }, query: force ? { force: 'true' } : {} })
      // The page of a forgotten cluster has nothing left to show.
      if (force) {
        await navigate(paths.clusters(), { replace: true })
        toast.success(`${c.name} was forgotten`)
      }
      await refreshClusters()
    },
  })

/** Actions on a cluster, in its row or on its page. */
export const clusterActions = (c: Cluster, from: 'list' | 'page'): Action[] => [
  ...only(from === 'list', { label: 'Open', icon: 'arrow-right', to: paths.cluster(c.id) }),
  { label: 'Show cluster key', icon: 'key', run: () => showKeys([c]) },
  kubeconfigAction(c),
  talosconfigAction(c),
  {
    label: 'Labels and notes',
    icon: 'edit',
    can: allowed(clusterUpdate),
    run: () => editLabels({ of: labelledOf('cluster', c) }),
  },
  ...only(from === 'page', {
    label: 'Make a cluster like this one',
    icon: 'add',
    can: allowed(clusterCreate),
    to: paths.createCluster({ like: c.id }),
  }),
  ...only(from === 'page', {
    label: 'Save as template',
    icon: 'bookmark',
    // The same permission as of `templateCreate`, whose schemas are in the dialog's file.
    can: allowed(clusterCreate),
    run: () => saveAsTemplate({ cluster: c }),
  }),
  {
    label: 'Delete',
    icon: 'trash',
    danger: true,
    can: both(allowed(clusterDelete), canDeleteCluster(c)),
    run: () => removal(c, false),
  },
  ...only(from === 'page' && ['failed', 'deleting', 'degraded'].includes(c.status), {
    label: 'Forget without resetting',
    icon: 'alert',
    danger: true,
    can: allowed(clusterDelete),
    run: () => removal(c, true),
  }),
]
