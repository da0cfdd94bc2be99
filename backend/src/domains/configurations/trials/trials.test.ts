/** Changes of a server's network on trial: confirmed, undone, and followed up after a crash. */
import { createHash, randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { patchCreate, patchList, patchPreview, patchRemove } from '#contract/patches.ts'
import { type Server, serverCommands, serverEvents } from '#contract/servers/servers.ts'
import { addFault } from '#simulator/src/machine/trouble.ts'
import { longTest } from '../../../../../tools/testing/long-test.ts'
import { inTransaction } from '../../../db/db.ts'
import { system } from '../../../http/caller.ts'
import type { Reader } from '../../../reading/reader.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'
import { configuringQueue } from '../api.ts'
import { givenUpSentence, patchesAttempt, type Trial } from './judge.ts'
import * as store from './store.ts'

/** What happens before the reading thread composes a configuration of these layers. */
let beforeComposing = (_layers: string): Promise<void> => Promise.resolve()
const world = await clusterWorld({
  servers: 2,
  seed: 'trials',
  reading:
    (read): Reader =>
    async (who, name, ...given) => {
      if (name === 'compose') await beforeComposing(JSON.stringify(given[1]))
      return read(who, name, ...given)
    },
})
const { admin, backend } = world
let worker: Server
let controlPlane: Server
let cluster: Cluster

beforeAll(async () => {
  const nodes = world.take(2)
  controlPlane = nodes[0]!
  worker = nodes[1]!
  const made = await world.create(nodes)
  const { status, reason } = await world.ended(made.operation.id)
  if (status !== 'done') throw new Error(`The cluster was not made: ${reason}`)
  cluster = await world.cluster(made.cluster.id)
}, 600_000)

const machine = () => world.machine(worker)
const params = () => ({ id: worker.id })
const link = () => machine().managementLink.name
/** A change of a network after which the server is still reached. */
const dhcp = () => `apiVersion: v1alpha1\nkind: DHCPv4Config\nname: ${link()}\n`
const rule = (name: string) =>
  `apiVersion: v1alpha1\nkind: NetworkRuleConfig\nname: ${name}\nportSelector:\n  ports: [9100]\n  protocol: tcp\ningress:\n  - subnet: 10.0.0.0/8\n`
const stored = () => machine().disk.state.config ?? ''
const applies = () => machine().disk.state.counters.applies
const events = async () => {
  await backend.publish()
  return (await admin.call(serverEvents, { params: params() })).answer!.items
}
const patch = async (name: string, body: string) => {
  const made = await admin.call(patchCreate, { params: params(), body: { name, body } })
  if (!made.answer) throw new Error(made.text)
  return made.answer
}
/** Saves a patch without a check, so that only the trial saves the server. */
const below = (name: string, body: string) =>
  inTransaction(backend.platform.db, async (tx) => {
    const { patches, configurations } = backend.domains
    await patches.createIn(tx, system, worker.id, { name, body, weight: 500, labels: {} })
    await configurations.renderAgain(tx, cluster.id, worker.id)
    await backend.platform.engine.wake(tx, configuringQueue, worker.id)
  })
const remove = async (name: string) => {
  const { items } = (await admin.call(patchList, { params: params() })).answer!
  const { patch_id: patchId } = items.find((p) => p.name === name)!
  const removed = await admin.call(patchRemove, { params: { ...params(), patchId } })
  expect(removed.status).toBe(204)
}
const settled = () =>
  world.until(
    () => world.server(worker.id),
    ({ trial }) => trial === null,
  )

test('a change of the network is tried first, and confirmed on a new connection', async () => {
  const before = applies()
  const { patch_id } = await patch('dhcp', dhcp())
  await world.until(
    () => Promise.resolve(stored()),
    (yaml) => yaml.includes('DHCPv4Config'),
  )
  await settled()
  // One call on trial and one for good.
  expect(applies() - before).toBe(2)
  expect(machine().cancelTry).toBeNull()
  expect((await events()).map((e) => e.type)).toEqual(
    expect.arrayContaining(['server.change_tried', 'server.configured']),
  )
  expect(await world.server(worker.id)).toMatchObject({ drift: null, trial: null })
  await admin.call(patchRemove, { params: { ...params(), patchId: patch_id } })
  await world.until(
    () => Promise.resolve(stored()),
    (yaml) => !yaml.includes('DHCPv4Config'),
  )
  await settled()
})

test('a change of something else is sent at once', async () => {
  const before = applies()
  const { patch_id } = await patch('swap', 'machine:\n  sysctls:\n    vm.swappiness: "7"\n')
  await world.until(
    () => Promise.resolve(stored()),
    (yaml) => yaml.includes('swappiness'),
  )
  expect(applies() - before).toBe(1)
  await admin.call(patchRemove, { params: { ...params(), patchId: patch_id } })
  await world.until(
    () => Promise.resolve(stored()),
    (yaml) => !yaml.includes('swappiness'),
  )
})

const onTrial = () =>
  world.until(
    () => Promise.resolve(machine().cancelTry),
    (timer) => timer !== null,
  )
const rollOut = (name: string, body: string, server: Server) =>
  world.change(cluster.id, {
    kind: 'configure',
    patches: [{ name, body, weight: 500, labels: {} }],
    node_ids: [server.id],
  })

test('a trial of a saved patch is confirmed while an operation changes another server', async () => {
  const before = applies()
  await below('saved', rule('saved'))
  await onTrial()
  const { id } = await rollOut(
    'swap',
    'machine:\n  sysctls:\n    vm.swappiness: "8"\n',
    controlPlane,
  )
  expect((await world.server(worker.id)).trial).toMatchObject({ state: 'running' })
  await settled()
  expect(stored()).toContain('name: saved')
  expect(applies() - before).toBe(2)
  expect(await world.ended(id)).toMatchObject({ status: 'done' })
})

/** As if the control plane had become silent during a trial. */
const trialOfControlPlane = (beganMs: number): Trial => ({
  cluster_id: cluster.id,
  node_id: controlPlane.id,
  generation: 1,
  hash: '',
  former_hash: '',
  attempt: patchesAttempt,
  address: world.machine(controlPlane).plan.address,
  phase: 'trying',
  lasts_ms: 60_000,
  began_at: new Date(backend.clock.now() - beganMs),
  answered_at: null,
  confirmed_at: null,
  reason: null,
})

longTest(
  'a server whose network is changed after that of another one says so, and waits no longer than a trial lasts',
  async () => {
    const { db } = backend.platform
    await inTransaction(db, (tx) => store.begin(tx, trialOfControlPlane(0)))
    const before = applies()
    await below('waits', rule('waits'))
    const { pending } = await world.until(
      () => world.server(worker.id),
      (server) => server.pending !== null,
    )
    const { id, name } = controlPlane
    expect(pending).toMatchObject({
      reason: `The network of ${worker.name} is changed after that of ${name}, whose change is on trial`,
      waits_for: [{ id, name }],
    })
    // Noted once, not at every look.
    await world.toNextRun(configuringQueue, worker.id)
    expect((await world.server(worker.id)).pending).toEqual(pending)
    expect(applies()).toBe(before)
    await inTransaction(db, (tx) => store.begin(tx, trialOfControlPlane(80_000)))
    await world.until(
      () => Promise.resolve(stored()),
      (yaml) => yaml.includes('name: waits'),
    )
    await settled()
    expect((await world.server(worker.id)).pending).toBeNull()
    await inTransaction(db, (tx) => store.remove(tx, id))
  },
)

test('a trial of a server that was released counts no more', async () => {
  const undo = new Error('nothing is stored')
  const seen: unknown[] = []
  const tried = inTransaction(backend.platform.db, async (tx) => {
    const look = async () => {
      const others = await store.othersTrying(tx, { cluster_id: cluster.id, node_id: worker.id })
      const own = await store.trialOf(tx, controlPlane.id)
      seen.push([others.map(({ name }) => name), own?.phase])
    }
    await store.begin(tx, trialOfControlPlane(0))
    await look()
    await tx
      .updateTable('cluster_server')
      .set({ released_at: new Date(backend.clock.now()) })
      .where('node_id', '=', controlPlane.id)
      .execute()
    await look()
    throw undo
  })
  await expect(tried).rejects.toBe(undo)
  expect(seen).toEqual([
    [[controlPlane.name], 'trying'],
    [[], undefined],
  ])
})

/** As if an operation had prepared this, and had failed during the trial. */
const failedOperation = `${randomUUID()}/1`
const keptAs = async () =>
  (await backend.domains.configurations.kept.newest(backend.platform.db, cluster.id, worker.id))!
const settledAs = (yaml: string) =>
  world.until(keptAs, (newest) => newest.yaml === yaml && newest.held_at !== null)

test('a change of an operation that has failed is not sent again by itself when its server is back', async () => {
  const { db, engine } = backend.platform
  const { configurations } = backend.domains
  const [before, { yaml }] = [stored(), await keptAs()]
  const digest = (text: string) => createHash('sha256').update(text).digest('hex')
  const began = new Date(backend.clock.now() - 1_200_000)
  await inTransaction(db, async (tx) => {
    const patches = [{ name: 'failed', body: rule('failed'), weight: 500, labels: {} }]
    const made = await configurations.prepare(tx, cluster.id, worker.id, { patches, remove: [] })
    const { generation } = (await configurations.kept.newest(tx, cluster.id, worker.id))!
    await store.begin(tx, {
      ...trialOfControlPlane(0),
      node_id: worker.id,
      generation,
      hash: digest(made!.yaml),
      former_hash: digest(before),
      attempt: failedOperation,
      address: machine().plan.address,
      began_at: began,
      answered_at: began,
    })
    await engine.wake(tx, configuringQueue, worker.id)
  })
  await settledAs(yaml)
  expect(stored()).toBe(before)
  expect(await store.trialOf(db, worker.id)).toBeUndefined()
})

test('a change of an operation that has failed is not confirmed', async () => {
  const { db } = backend.platform
  const [before, { yaml }] = [stored(), await keptAs()]
  await below('given-up', rule('given-up'))
  await onTrial()
  await inTransaction(db, async (tx) => {
    const set = { patches: [], remove: ['given-up'] }
    const by = { by: null, appliedSet: null, links: new Map() }
    await backend.domains.patches.save(tx, worker.id, set, by)
    await tx
      .updateTable('configuration_trial')
      .set({ attempt: failedOperation })
      .where('node_id', '=', worker.id)
      .execute()
  })
  await settledAs(yaml)
  expect([stored(), machine().config!.text]).toEqual([before, before])
  expect((await events()).map((e) => e.message).join()).toContain(givenUpSentence(worker.name))
  expect(await world.server(worker.id)).toMatchObject({ drift: null, trial: null })
})

longTest('an operation on a server waits for the trial of its saved patch', async () => {
  const before = applies()
  await below('early', rule('early'))
  await onTrial()
  const { id } = await rollOut('late', rule('late'), worker)
  expect((await world.server(worker.id)).trial).toMatchObject({ state: 'running' })
  expect(await world.ended(id)).toMatchObject({ status: 'done' })
  await settled()
  expect(stored()).toContain('name: early')
  expect(stored()).toContain('name: late')
  // Each was tried and confirmed once.
  expect(applies() - before).toBe(4)
})

longTest('a lost answer is looked up: the change is not sent twice', async () => {
  const before = applies()
  await addFault(machine(), { kind: 'lost-reply', method: 'ApplyConfiguration', times: 1 })
  await below('rule-a', rule('rule-a'))
  await world.until(
    () => Promise.resolve(stored()),
    (yaml) => yaml.includes('rule-a'),
  )
  await settled()
  expect(applies() - before).toBe(2)
})

longTest(
  'a change that is saved during a trial is sent after it, and dry runs do not end it',
  async () => {
    const before = applies()
    await below('rule-b', rule('rule-b'))
    await world.until(
      () => world.server(worker.id),
      ({ trial }) => trial?.state === 'running',
    )
    const preview = await admin.call(patchPreview, {
      params: params(),
      body: { name: 'rule-c', body: rule('rule-c') },
    })
    expect(preview.status).toBe(200)
    await patch('rule-c', rule('rule-c'))
    await world.until(
      () => Promise.resolve(stored()),
      (yaml) => yaml.includes('rule-c'),
    )
    await settled()
    expect(stored()).toContain('rule-b')
    // Both were tried and confirmed.
    expect(applies() - before).toBe(4)
    expect(await world.server(worker.id)).toMatchObject({ drift: null })
    expect(await world.recovered(cluster.id)).toMatchObject({ status: 'ready' })
  },
)

test('a reboot during a trial ends it: the server has its former configuration, and its page says so', async () => {
  const before = stored()
  const cut = `apiVersion: v1alpha1\nkind: VRFConfig\nname: vrf0\nlinks: [${link()}]\ntable: "123"\n`
  await below('cut', cut)
  await world.until(
    () => Promise.resolve(machine().cancelTry),
    (timer) => timer !== null,
  )
  machine().lifecycle.request({ kind: 'reboot' })
  const server = await world.until(
    () => world.server(worker.id),
    ({ trial }) => trial?.state === 'undone',
  )
  // If the answer to the trial was lost with the link, the end of the time is waited for.
  expect(server.trial!.reason).toMatch(/has restarted|has undone it/)
  expect(stored()).toBe(before)
  await remove('cut')
  await settled()
  expect(await world.server(worker.id)).toMatchObject({ drift: null })
})

test('a confirmation that the machine refuses brings the former configuration back at once', async () => {
  const before = stored()
  await addFault(machine(), { kind: 'refuse-apply', times: 1 })
  await below('refused', rule('refused'))
  const server = await world.until(
    () => world.server(worker.id),
    ({ trial }) => trial?.state === 'undone',
  )
  expect(server.trial!.reason).toContain(
    'has accepted the change on trial, but refuses it for good',
  )
  // The refusal has stopped the timer, which alone would have undone the change.
  expect(machine().cancelTry).toBeNull()
  expect([stored(), machine().config!.text]).toEqual([before, before])
  expect((await events()).map((e) => e.message).join()).toContain('refuses it for good')
  await remove('refused')
  await settled()
  expect(stored()).toBe(before)
})

test('a preview says that the change is tried first', async () => {
  const { answer } = await admin.call(patchPreview, {
    params: params(),
    body: { name: 'dhcp', body: dhcp() },
  })
  expect(answer!.warnings.map((w) => w.message)).toContain(
    `The change of the network of ${worker.name} is tried first: Talos undoes it after 60 s unless Steelyard reaches the server with it`,
  )
})

test('a preview says that nothing undoes a change of the network that restarts the server', async () => {
  const { answer } = await admin.call(patchPreview, {
    params: params(),
    body: {
      name: 'both',
      body: `machine:\n  udev:\n    rules: [SUBSYSTEM=="drm"]\n---\n${dhcp()}`,
    },
  })
  expect(answer!.warnings.map((w) => w.message)).toContain(
    `The change of the network of ${worker.name} can't be tried, because ${worker.name} restarts for it: nothing will undo it`,
  )
})

test('a change that moves a server is confirmed at its new address, where it is contacted from then on', async () => {
  const { address } = machine().plan
  const other = address.replace(/\d+$/, '201')
  const body = `apiVersion: v1alpha1\nkind: LinkConfig\nname: ${link()}\naddresses: [{address: ${other}/8}]\n`
  const { answer } = await admin.call(patchPreview, {
    params: params(),
    body: { name: 'static', body },
  })
  expect(answer!.warnings.map((w) => w.message).join()).toContain(
    `Steelyard will reach ${worker.name} at ${other} on ${link()}`,
  )
  const tried = applies()
  await patch('static', body)
  const contacted = async () =>
    (await backend.domains.servers.forPlan(backend.platform.db, [worker.id]))[0]!.address
  await world.until(contacted, (at) => at === other)
  await settled()
  expect(applies() - tried).toBe(2)
  expect(machine().plan.address).toBe(other)
  expect((await events()).map((e) => e.type)).toContain('server.moved')
  // Later changes and commands go there, and a restart keeps the address.
  await patch('swap', 'machine:\n  sysctls:\n    vm.swappiness: "9"\n')
  await world.until(
    () => Promise.resolve(stored()),
    (yaml) => yaml.includes('swappiness'),
  )
  const asked = await admin.call(serverCommands.serverReboot, { params: params() })
  expect(await world.ended(asked.answer!.operation.id)).toMatchObject({ status: 'done' })
  expect(machine().plan.address).toBe(other)
  expect(await contacted()).toBe(other)
  expect(await world.server(worker.id)).toMatchObject({ drift: null, trial: null })
})

longTest('a server that is back in maintenance gets no configuration on trial', async () => {
  const reset = { graceful: false, reboot: true, partitions: null }
  machine().lifecycle.request({ kind: 'reset', reset })
  await world.until(
    () => Promise.resolve(machine().mode),
    (mode) => mode === 'maintenance',
  )
  const before = applies()
  await below('rule-m', rule('rule-m'))
  for (let run = 0; run < 3; run++) await world.toNextRun(configuringQueue, worker.id)
  expect(applies()).toBe(before)
  expect(machine()).toMatchObject({ mode: 'maintenance', cancelTry: null, config: null })
})

test('a configuration is composed once, while nothing is locked, however long that takes', async () => {
  const { db } = backend.platform
  const [isAsked, isRead] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let [begun, composed] = [0, 0]
  const body = 'machine:\n  sysctls:\n    vm.swappiness: "7"\n'
  beforeComposing = (layers) => {
    // The reconcilers compose too.
    if (!layers.includes(JSON.stringify(body))) return Promise.resolve()
    composed++
    isAsked.resolve()
    return isRead.promise
  }
  const notStored = new Error('nothing is stored')
  let yaml = ''
  const saved = inTransaction(db, async (tx) => {
    begun++
    const { patches, configurations } = backend.domains
    await patches.createIn(tx, system, worker.id, { name: 'long', body, weight: 500, labels: {} })
    yaml = (await configurations.renderAgain(tx, cluster.id, worker.id))!.yaml
    throw notStored
  }).catch((error: unknown) => error)
  await isAsked.promise
  await inTransaction(db, (tx) => sql`select from server for update`.execute(tx))
  isRead.resolve()
  expect(await saved).toBe(notStored)
  expect(yaml).toContain('vm.swappiness: "7"')
  expect({ begun, composed }).toEqual({ begun: 2, composed: 1 })
  beforeComposing = () => Promise.resolve()
})

test('a decision to overwrite that is being stored outlasts the end of an earlier one', async () => {
  const { db } = backend.platform
  const { allowOverwrite, machine: known } = backend.domains.clusters.machines
  const set = (seen: string | null, former?: string) =>
    inTransaction(db, (tx) => allowOverwrite(tx, cluster.id, worker.id, seen, former))
  await set('earlier')
  const [isStored, isSeen] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const deciding = inTransaction(db, async (tx) => {
    await allowOverwrite(tx, cluster.id, worker.id, 'later')
    isStored.resolve()
    await isSeen.promise
  })
  await isStored.promise
  const ending = set(null, 'earlier')
  const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await expect.poll(async () => (await waiting.execute(db)).rows.length).toBeGreaterThan(0)
  isSeen.resolve()
  await Promise.all([deciding, ending])
  expect((await known(db, cluster.id, worker.id))!.overwrite).toBe('later')
  await set(null, 'later')
  expect((await known(db, cluster.id, worker.id))!.overwrite).toBeNull()
})
