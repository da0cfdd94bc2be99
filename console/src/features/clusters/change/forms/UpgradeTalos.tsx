import { useQuery } from '@tanstack/react-query'
import { UpgradeTalos as UpgradeTalosSchema } from '#contract/clusters/changes/talos-upgrade.ts'
import { readBy } from '../../../../lib/fields.ts'
import { cliOf } from '../../../../lib/shell.ts'
import { fieldsFor } from '../../../../ui/form/fields.tsx'
import { SkeletonRows } from '../../../../ui/feedback/States.tsx'
import { healthOf } from '../../cluster-queries.ts'
import { ChangeForm } from '../ChangeForm.tsx'
import type { ChangeFormProps } from '../change-kinds.ts'
import { useServerOptions } from '../ServerPick.tsx'
import {
  SnapshotFirst,
  snapshotBlank,
  snapshotOptions,
  snapshotRead,
  useStores,
} from '../SnapshotFirst.tsx'

const blank = { version: '', canary: '', stage: false, ...snapshotBlank }
type Typed = typeof blank
const { Text, Choose, Check } = fieldsFor<Typed>()

const read = ({ version, canary, stage, ...snapshot }: Typed) =>
  readBy(
    UpgradeTalosSchema,
    {
      kind: 'upgradeTalos',
      version,
      stage,
      ...(canary !== '' && { canary }),
      ...snapshotRead(snapshot),
    },
    version === '' ? { version: 'Enter the version' } : {},
  )

/** Upgrades Talos on all servers of a cluster. The next allowed version is filled in. */
export default function UpgradeTalos({ cluster, server }: ChangeFormProps) {
  const servers = useServerOptions(cluster)
  const stores = useStores()
  const { data, isFetched } = useQuery(healthOf(cluster.id))
  // While a query that failed is read again, it is pending again: the form would begin anew.
  if (!isFetched) return <SkeletonRows rows={5} />
  const known = data?.versions.talos
  const hint =
    known === undefined
      ? undefined
      : [`The cluster runs ${known.current}`, known.reason].filter(Boolean).join('. ')
  const nameOf = (id: string) => cluster.servers.find((s) => s.node_id === id)?.name ?? id
  return (
    <ChangeForm
      cluster={cluster}
      kind="upgradeTalos"
      initial={{ ...blank, version: known?.next ?? '', canary: server ?? '' }}
      read={read}
      command={(change) =>
        change.kind === 'upgradeTalos'
          ? cliOf(['cluster', 'upgrade-talos', cluster.name, change.version], {
              canary: change.canary === undefined ? null : nameOf(change.canary),
              stage: change.stage,
              ...snapshotOptions(change, stores),
            })
          : ''
      }
    >
      {({ values }) => (
        <>
          <Text
            name="version"
            label="Talos version"
            hint={hint}
            autoCapitalize="none"
            placeholder={known?.current ?? ''}
          />
          <Choose
            name="canary"
            label="First server"
            none="A worker, if there is one"
            hint="The others follow only after this server is healthy again"
            options={servers}
          />
          <SnapshotFirst cluster={cluster} stores={stores} values={values} />
          <Check
            name="stage"
            label="Install the new version during the next boot, for servers on which a normal upgrade fails"
          />
        </>
      )}
    </ChangeForm>
  )
}
