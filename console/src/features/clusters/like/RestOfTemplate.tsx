import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { clusterExtensions } from '#contract/clusters/extensions.ts'
import { clusterUpdate } from '#contract/clusters/update.ts'
import { snapshotScheduleGet } from '#contract/clusters/changes/snapshots.ts'
import { no, type Verdict, yes } from '#contract/rule.ts'
import { useUser } from '../../../api/auth.ts'
import { invalidate, query } from '../../../api/query.ts'
import { refreshClusters } from '../../../api/refresh.ts'
import { allowed } from '../../../api/session.ts'
import { paths } from '../../../lib/paths.ts'
import { type Action, both } from '../../../ui/actions.ts'
import { Alert, Problem } from '../../../ui/feedback/Status.tsx'
import { useAct } from '../../../ui/feedback/use-act.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import css from './Like.module.css'
import {
  hasImage,
  keepRest,
  type Part,
  partsOf,
  readRest,
  type Rest,
  setPart,
  without,
} from './rest.ts'

/** Whether changes can begin. They wait until the cluster is ready. */
const isReady = ({ status }: Cluster): Verdict =>
  status === 'ready' || status === 'degraded' ? yes : no('The cluster is not ready yet')

const isImage = ({ part }: { part: Part }): boolean => part === 'extensions'

/**
 * What the cluster still lacks of its template, each with the way to it. Renders nothing if nothing
 * remains.
 */
export default function RestOfTemplate({ cluster }: { cluster: Cluster }) {
  const userId = useUser()?.id
  const { id } = cluster
  const [rest, setRest] = useState<Rest | null>(null)
  const { busy, problem, act } = useAct()
  useEffect(() => {
    let isShown = true
    const read = async () => {
      const found = userId === undefined ? null : await readRest(userId, id)
      if (isShown) setRest(found)
    }
    void read()
    return () => {
      isShown = false
    }
  }, [userId, id])
  const images = useQuery({
    ...query(clusterExtensions, { params: { id } }),
    enabled: isReady(cluster).ok && rest !== null && partsOf(rest).some(isImage),
  })
  if (rest === null || userId === undefined) return null
  const has = (part: Part) =>
    part === 'subnets'
      ? cluster.subnets.length >= rest.subnets.length
      : part === 'extensions' &&
        images.data !== undefined &&
        images.data.items.every((one) => hasImage(one, rest))
  const parts = partsOf(rest).filter(({ part }) => !has(part))
  if (parts.length === 0) return null
  const remove = async (...gone: Part[]) => {
    const left = gone.reduce(without, rest)
    await keepRest(userId, id, left)
    setRest(left)
  }
  const actionOf = (part: Part): Action => {
    if (part === 'extensions')
      return {
        label: 'Change the image',
        can: both(allowed(clusterUpdate), isReady(cluster)),
        to: paths.changeCluster(id, 'extensions'),
      }
    if (part === 'subnets')
      return {
        label: 'Assign subnets',
        can: both(allowed(clusterUpdate), isReady(cluster)),
        to: paths.assignSubnets({ cluster: id }),
      }
    return {
      label: 'Set',
      can: both(allowed(clusterUpdate), part === 'maintenance_window' ? isReady(cluster) : yes),
      run: () =>
        act(async () => {
          await setPart(cluster, rest, part)
          await remove(part)
          await Promise.all([refreshClusters(), invalidate(snapshotScheduleGet)])
        }),
    }
  }
  return (
    <Alert
      tone="info"
      className={css['notice'] ?? ''}
      action={
        <ActionButton
          label="Dismiss"
          size="small"
          run={() => remove(...parts.map(({ part }) => part))}
        />
      }
    >
      <p>
        <b>The template of {cluster.name} also has:</b>
      </p>
      <ul className={css['rest']}>
        {parts.map(({ part, said }) => (
          <li key={part}>
            <span>{said}</span>
            <ActionButton
              {...actionOf(part)}
              size="small"
              aria-label={`${actionOf(part).label}: ${said}`}
              busy={busy}
            />
          </li>
        ))}
      </ul>
      <Problem text={problem} />
    </Alert>
  )
}
