/**
 * What the demo shows: two clusters, one of them with a server whose installation fails, a subnet
 * whose pool gives addresses to Services, racks, patches, an image, an offer in use and commitments.
 * Made only through the API, as a user would, and once: what a user removes later stays removed. The
 * past of 30 days is made up by a call that only a program with simulated servers has.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { clusterChange } from '#contract/clusters/changes/changes.ts'
import { clusterCreate, clusterGet, clusterList } from '#contract/clusters/clusters.ts'
import { imageCreate, imageFactoryGet, imageList } from '#contract/images.ts'
import { joinTokenCreate, joinTokenList } from '#contract/join-tokens.ts'
import { ccCreate, ccList, ccUpdate } from '#contract/marketplace/ccs.ts'
import { offerCreate, offerList } from '#contract/marketplace/offers.ts'
import { clusterSubnetsAssign, subnetCreate, subnetList } from '#contract/network/subnets.ts'
import { patchCreate, patchList } from '#contract/patches.ts'
import { rackCreate, rackList, serverPlace } from '#contract/racks/racks.ts'
import { type Server, serverList } from '#contract/servers/servers.ts'
import { simulatedPast } from '../../backend/src/domains/simulation/call.ts'
import { mostSends } from '../../backend/src/domains/clusters/member/acts.ts'
import type { Caller } from '../api-client.ts'
import { control } from '../processes.ts'

const names = { render: 'poz-render-01', web: 'fra-web-01' }
const dayMs = 24 * 3_600_000
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** The ids of what was made, by name. */
type Made = Record<string, string>

/**
 * Remembers in `file` what was made. After a kill, what was made but not remembered is looked up
 * instead of made again.
 */
function keeper(file: string) {
  const made: Made = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Made) : {}
  /** Makes the thing unless that was done before. Returns its id. */
  return async (name: string, make: () => Promise<{ id: string }>): Promise<string> => {
    if (made[name] === undefined) {
      made[name] = (await make()).id
      writeFileSync(`${file}.new`, `${JSON.stringify(made, null, 2)}\n`)
      renameSync(`${file}.new`, file)
    }
    return made[name]
  }
}

/** Waits until the cluster is ready. False if it was deleted, or gets no further. */
async function becomesReady(call: Caller, id: string): Promise<boolean> {
  for (let look = 0; look < 600; look++) {
    const { items } = await call(clusterList, { query: {} })
    if (!items.some((c) => c.id === id)) return false
    if ((await call(clusterGet, { params: { id } })).status === 'ready') return true
    await pause(500)
  }
  return false
}

/** A cluster with this name that an interrupted start has made, or a new one. */
async function cluster(
  call: Caller,
  name: string,
  servers: readonly Server[],
  controlPlanes: number,
): Promise<{ id: string }> {
  const { items } = await call(clusterList, { query: {} })
  const known = items.find((c) => c.name === name)
  if (known) return known
  const [first] = servers
  const made = await call(clusterCreate, {
    body: {
      name,
      datacenter_id: first!.datacenter!.id,
      talos_version: first!.talos.version!,
      servers: servers.map(({ id }, i) => ({
        node_id: id,
        role: i < controlPlanes ? ('control_plane' as const) : ('worker' as const),
      })),
    },
  })
  return made.cluster
}

/** A patch of a free server, which will be part of its first configuration. */
async function patch(call: Caller, server: Server): Promise<{ id: string }> {
  const [known] = (await call(patchList, { params: { id: server.id } })).items
  if (known) return { id: known.patch_id }
  const { patch_id } = await call(patchCreate, {
    params: { id: server.id },
    body: {
      name: 'kernel-tuning',
      labels: { team: 'storage' },
      body: 'machine:\n  sysctls:\n    net.core.somaxconn: "4096"\n',
    },
  })
  return { id: patch_id }
}

/** The token of the image. A start that was interrupted may have made it, and no image. */
async function joinToken(call: Caller, datacenter_id: string): Promise<{ id: string }> {
  const name = 'rack-7'
  const { items } = await call(joinTokenList, { query: {} })
  const known = items.find((token) => token.name === name)
  return known ?? call(joinTokenCreate, { body: { name, datacenter_id, max_uses: 10 } })
}

/** A boot image with extensions, whose servers join by a token. */
async function image(call: Caller, datacenter_id: string): Promise<{ id: string }> {
  const [known] = (await call(imageList, { query: {} })).items
  if (known) return known
  const [{ versions }, token] = await Promise.all([
    call(imageFactoryGet, {}),
    joinToken(call, datacenter_id),
  ])
  return call(imageCreate, {
    body: {
      talos_version: versions[0]!,
      extensions: ['siderolabs/amd-ucode', 'siderolabs/iscsi-tools'],
      kernel_args: ['console=ttyS0'],
      datacenter_id,
      token_id: token.id,
    },
  })
}

/**
 * Three racks: the first four servers stand apart, and the other four are the nodes of one chassis of
 * two units. Returns the rack of the chassis. A server that stands somewhere already stays there.
 */
async function racks(call: Caller, servers: readonly Server[]): Promise<{ id: string }> {
  const datacenter = servers[0]!.datacenter!
  const known = (await call(rackList, { query: { datacenter: datacenter.code } })).items
  const rack = async (name: string) =>
    known.find((r) => r.name === name) ??
    call(rackCreate, { body: { datacenter_id: datacenter.id, name } })
  const three = [await rack('A-01'), await rack('A-02'), await rack('A-03')] as const
  for (const [i, { id, placement, datacenter: site }] of servers.entries()) {
    if (placement || site?.id !== datacenter.id) continue
    const place =
      i < 4
        ? { rack_id: three[i % 3]!.id, unit: i < 3 ? 12 : 14 }
        : { rack_id: three[2].id, unit: 20, height: 2, bay: String(i - 3) }
    await call(serverPlace, { params: { id }, body: place })
  }
  return three[2]
}

