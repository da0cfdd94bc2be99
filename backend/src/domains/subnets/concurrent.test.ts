import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { clusterCreate } from '#contract/clusters/clusters.ts'
import { datacenterRemove } from '#contract/datacenters.ts'
import {
  clusterSubnetsAssign,
  subnetCreate,
  subnetImport,
  subnetList,
  subnetRemove,
  subnetUpdate,
} from '#contract/network/subnets.ts'
import { serverGet } from '#contract/servers/servers.ts'
import { startBackend } from '../../testing/backend.ts'
import { buildServer } from '../servers/testing.ts'
import { addCluster, addDatacenter, addSubnet, untilBlocked } from './testing.ts'

const backend = await startBackend()
const operator = await backend.signIn({ role: 'operator' })
const poznan = await addDatacenter(operator, 'POZ')
const warsaw = await addDatacenter(operator, 'WAW')
/** Cluster networks that overlap no subnet of these tests. */
const elsewhere = { pod: '172.16.0.0/16', service: '172.17.0.0/16' }
const create = (body: object) =>
  operator.call(subnetCreate, {
    body: {
      name: `net-${randomUUID().slice(0, 8)}`,
      datacenter_id: poznan.id,
      cidr: '10.0.0.0/24',
      ...body,
    },
  })

test('of fifty concurrent overlapping subnets exactly one is saved, and the refusals name it', async () => {
  const tries = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      create({
        name: `race-${i}`,
        cidr: i % 2 === 0 ? '192.0.2.0/24' : `192.0.2.${(i >> 1) * 8}/29`,
        datacenter_id: i % 3 === 0 ? warsaw.id : poznan.id,
        first_and_last: true,
      }),
    ),
  )
  const saved = tries.filter((t) => t.status === 201)
  const stored = (await operator.call(subnetList, { query: { q: '192.0.2.0/24' } })).answer!.items
  expect(stored.map((s) => s.id).toSorted()).toEqual(saved.map((s) => s.answer!.id).toSorted())
  // Only subnets that don't overlap are stored: the largest one alone, or several small ones.
  expect(stored.some((s) => s.cidr === '192.0.2.0/24') && stored.length > 1).toBe(false)
  for (const t of tries.filter((one) => one.status !== 201)) {
    expect(t).toMatchObject({
      status: 409,
      problem: { code: 'subnet_overlap', related: { kind: 'subnet' } },
    })
    expect(stored.map((s) => s.id)).toContain(t.problem!.related!.id)
  }
  const same = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      create({ name: `same-${i}`, cidr: `10.40.0.0/${16 + (i % 8)}` }),
    ),
  )
  expect(same.filter((t) => t.status === 201)).toHaveLength(1)
  const winner = same.find((t) => t.status === 201)!.answer!
  for (const t of same.filter((one) => one.status !== 201))
    expect(t.problem).toMatchObject({
      error: `Overlaps with subnet ${winner.name} (${winner.cidr}) in ${poznan.code}`,
      related: { id: winner.id },
    })
})

test('an overlapping subnet that passes the checks of the program is refused by the database, with the name of the other subnet', async () => {
  const id = randomUUID()
  const insert = sql`insert into subnet (id, name, datacenter_id, cidr, total, created_at, updated_at, updated_by)
    values (${id}, 'behind', ${poznan.id}, '10.50.0.0/24', 254, now(), now(), 'test')`
  let refused!: ReturnType<typeof create>
  await backend.platform.db.transaction().execute(async (tx) => {
    await insert.execute(tx)
    refused = create({ cidr: '10.50.0.128/25' })
    await untilBlocked(backend, 'transactionid')
  })
  expect((await refused).problem).toMatchObject({
    code: 'subnet_overlap',
    related: { kind: 'subnet', id, name: 'behind' },
  })
  await backend.platform.db.transaction().execute(async (tx) => {
    await sql`update subnet set name = 'behind-too' where id = ${id}`.execute(tx)
    refused = create({ name: 'behind-too', cidr: '10.51.0.0/24' })
    await untilBlocked(backend, 'transactionid')
  })
  expect((await refused).problem).toMatchObject({ code: 'name_taken' })
})

test('concurrent calls either remove a datacenter or add its first subnet, never both', async () => {
  for (let round = 0; round < 8; round++) {
    const place = await addDatacenter(operator, 'SZZ')
    const [removed, added] = await Promise.all([
      operator.call(datacenterRemove, { params: { id: place.id } }),
      create({ datacenter_id: place.id, cidr: '10.60.0.0/24' }),
    ])
    const gone = { removed: 204, added: 404, said: 'There is no such datacenter' }
    const stays = {
      removed: 409,
      added: 201,
      said: 'In this datacenter: 1 subnet. Move or remove them first',
    }
    const again = await operator.call(datacenterRemove, { params: { id: place.id } })
    const said = added.problem?.fields?.['datacenter_id'] ?? again.problem?.error
    expect([gone, stays]).toContainEqual({ removed: removed.status, added: added.status, said })
  }
})

