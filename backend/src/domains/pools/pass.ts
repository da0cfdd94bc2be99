/**
 * Reads a cluster's state and acts on it: pools are applied, read back, drained and removed;
 * announcements and addresses in use are updated.
 */
import { parseAddress } from '#contract/network/addresses.ts'
import { inRange } from '#contract/network/address-ranges.ts'
import { piecesOf } from '#contract/network/subnet-rules.ts'
import type { Job } from '../../engine/engine.ts'
import type { ObjectCalls } from '../../kubernetes/client.ts'
import { isRefusal, KubernetesError, within } from '../../kubernetes/answers.ts'
import { announce } from './announce.ts'
import { discover, type LoadBalancer, poolsIn, servicesOf, type Use, usesIn } from './look.ts'
import { linkGroups, type Manifest, pathOf, poolName, renderPool } from './manifest.ts'
import { noProvider, poolSubnet } from './preview.ts'
import { type Acceptance, acceptance, differences, foundInstead, hashOf } from './read-back.ts'
import {
  addressesOf,
  cidrOf,
  driftMark,
  type Finding,
  type Held,
  type Look,
  type PoolParts,
  type State,
  type Verdict,
} from './state.ts'
import * as store from './store.ts'

/** Time limit of reading and acting; the next run does the rest. */
const longestMs = 90_000
/** How long the load balancer may take to accept a pool before the delay is shown as an error. */
const patienceMs = 120_000
/**
 * MetalLB doesn't report which state of a pool it has processed. Addresses assigned just before a
 * pool is disabled appear within this time, in ms.
 */
const settleMs = 3_000

/**
 * Result if the rows have changed since they were read: nothing was done, and the cluster has to be
 * read again.
 */
export const moved = Symbol('moved')

/** Result of applying a pool: the object as it was read back, or why the API server refused it. */
type Applied =
  | {
      readonly live: unknown
      readonly found: object | null
      /** When the pool was last sent, in ms. */ readonly sentAt: number
    }
  | { readonly refused: string }

type Sent = Extract<Applied, { live: unknown }>
const sentAt = (job: Job, { row }: Held): number => row.sent_at?.getTime() ?? job.now()

