/**
 * Seeded moments of silence, of 5 to 60 s, in work that begins without a person: scheduled changes,
 * roll-outs of shared patches and bulk acts. The clock is moved, so that a wait takes no time.
 */
import { expect, test } from 'vitest'
import { clusterChange, clusterWindowSet } from '#contract/clusters/changes/changes.ts'
import type { Operation } from '#contract/operations.ts'
import { waitLimits } from '#contract/rule.ts'
import { serverBulk, serverBulkPlan } from '#contract/servers/bulk.ts'
import {
  sharedPatchCreate,
  sharedPatchRollOut,
  sharedPatchUpdate,
} from '#contract/shared-patches/shared-patches.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { longTests } from '../../../../tools/testing/length.ts'
import { changeQueue } from '../clusters/parts.ts'
import { begins, inAnHour } from '../clusters/testing/scheduled.ts'
import { clusterWorld } from '../clusters/testing/world.ts'

const clusters = longTests ? 10 : 2
/** Each round has a moment of silence in each cluster, in each kind of work. */
const rounds = longTests ? 10 : 1

const world = await clusterWorld({ servers: clusters, speed: 200 })
const { admin } = world
const nodes = world.take(clusters)
const made = await Promise.all(nodes.map((node) => world.create([node])))
for (const { operation } of made) await world.ended(operation.id)
const ids = made.map(({ cluster }) => cluster.id)

