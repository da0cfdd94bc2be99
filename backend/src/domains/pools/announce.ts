/**
 * Layer 2 announcements of a cluster's addresses: applied, read back, corrected, and removed with
 * the last pool.
 */
import type { Job } from '../../engine/engine.ts'
import type { ObjectCalls } from '../../kubernetes/client.ts'
import { isRefusal } from '../../kubernetes/answers.ts'
import { announcementsIn } from './look.ts'
import {
  announcementCollection,
  type Announcer,
  type LinkGroup,
  type Manifest,
  pathOf,
  type PoolApi,
  type PoolSubnet,
  render,
} from './manifest.ts'
import { differences, foundInstead, hashOf } from './read-back.ts'

/**
 * `before`: hash of the announcements when they were last read. Returns `hash` (of the current
 * announcements; null if there are none), `refused` (why the cluster doesn't have the
 * announcements, or null) and `found` (the change by others that was reverted, or null).
 * @throws KubernetesError if the cluster does not answer
 */
export async function announce(
  job: Job,
  client: ObjectCalls,
  api: PoolApi,
  subnets: readonly PoolSubnet[],
  links: readonly LinkGroup[],
  cluster: Announcer,
  before: string | null,
) {
  const collection = announcementCollection(api)
  if (collection === null) return { hash: null, refused: null, found: null }
  const { announcements } = render(subnets, api, links, cluster)
  const wanted = new Set(announcements.map((m) => m.object.metadata.name))
  const there = await announcementsIn(client, api, { names: wanted, cluster }, job.signal)
  const stale = [...there.keys()].filter((name) => !wanted.has(name))
  const hash = announcements.length === 0 ? null : hashOf(announcements.map((m) => m.object))
  const changed = announcements
    .map((m) => ({ m, differs: differences(m.object, there.get(m.object.metadata.name)) }))
    .filter((c) => c.differs !== null)
  const found =
    before !== null && before === hash && changed.length > 0
      ? Object.fromEntries(
          changed.map(({ m, differs }) => [
            m.object.metadata.name,
            foundInstead(differs!, there.get(m.object.metadata.name)),
          ]),
        )
      : null
  try {
    for (const { m } of changed) await put(job, client, m)
    for (const name of stale)
      await job.effect(`unannounce/${name}`, () =>
        client.remove(`${collection}/${name}`, job.signal),
      )
  } catch (error) {
    if (!isRefusal(error)) throw error
    return { hash: null, refused: error.message, found: null }
  }
  for (const { m } of changed) {
    const still = differences(m.object, await client.get(pathOf(m), job.signal))
    if (still)
      return {
        hash: null,
        refused: `something in the cluster changes ${m.object.metadata.name} back (${still.join(', ')})`,
        found: null,
      }
  }
  return { hash, refused: null, found }
}

const put = (job: Job, client: ObjectCalls, manifest: Manifest): Promise<void> =>
  job.effect(`announce/${manifest.object.metadata.name}`, () =>
    client.apply(pathOf(manifest), manifest.object, job.signal),
  )