export function passing(parts: PoolParts) {
  /**
   * Called before a pool is applied: records that the cluster may have the pool. Returns false if
   * users have changed the wanted state meanwhile.
   */
  const intend = (job: Job, { row, subnet }: Held, drift: string | null): Promise<boolean> =>
    job.fence.write(async (tx) => {
      const now = await store.lockAssignment(tx, row.cluster_id, row.subnet_id)
      const [current] = await parts.subnets.find(tx, [subnet.id])
      if (
        !now ||
        now.state !== row.state ||
        now.forced !== row.forced ||
        current?.version !== subnet.version
      )
        return false
      await store.updateAssignment(tx, row.cluster_id, row.subnet_id, {
        sent_at: new Date(job.now()),
        ...(drift !== null && { applied: `${driftMark}${drift}` }),
      })
      return true
    })

  const apply = async (
    job: Job,
    client: ObjectCalls,
    held: Held,
    manifest: Manifest,
    live: unknown,
  ): Promise<Applied | typeof moved> => {
    const changed = differences(manifest.object, live)
    if (changed === null) return { live, found: null, sentAt: sentAt(job, held) }
    const hash = hashOf(manifest.object)
    const isDrift = held.row.applied === hash
    if (!(await intend(job, held, isDrift ? hash : null))) return moved
    try {
      await job.effect(`pool/${held.subnet.id}`, () =>
        client.apply(pathOf(manifest), manifest.object, job.signal),
      )
    } catch (error) {
      if (isRefusal(error)) return { refused: error.message }
      throw error
    }
    return {
      live: await client.get(pathOf(manifest), job.signal),
      found: isDrift ? foundInstead(changed, live) : null,
      sentAt: job.now(),
    }
  }

  const verdictOf = (
    job: Job,
    held: Held,
    manifest: Manifest,
    { live, sentAt: sent }: Sent,
  ): Verdict => {
    const still = differences(manifest.object, live)
    if (still)
      return {
        is: 'error',
        reason: `Something in the cluster changes the pool back (${still.join(', ')})`,
        held: false,
      }
    const accepted = acceptance(manifest.object, live, addressesOf(held.subnet))
    if (accepted.is === 'accepted') return { is: 'active', hash: hashOf(manifest.object) }
    if (accepted.is === 'refused') return { is: 'error', reason: accepted.reason, held: true }
    const waited = job.now() - sent
    if (waited < patienceMs) return { is: 'applying', reason: accepted.reason }
    return {
      is: 'error',
      reason: `${accepted.reason}, ${Math.round(waited / 60_000)} min after it was applied: is the address management of the load balancer switched on?`,
      held: true,
    }
  }

  /** What a disabled pool is still waiting for, or null. */
  const waitsFor = (
    accepted: Acceptance,
    uses: readonly Use[],
    waitedMs: number,
  ): string | null => {
    if (uses.length > 0) return inUse(uses)
    if (accepted.is === 'waiting') return accepted.reason
    if (accepted.is === 'accepted' && (accepted.used ?? 0) > 0)
      return `The load balancer still counts ${accepted.used} addresses in use`
    return waitedMs < settleMs
      ? 'Checking for addresses that were assigned at the last moment'
      : null
  }

  const remove = async (
    job: Job,
    client: ObjectCalls,
    held: Held,
    manifest: Manifest,
  ): Promise<Verdict> => {
    await job.effect(`remove/${held.subnet.id}`, () => client.remove(pathOf(manifest), job.signal))
    return (await client.get(pathOf(manifest), job.signal)) === null
      ? { is: 'gone' }
      : { is: 'draining', reason: 'The API server is removing the pool' }
  }

  const finding = (
    held: Held,
    verdict: Verdict,
    services: readonly LoadBalancer[],
    found: object | null,
  ): Finding => {
    const uses = usesIn(services, cidrOf(held.subnet))
    const pieces = piecesOf(held.subnet)
    const isHandedOut = (address: string) =>
      pieces.some((piece) => inRange(piece, parseAddress(address)!))
    return { held, verdict, uses, used: uses.filter((u) => isHandedOut(u.address)).length, found }
  }

  /**
   * Finding for a cluster without a load balancer: nothing can be applied, and a removed subnet is
   * gone as soon as none of its addresses is in use.
   */
  const without = (held: Held, services: readonly LoadBalancer[]): Finding => {
    const { row, subnet } = held
    if (row.state !== 'draining')
      return finding(held, { is: 'applying', reason: noProvider }, services, null)
    const uses = usesIn(services, cidrOf(subnet))
    return finding(
      held,
      row.forced || uses.length === 0 ? { is: 'gone' } : { is: 'draining', reason: inUse(uses) },
      services,
      null,
    )
  }

  const lookAt = async (job: Job, { cluster, pool, held }: State): Promise<Look | typeof moved> => {
    const client = await parts.clusters.api(cluster.id)
    const api = await discover(client, pool.provider, job.signal)
    // An API server that has just started may not serve everything yet, so the load balancer counts
    // as missing only after several attempts.
    if (!api && pool.provider !== null && pool.misses < 2)
      throw new KubernetesError(`the pools of ${pool.provider} are not served any more`)
    if (!api) {
      const services = await servicesOf(client, job.signal)
      return {
        provider: null,
        findings: held.map((h) => without(h, services)),
        announced: null,
        announcementsFound: null,
      }
    }
    const objects = await poolsIn(
      client,
      api,
      new Set(held.map((h) => poolName(h.subnet.id))),
      job.signal,
    )
    const manifests = held.map((h) =>
      renderPool(poolSubnet(h.subnet, h.row.state === 'draining'), api),
    )
    const applied: Applied[] = []
    for (const [i, h] of held.entries()) {
      const live = objects.get(poolName(h.subnet.id))
      // A draining pool is not created again.
      const isLeft = h.row.state === 'draining' && (live === undefined || h.row.forced)
      const result = isLeft
        ? { live: live ?? null, found: null, sentAt: sentAt(job, h) }
        : await apply(job, client, h, manifests[i]!, live)
      if (result === moved) return moved
      applied.push(result)
    }
    // Services are read after the pools, so that an address that was assigned just before its pool
    // was disabled is included.
    const services = await servicesOf(client, job.signal)
    const findings: Finding[] = []
    for (const [i, h] of held.entries()) {
      const result = applied[i]!
      const verdict = await judge(job, client, h, manifests[i]!, result, services)
      findings.push(finding(h, verdict, services, 'found' in result ? result.found : null))
    }
    const staying = findings
      .filter((f) => f.verdict.is !== 'gone')
      .map((f) => poolSubnet(f.held.subnet, f.held.row.state === 'draining'))
    const announced = await announce(
      job,
      client,
      api,
      staying,
      linkGroups(cluster.nodes, cluster.vlan_id),
      cluster,
      pool.announced,
    )
    return {
      provider: api.provider,
      findings:
        announced.refused === null
          ? findings
          : findings.map((f) => unannounced(f, announced.refused)),
      announced: announced.hash,
      announcementsFound: announced.found,
    }
  }

  /** @throws KubernetesError if the cluster does not answer */
  return (job: Job, state: State): Promise<Look | typeof moved> =>
    within(job.signal, longestMs, (signal) => lookAt({ ...job, signal }, state))

  async function judge(
    job: Job,
    client: ObjectCalls,
    held: Held,
    manifest: Manifest,
    result: Exclude<Applied, typeof moved>,
    services: readonly LoadBalancer[],
  ): Promise<Verdict> {
    const isGoing = held.row.state === 'draining'
    if ('refused' in result)
      return isGoing
        ? { is: 'draining', reason: result.refused }
        : { is: 'error', reason: result.refused, held: false }
    if (!isGoing) return verdictOf(job, held, manifest, result)
    const uses = usesIn(services, cidrOf(held.subnet))
    // Somebody has deleted the pool. Addresses that Services still show count as in use.
    if (result.live === null)
      return held.row.forced || uses.length === 0
        ? { is: 'gone' }
        : { is: 'draining', reason: inUse(uses) }
    if (held.row.forced) return remove(job, client, held, manifest)
    const still = differences(manifest.object, result.live)
    if (still)
      return {
        is: 'draining',
        reason: `Something in the cluster changes the pool back (${still.join(', ')})`,
      }
    const reason = waitsFor(
      acceptance(manifest.object, result.live, addressesOf(held.subnet)),
      uses,
      job.now() - result.sentAt,
    )
    return reason === null ? remove(job, client, held, manifest) : { is: 'draining', reason }
  }
}

function inUse(uses: readonly Use[]): string {
  const some = uses.slice(0, 3).map((u) => `${u.address} by ${u.by}`)
  return `${uses.length === 1 ? '1 address is' : `${uses.length} addresses are`} in use: ${some.join('; ')}${uses.length > 3 ? '; …' : ''}`
}

/** A pool counts as active only if its addresses are announced too. */
const unannounced = (f: Finding, reason: string): Finding =>
  f.verdict.is === 'active'
    ? {
        ...f,
        verdict: { is: 'error', reason: `The addresses are not announced: ${reason}`, held: true },
      }
    : f