/** mulberry32: the same moments in each run. */
let seed = 68
const random = (): number => {
  seed = (seed + 0x6d_2b_79_f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
}

const waits = /^Waits, at most until \d\d:\d\d UTC: /
/** The servers for which an operation says that it waits: for one without steps, those of its cluster. */
const waitedFor = ({ target, reason, steps }: Operation): string[] => [
  ...steps.flatMap((s) => (waits.test(s.reason ?? '') ? [s.node_id!] : [])),
  ...(waits.test(reason ?? '') ? nodes.filter((_, i) => ids[i] === target.id) : []).map(
    ({ id }) => id,
  ),
]

/**
 * Sets the world's clock, and what is due by it, back to real time. Machines have real clocks, and
 * refuse certificates of a Steelyard that is ahead by minutes.
 */
async function catchUp(): Promise<void> {
  const { clock, database } = world.backend
  await world.alone(async () => {
    const aheadMs = clock.now() - Date.now()
    clock.jump(-aheadMs)
    await database.pool.query(
      `update wake_up set due_at = due_at - $1::interval where due_at is not null`,
      [`${aheadMs} milliseconds`],
    )
  })
}

/**
 * Silences every server from before `begin` on, until its operation has said that it waits for it
 * and 5 to 60 s of the world's clock have passed since. Follows the operations to their ends.
 */
async function silenced(begin: () => Promise<readonly string[]>): Promise<Operation[]> {
  const { clock } = world.backend
  const silent = new Map(nodes.map((node) => [node.id, { node, until: Infinity }]))
  for (const { node } of silent.values()) await addFault(world.machine(node), { kind: 'refuse' })
  const begun = await begin()
  const read = () => Promise.all(begun.map((id) => world.operation(id)))
  const hasEnded = (all: readonly Operation[]) => all.every(({ ended_at }) => ended_at !== null)
  while (silent.size > 0) {
    const isMet = (all: readonly Operation[]): boolean =>
      all.flatMap(waitedFor).some((id) => silent.get(id)?.until === Infinity)
    const all = [...silent.values()].some(({ until }) => until < Infinity)
      ? await read()
      : await world.until(read, (now) => isMet(now) || hasEnded(now))
    if (hasEnded(all)) break
    for (const id of all.flatMap(waitedFor)) {
      const one = silent.get(id)
      if (one?.until === Infinity) one.until = clock.now() + 5_000 + Math.round(random() * 55_000)
    }
    if (![...silent.values()].some(({ until }) => until < Infinity)) continue
    clock.advance(5_000)
    const before = silent.size
    for (const { node, until } of silent.values())
      if (until <= clock.now()) {
        await clearFaults(world.machine(node))
        silent.delete(node.id)
      }
    if (silent.size < before) await catchUp()
  }
  const ends = await world.until(read, hasEnded)
  await catchUp()
  expect([...silent.values()].map(({ node }) => node.name)).toEqual([])
  return ends
}

const endOf = ({ status, reason }: Operation) => ({ status, reason })
const done = { status: 'done', reason: null }

test.each(Array.from({ length: rounds }, (_, i) => i + 1))(
  'scheduled changes wait for servers that are silent when they are due, and go on (%d)',
  async () => {
    const begun: string[] = []
    for (const id of ids) {
      const { answer, text } = await admin.call(clusterChange, {
        params: { id },
        body: { change: { kind: 'defragment' }, start: inAnHour() },
      })
      if (!answer) throw new Error(text)
      begun.push(answer.operation.id)
    }
    const ends = await silenced(async () => {
      for (const [i, id] of begun.entries()) await begins(world, ids[i]!, id)
      return begun
    })
    expect(ends.map(endOf)).toEqual(ids.map(() => done))
  },
)

const patch = { id: '', value: 0 }
const body = () => `machine:\n  sysctls:\n    vm.swappiness: "${++patch.value}"\n`

test.each(Array.from({ length: rounds }, (_, i) => i + 1))(
  'a roll-out waits for each server that is silent when its turn comes, and goes on (%d)',
  async () => {
    if (patch.id === '') {
      const saved = await admin.call(sharedPatchCreate, {
        body: { name: 'calm', body: body(), targets: { cluster_ids: ids } },
      })
      patch.id = saved.answer!.id
    } else await admin.call(sharedPatchUpdate, { params: { id: patch.id }, body: { body: body() } })
    const ends = await silenced(async () => {
      const called = await admin.call(sharedPatchRollOut, { params: { id: patch.id }, body: {} })
      if (!called.answer) throw new Error(called.text)
      return [called.answer.operation.id]
    })
    expect(ends.map(endOf)).toEqual([done])
  },
)

test.each(Array.from({ length: rounds }, (_, i) => i + 1))(
  'a bulk act waits for servers that fall silent before their turn, and goes on (%d)',
  async () => {
    const ends = await silenced(async () => {
      const node_ids = nodes.map(({ id }) => id)
      const { answer: plan } = await admin.call(serverBulkPlan, {
        body: { act: { kind: 'restart_kubelet' }, node_ids },
      })
      const items = node_ids.map((id) => ({
        id,
        version: plan!.items.find((one) => one.id === id)!.version,
      }))
      const called = await admin.call(serverBulk, { body: { act: plan!.act, items } })
      if (!called.answer) throw new Error(called.text)
      return [called.answer.operation.id]
    })
    expect(ends.map(endOf)).toEqual([done])
  },
)

test('a scheduled change ends once the limit of its wait is over, and says for what it waited', async () => {
  const [id] = ids
  const { answer } = await admin.call(clusterChange, {
    params: { id: id! },
    body: { change: { kind: 'defragment' }, start: inAnHour() },
  })
  await addFault(world.machine(nodes[0]!), { kind: 'refuse' })
  await begins(world, id!, answer!.operation.id)
  const waiting = await world.until(
    () => world.operation(answer!.operation.id),
    ({ reason }) => waits.test(reason ?? ''),
  )
  expect(waiting).toMatchObject({
    status: 'pending',
    reason: expect.stringContaining(nodes[0]!.name) as string,
  })
  world.backend.clock.advance(waitLimits.scheduled)
  expect(await world.ended(answer!.operation.id)).toMatchObject({
    status: 'failed',
    reason: expect.stringMatching(/^It did not begin: .*Waited 1 h for that$/) as string,
  })
})

test('a change in the maintenance window waits until the window closes, and then says for what', async () => {
  await clearFaults(world.machine(nodes[0]!))
  await catchUp()
  const [id] = ids
  const params = { id: id! }
  const from = new Date(Date.now() - 3_600_000).toISOString().slice(11, 16)
  const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as ('mon' | 'tue')[]
  const window = { days, from, minutes: 180, time_zone: 'UTC' }
  await admin.call(clusterWindowSet, { params, body: { window } })
  const body = {
    change: { kind: 'defragment' as const },
    start: { ...inAnHour(), in_window: true },
  }
  const { answer } = await world.until(
    () => admin.call(clusterChange, { params, body }),
    (called) => called.answer !== undefined,
  )
  await addFault(world.machine(nodes[0]!), { kind: 'refuse' })
  await begins(world, id!, answer!.operation.id)
  await world.until(
    () => world.operation(answer!.operation.id),
    ({ reason }) => waits.test(reason ?? ''),
  )
  // The limit of other waits is over, and the window is still open.
  world.backend.clock.advance(waitLimits.scheduled + 60_000)
  await world.toNextRun(changeQueue, id!)
  expect(await world.operation(answer!.operation.id)).toMatchObject({ status: 'pending' })
  world.backend.clock.advance(2 * 3_600_000)
  const { reason, status } = await world.ended(answer!.operation.id)
  expect(status).toBe('failed')
  expect(reason).toMatch(/^It did not begin before the maintenance window closed: /)
  expect(reason).toContain(nodes[0]!.name)
})
