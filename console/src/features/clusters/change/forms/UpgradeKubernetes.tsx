import { useQuery } from '@tanstack/react-query'
import { UpgradeKubernetes as UpgradeKubernetesSchema } from '#contract/clusters/changes/kubernetes-upgrade.ts'
import { readBy } from '../../../../lib/fields.ts'
import { cliOf } from '../../../../lib/shell.ts'
import { versionShown } from '../../../../lib/text.ts'
import { fieldsFor } from '../../../../ui/form/fields.tsx'
import { SkeletonRows } from '../../../../ui/feedback/States.tsx'
import { healthOf } from '../../cluster-queries.ts'
import { ChangeForm } from '../ChangeForm.tsx'
import type { ChangeFormProps } from '../change-kinds.ts'
import {
  SnapshotFirst,
  snapshotBlank,
  snapshotOptions,
  snapshotRead,
  useStores,
} from '../SnapshotFirst.tsx'

const blank = { version: '', drain: false, accept_removed_apis: false, ...snapshotBlank }
type Typed = typeof blank
const { Text, Check } = fieldsFor<Typed>()

const read = ({ version, drain, accept_removed_apis, ...snapshot }: Typed) =>
  readBy(
    UpgradeKubernetesSchema,
    {
      kind: 'upgradeKubernetes',
      version,
      drain,
      accept_removed_apis,
      ...snapshotRead(snapshot),
    },
    version === '' ? { version: 'Enter the version' } : {},
  )

/** Upgrades the Kubernetes of a cluster. The next allowed version is filled in. */
export default function UpgradeKubernetes({ cluster }: ChangeFormProps) {
  const stores = useStores()
  const { data, isFetched } = useQuery(healthOf(cluster.id))
  // While a query that failed is read again, it is pending again: the form would begin anew.
  if (!isFetched) return <SkeletonRows rows={5} />
  const known = data?.versions.kubernetes
  const hint =
    known === undefined
      ? undefined
      : [`The cluster runs ${versionShown(known.current)}`, known.reason].filter(Boolean).join('. ')
  return (
    <ChangeForm
      cluster={cluster}
      kind="upgradeKubernetes"
      initial={{ ...blank, version: known?.next ?? '' }}
      read={read}
      command={(change) =>
        change.kind === 'upgradeKubernetes'
          ? cliOf(['cluster', 'upgrade-kubernetes', cluster.name, change.version], {
              drain: change.drain,
              'accept-removed-apis': change.accept_removed_apis,
              ...snapshotOptions(change, stores),
            })
          : ''
      }
    >
      {({ values }) => (
        <>
          <Text
            name="version"
            label="Kubernetes version"
            hint={hint}
            autoCapitalize="none"
            placeholder={known?.current ?? ''}
          />
          <SnapshotFirst cluster={cluster} stores={stores} values={values} />
          <Check
            name="drain"
            label="Drain each server before its kubelet is updated. Containers keep running also without a drain"
          />
          <Check
            name="accept_removed_apis"
            label="Upgrade even if programs still use APIs that the new version no longer serves"
          />
        </>
      )}
    </ChangeForm>
  )
}