/** A subnet whose addresses the Services of the cluster get. */
async function subnet(call: Caller, datacenter_id: string, cluster: string) {
  const name = 'poz-public-a'
  const known = (await call(subnetList, { query: {} })).items.find((s) => s.name === name)
  const body = {
    name,
    datacenter_id,
    // RFC 5737: addresses for documentation.
    cidr: '203.0.113.0/24',
    gateway: '203.0.113.1',
    vlan_id: 214,
    exclude: ['203.0.113.2-203.0.113.9'],
  }
  const made = known ?? (await call(subnetCreate, { body }))
  if (made.clusters.length === 0)
    await call(clusterSubnetsAssign, { params: { id: cluster }, body: { subnet_ids: [made.id] } })
  return made
}

const commitmentOf = async (call: Caller, server: Server) =>
  (await call(ccList, { query: { server: server.id } })).items[0]

/** An offer of the cluster's capacity. */
async function offer(call: Caller, cluster_id: string): Promise<{ id: string }> {
  const known = (await call(offerList, { query: {} })).items.find(
    (o) => o.cluster?.id === cluster_id,
  )
  const price = { amount: '0.05', currency: 'EUR', basis: 'compute_unit' } as const
  return known ?? call(offerCreate, { body: { cluster_id, price } })
}

/** A commitment of the server's capacity for 90 days, sold with the offer. It starts at once. */
async function commitment(call: Caller, server: Server, offer_id: string) {
  const known = await commitmentOf(call, server)
  const made =
    known ??
    (await call(ccCreate, {
      body: {
        node_id: server.id,
        price: { amount: '1.248', currency: 'EUR', basis: 'server' },
        expires_at: new Date(Date.now() + 90 * dayMs).toISOString(),
        offer_id,
        status: 'waiting_delegation',
      },
    }))
  if (made.status === 'waiting_delegation')
    await call(ccUpdate, { params: { id: made.id }, body: { status: 'waiting_start' } })
  return made
}

/**
 * Makes the things of the demo that were not made by an earlier start.
 * @param file where to remember them; `socketPath`: the control socket of the simulator
 */
export async function furnishDemo(call: Caller, file: string, socketPath: string): Promise<void> {
  // An installation with clusters of its own, which an older demo has begun, stays as it is.
  const clusters = (await call(clusterList, { query: {} })).items
  if (!existsSync(file) && clusters.some((c) => !Object.values(names).includes(c.name))) return
  const once = keeper(file)
  const { items } = await call(serverList, { query: { per_page: 100 } })
  const free = (code: string) => {
    const there = items
      .filter((s) => s.datacenter?.code === code && s.eligibility.every((e) => e.ok))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    // The servers of a cluster run one version of Talos when it is created.
    const groups = [...Map.groupBy(there, (s) => s.talos.version).values()]
    return groups.toSorted((a, b) => b.length - a.length)[0] ?? []
  }
  // The choice is kept, because servers that are in use are no longer free at the next start.
  const chosen = async (code: string, count: number) => {
    const ids = await once(`servers of ${code}`, () =>
      Promise.resolve({
        id: free(code)
          .slice(0, count)
          .map((s) => s.id)
          .join(' '),
      }),
    )
    return ids.split(' ').flatMap((id) => items.find((s) => s.id === id) ?? [])
  }
  const [poznan, frankfurt] = [await chosen('PL-POZ-1', 8), await chosen('DE-FRA-1', 4)]
  // Servers that a user has removed since.
  if (poznan.length < 8 || frankfurt.length < 2) return

  await once('racks', () => racks(call, poznan))
  const made = Promise.all([
    once('cluster in Poznań', () => cluster(call, names.render, poznan.slice(0, 4), 3)),
    once('cluster in Frankfurt', () => cluster(call, names.web, frankfurt.slice(0, 3), 1)),
  ])
  const [one, , three, four] = poznan.slice(4)
  // The installation of an older demo has chosen none.
  const last = frankfurt[3]
  await once('patch', () => patch(call, four!))
  await once('image', () => image(call, one!.datacenter!.id))

  const [render, web] = await made
  await once('past', async () => {
    await call(simulatedPast, {})
    return { id: 'written' }
  })
  const rendering = poznan.slice(0, 4)
  if (await becomesReady(call, render)) {
    await once('subnet', () => subnet(call, one!.datacenter!.id, render))
    const offerId = await once('offer', () => offer(call, render))
    await once('commitment', () => commitment(call, rendering[3]!, offerId))
    await once('second commitment', () => commitment(call, rendering[0]!, offerId))
  }
  await once(
    'draft',
    async () =>
      (await commitmentOf(call, three!)) ?? call(ccCreate, { body: { node_id: three!.id } }),
  )
  if ((await becomesReady(call, web)) && last) {
    // A disk that refuses to be written as often as Steelyard installs by itself, so that the growth
    // fails and a user's retry works. Its server runs Talos 1.13: 1.14 installs again by itself.
    await once('growth', async () => {
      if (last.cluster) return last
      await control(socketPath, `/servers/${last.identity.uuid}/fault`, {
        kind: 'fail-install',
        times: mostSends,
      })
      const { operation } = await call(clusterChange, {
        params: { id: web },
        body: { change: { kind: 'grow', servers: [{ node_id: last.id, role: 'worker' }] } },
      })
      return operation
    })
  }
}
