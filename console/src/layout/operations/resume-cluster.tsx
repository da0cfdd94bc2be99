import { heldText } from '#contract/operations/held-text.ts'
import type { Answer } from '#contract/operation.ts'
import { clusterResume, type HeldCluster, restorationGet } from '#contract/restoration.ts'
import { call } from '../../api/client.ts'
import { queryClient } from '../../api/query.ts'
import { sentence } from '../../lib/text.ts'
import { moment } from '../../lib/time/time.ts'
import { confirm } from '../../ui/actions.ts'

export type Restored = NonNullable<Answer<typeof restorationGet>['restored']>

/** Asks whether a held cluster is to be resumed, and resumes it. */
export const resumeCluster = (c: HeldCluster, { backup_made_at: madeAt }: Restored) =>
  confirm({
    title: `Resume ${c.name}?`,
    text: (
      <div className="stack">
        <p>
          Steelyard then restores {c.name} to its state of {moment(madeAt)}. Later changes of
          address pools, patches and nodes may be reverted.
        </p>
        <p className="t2">{sentence(heldText(c))}.</p>
      </div>
    ),
    label: 'Resume',
    out: 'Not yet',
    act: async () => {
      await call(clusterResume, { params: { id: c.id } })
      await queryClient.invalidateQueries()
    },
  })

/** The same by the id of the cluster. Does nothing if somebody has resumed it. */
export async function resumeClusterOf(id: string): Promise<void> {
  const { restored, clusters } = await call(restorationGet)
  const held = clusters.find((one) => one.id === id)
  if (restored && held) await resumeCluster(held, restored)
  else await queryClient.invalidateQueries()
}