test('after a concurrent assignment and removal, the subnet is either assigned or removed', async () => {
  const place = await addDatacenter(operator, 'BZG')
  const cluster = await addCluster(backend, place.id, 'delta', elsewhere)
  const { subnets } = backend.domains
  for (let round = 0; round < 6; round++) {
    const subnet = await addSubnet(operator, place.id, `round-${round}`, `10.99.${round}.0/24`)
    const [removed, locked] = await Promise.all([
      operator.call(subnetRemove, { params: { id: subnet.id } }),
      backend.platform.db.transaction().execute(async (tx) => {
        const found = await subnets.lockForAssignment(tx, [subnet.id, randomUUID()])
        for (const { id } of found)
          await sql`insert into subnet_assignment (subnet_id, cluster_id, purpose, state, assigned_by, assigned_at)
            values (${id}, ${cluster}, 'workload', 'applying', 'somebody', now())`.execute(tx)
        return found
      }),
    ])
    expect(removed.status).toBe(locked.length === 0 ? 204 : 409)
  }
  expect(
    (await subnets.byCluster(backend.platform.db, cluster)).every(
      (s) => s.clusters[0]!.id === cluster && s.used === null,
    ),
  ).toBe(true)
})

test('concurrent edits, imports, assignments and removals of the same subnets all get a response', async () => {
  const own = await startBackend()
  const by = await own.signIn({ role: 'operator' })
  const place = await addDatacenter(by, 'KIE')
  const clusters = [
    await addCluster(own, place.id, 'one', elsewhere),
    await addCluster(own, place.id, 'two', { pod: '172.18.0.0/16', service: '172.19.0.0/16' }),
  ]
  const subnets = await Promise.all(
    Array.from({ length: 4 }, (_, i) => addSubnet(by, place.id, `busy-${i}`, `10.0.${i}.0/24`)),
  )
  const some = (n: number) => subnets.filter((_, i) => (n >> i) % 2 === 1).map((s) => s.id)
  const csv = (n: number) =>
    `id,version,name,cidr,datacenter,exclude\r\n${subnets.map((s) => `${s.id},1,${s.name},${s.cidr},${place.code},10.0.${s.name.at(-1)}.${n}`).join('\r\n')}`
  const ask = (n: number): Promise<{ status: number }> => {
    const id = subnets[n % 4]!.id
    if (n % 5 === 0)
      return by.call(clusterSubnetsAssign, {
        params: { id: clusters[n % 2]! },
        body: { subnet_ids: some(n % 16) },
      })
    if (n % 5 === 1) return by.call(subnetImport, { body: { csv: csv(n) } })
    if (n === 58) return by.call(subnetRemove, { params: { id } })
    return by.call(subnetUpdate, { params: { id }, body: { exclude: [`10.0.${n % 4}.${n}`] } })
  }
  /** Repeats calls that got 503, because on a busy machine some wait too long for a connection. */
  const answered = async (n: number): Promise<{ status: number }> => {
    const answer = await ask(n)
    return answer.status === 503 ? answered(n) : answer
  }
  const answers = await Promise.all(Array.from({ length: 60 }, (_, n) => answered(n)))
  expect(
    answers.map((a) => a.status).filter((status) => ![200, 202, 204, 404, 409].includes(status)),
  ).toEqual([])
  const left = (await by.call(subnetList)).answer!.items
  // The rows are consistent: one cluster per subnet, and the counts match.
  for (const s of left)
    expect([s.clusters.length <= 1, s.total]).toEqual([true, 254 - s.exclude.length])
})

test('of two creations that take one subnet at once, one gets it, and the other reserves nothing', async () => {
  const place = await addDatacenter(operator, 'KRK')
  const subnet = await addSubnet(operator, place.id, 'edge-net', '198.51.100.0/28')
  const creationOn = async (name: string, address: string) => {
    const links = [
      {
        name: 'eth0',
        up: true,
        physical: true,
        hardware_addr: `b8:ce:f6:b2:db:${address.slice(-2)}`,
        addresses: [`${address}/24`],
      },
    ]
    const node_id = await buildServer(backend, {
      name: `${name}-cp`,
      address,
      datacenter_id: place.id,
      reachable: true,
      hardware: JSON.stringify({
        processors: [],
        memory: [],
        disks: [{ id: 'nvme0n1', size: 1e12, content: 'empty' }],
        interfaces: [{ id: 'eth0', driver: 'mlx5_core' }],
        addresses: [address],
        links,
        routes: [],
      }),
    })
    return {
      name,
      talos_version: 'v1.13.9',
      kubernetes_version: '1.36.3',
      datacenter_id: place.id,
      servers: [{ node_id, role: 'control_plane' as const }],
      subnet_ids: [subnet.id],
    }
  }
  const bodies = [
    await creationOn('taker-a', '10.77.0.15'),
    await creationOn('taker-b', '10.77.0.16'),
  ]
  const made = await Promise.all(bodies.map((body) => operator.call(clusterCreate, { body })))
  expect(made.map((one) => one.status).toSorted((a, b) => a - b)).toEqual([202, 409])
  const [winner, loser] = made[0]!.status === 202 ? [0, 1] : [1, 0]
  const { name } = bodies[winner]!
  expect(made[loser]!.problem).toMatchObject({
    code: 'subnet_assigned',
    error: expect.stringContaining(`edge-net was assigned to ${name}`) as string,
  })
  const clusters = await backend.platform.db
    .selectFrom('cluster')
    .select('name')
    .where('datacenter_id', '=', place.id)
    .execute()
  expect(clusters).toEqual([{ name }])
  const { node_id } = bodies[loser]!.servers[0]!
  const { answer: free } = await operator.call(serverGet, { params: { id: node_id } })
  expect(free).toMatchObject({ cluster: null, operation_id: null })
})
