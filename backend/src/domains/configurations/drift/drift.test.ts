import { beforeAll, expect, test, vi } from 'vitest'
import { parse, stringify } from 'yaml'
import { type Cluster, clusterEvents } from '#contract/clusters/clusters.ts'
import { serverDrift, serverDriftKeep, serverDriftOverwrite } from '#contract/servers/drift.ts'
import { patchCreate, patchGet, patchList, patchRemove } from '#contract/patches.ts'
import { type Server, serverConfig, serverEvents } from '#contract/servers/servers.ts'
import { connectSecure } from '#talos/client/connect.ts'
import type { TalosClient } from '#talos/client/client.ts'
import { readFound } from '#talos/client/found.ts'
import { mergePatches } from '#talos/config/merge.ts'
import { createAuthority, type Credentials } from '#talos/pki/certificates.ts'
import { longTest } from '../../../../../tools/testing/long-test.ts'
import { inTransaction } from '../../../db/db.ts'
import { system } from '../../../http/caller.ts'
import type { Reader } from '../../../reading/reader.ts'
import { nextRunAt } from '../../../testing/engine.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'
import { configuringQueue, sweepQueue } from '../api.ts'

/** What happens once before the reading thread gets the job of this name. */
const beforeReading = new Map<string, () => Promise<void>>()
const world = await clusterWorld({
  servers: 1,
  seed: 'drift',
  reading:
    (read): Reader =>
    async (who, name, ...given) => {
      const act = beforeReading.get(name)
      beforeReading.delete(name)
      await act?.()
      return read(who, name, ...given)
    },
})
const { admin, backend } = world
let node: Server
let cluster: Cluster
let keys: Credentials

beforeAll(async () => {
  const [taken] = world.take(1)
  node = taken!
  const made = await world.create([node])
  const { status, reason } = await world.ended(made.operation.id)
  if (status !== 'done') throw new Error(`The cluster was not made: ${reason}`)
  cluster = await world.cluster(made.cluster.id)
  keys = (await backend.domains.clusters.talosCredentials(cluster.id, {
    role: 'os:admin',
    lifetimeMs: 3_600_000,
  }))!
}, 600_000)

/** Connects as talosctl does, with an admin's certificate and without Steelyard. */
const outside = async <T>(act: (client: TalosClient) => Promise<T>): Promise<T> => {
  const client = await connectSecure({ host: world.machine(node).plan.address }, keys, {
    deadlineMs: 10_000,
  })
  try {
    return await act(client)
  } finally {
    client.close()
  }
}
const held = () => outside(async (client) => (await readFound(client)).active)
const patchOutside = async (body: string) => {
  const yaml = mergePatches(await held(), [{ name: 'theirs', body }]).yaml
  await outside((client) => client.applyConfiguration(yaml, { mode: 'auto' }))
}
const replaceOutside = async (from: string | RegExp, to: string) => {
  const before = await held()
  const after = before.replaceAll(from, to)
  expect(after).not.toBe(before)
  await outside((client) => client.applyConfiguration(after, { mode: 'auto' }))
}
const split = async () => {
  const [first, ...parts] = (await held()).split('---\n')
  return { main: parse(first!) as { cluster: object }, parts }
}
const params = () => ({ id: node.id })
const drift = async () => (await admin.call(serverDrift, { params: params() })).answer!
const sysctl = (key: string, value: string) => `machine:\n  sysctls:\n    ${key}: "${value}"\n`
const applies = () => world.machine(node).disk.state.counters.applies
const events = async () => {
  await backend.publish()
  return (await admin.call(serverEvents, { params: params() })).answer!.items
}

/** Whether a text is in the value, in its lists, or in its plain objects. */
const holdsText = (value: unknown, text: string): boolean => {
  if (typeof value === 'string') return value.includes(text)
  if (Array.isArray(value)) return value.some((item) => holdsText(item, text))
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.getPrototypeOf(value) === Object.prototype &&
    Object.values(value).some((item) => holdsText(item, text))
  )
}

test('the body of a patch goes to configurations once, from there to the machine, and never to clusters', async () => {
  const { clusters, configurations } = backend.domains
  const value = 'net.core.somaxconn: "511"'
  const entries: string[] = []
  /** Notes every call of a face whose arguments contain the body. */
  const watch = (name: string, face: object) => {
    for (const [key, method] of Object.entries(face)) {
      if (typeof method !== 'function') continue
      const spy = vi.spyOn(face as Record<string, (...given: unknown[]) => unknown>, key)
      spy.mockImplementation((...given) => {
        if (holdsText(given, value)) entries.push(`${name}.${key}`)
        return (method as (...given: unknown[]) => unknown)(...given)
      })
    }
  }
  watch('configurations', configurations)
  watch('clusters', clusters)
  watch('clusters', clusters.machines)
  watch('clusters', clusters.secrets)
  const made = await admin.call(patchCreate, {
    params: params(),
    body: { name: 'backlog', body: `machine:\n  sysctls:\n    ${value}\n` },
  })
  await world.until(held, (yaml) => yaml.includes(value))
  vi.restoreAllMocks()
  expect(entries).toEqual(['configurations.change'])
  await admin.call(patchRemove, { params: { ...params(), patchId: made.answer!.patch_id } })
  await world.until(held, (yaml) => !yaml.includes(value))
})

test('a server with the configuration that Steelyard sent has no drift', async () => {
  expect(await drift()).toEqual({
    state: 'none',
    reason: null,
    since: null,
    seen: null,
    diff: null,
    keep: null,
  })
  expect((await world.server(node.id)).drift).toBeNull()
})

test('the configuration that a member would get with another blueprint is held against the rules', async () => {
  const judge = (podCidr: string) =>
    backend.domains.configurations.judgeAfter(cluster.id, node.id, (now) => ({ ...now, podCidr }))
  expect(await judge('10.250.0.0/16')).toEqual({ refused: [], warnings: [] })
  expect((await judge('10.250.0.0/33')).refused.join()).toMatch(/10\.250\.0\.0\/33/)
})

test('the drift sweep finds changes by others and shows them line by line, and no patch overwrites them', async () => {
  await patchOutside(sysctl('vm.swappiness', '1'))
  const sent = applies()
  await inTransaction(backend.platform.db, (tx) =>
    backend.platform.engine.wake(tx, sweepQueue, cluster.id),
  )
  const server = await world.until(
    () => world.server(node.id),
    (s) => s.drift != null,
  )
  const seen = await drift()
  expect(seen).toMatchObject({
    state: 'drifted',
    since: server.drift!.since,
    seen: server.drift!.seen,
    keep: { how: 'patch' },
  })
  expect(seen.diff!.before).not.toContain('vm.swappiness')
  expect(seen.diff!.after).toContain('vm.swappiness: "1"')
  expect(seen.diff!.after).not.toContain('PRIVATE KEY')
  const refused = await admin.call(patchCreate, {
    params: params(),
    body: { name: 'mine', body: sysctl('vm.max_map_count', '262144') },
  })
  expect(refused).toMatchObject({
    status: 409,
    problem: {
      code: 'config_drifted',
      error: `Configuration was changed outside of Steelyard: look at the difference of ${node.name}, then keep or overwrite it`,
    },
  })
  expect((await admin.call(patchList, { params: params() })).answer!.total).toBe(2)
  expect(applies()).toBe(sent)
  const items = await events()
  expect(items.map((e) => e.type)).toContain('server.config_changed_outside')
})

test('keeping a change by others stores it as a patch and does not change the machine', async () => {
  const { seen } = await drift()
  const sent = applies()
  expect(
    await admin.call(serverDriftKeep, { params: params(), body: { seen: '0'.repeat(64) } }),
  ).toMatchObject({
    status: 412,
    problem: {
      code: 'stale',
      error: `The configuration of ${node.name} has changed again since you looked: look at the difference again`,
    },
  })
  expect(
    (await admin.call(serverDriftKeep, { params: params(), body: { seen: seen! } })).answer,
  ).toMatchObject({ state: 'none' })
  const { items } = (await admin.call(patchList, { params: params() })).answer!
  expect(items.at(-1)).toMatchObject({
    name: expect.stringMatching(/^kept-\d{4}-\d\d-\d\d$/) as string,
    weight: 999,
    body: expect.stringContaining('vm.swappiness') as string,
  })
  expect((await world.server(node.id)).drift).toBeNull()
  expect(await drift()).toMatchObject({ state: 'none' })
  expect(await held()).toContain('vm.swappiness: "1"')
  expect(applies()).toBe(sent)
  expect((await admin.call(serverConfig, { params: params() })).text).toContain(
    'vm.swappiness: "1"',
  )
})

test('overwriting a change by others restores the configuration that Steelyard sent', async () => {
  await patchOutside(sysctl('net.core.somaxconn', '9'))
  const { seen, diff } = await drift()
  expect(diff!.after).toContain('net.core.somaxconn')
  expect(
    (await admin.call(serverDriftOverwrite, { params: params(), body: { seen: seen! } })).answer,
  ).toMatchObject({ state: 'overwriting' })
  await world.until(held, (yaml) => !yaml.includes('net.core.somaxconn'))
  await world.until(drift, (d) => d.state === 'none')
  expect((await world.server(node.id)).drift).toBeNull()
})

test('an operation that begins during the checks of a change or of a decision refuses it', async () => {
  const { db } = backend.platform
  const operation = await db.selectFrom('operation').select('id').executeTakeFirstOrThrow()
  const hold = (id: string | null) =>
    inTransaction(db, (tx) => backend.domains.servers.hold(tx, node.id, id))
  const generations = async () =>
    (await backend.domains.configurations.kept.newest(db, cluster.id, node.id))!.generation
  const names = async () =>
    (await admin.call(patchList, { params: params() })).answer!.items.map((p) => p.name)
  const refused = {
    status: 409,
    problem: { code: 'operation_running', error: `An operation on ${node.name} has not ended` },
  }
  const before = [await names(), await generations()]

  beforeReading.set('composeChange', () => hold(operation.id))
  const body = { name: 'late', body: sysctl('vm.dirty_ratio', '10') }
  expect(await admin.call(patchCreate, { params: params(), body })).toMatchObject(refused)
  await hold(null)

  await patchOutside(sysctl('kernel.late', '1'))
  const seen = (await drift()).seen!
  for (const [decision, read] of [
    [serverDriftKeep, 'links'],
    [serverDriftOverwrite, 'composeChange'],
  ] as const) {
    beforeReading.set(read, () => hold(operation.id))
    expect(await admin.call(decision, { params: params(), body: { seen } })).toMatchObject(refused)
    expect(beforeReading.size).toBe(0)
    await hold(null)
  }
  expect(await drift()).toMatchObject({ state: 'drifted', seen })
  expect([await names(), await generations()]).toEqual(before)
  await admin.call(serverDriftOverwrite, { params: params(), body: { seen } })
  await world.until(drift, (d) => d.state === 'none')
})

test('a change made after the user saw the difference is not overwritten', async () => {
  await patchOutside(sysctl('kernel.a', '1'))
  const { seen } = await drift()
  await patchOutside(sysctl('kernel.b', '2'))
  expect(
    await admin.call(serverDriftOverwrite, { params: params(), body: { seen: seen! } }),
  ).toMatchObject({ status: 412, problem: { code: 'stale' } })
  // The stored consent to overwrite is for an earlier difference: the machine's configuration has
  // changed again since.
  await inTransaction(backend.platform.db, async (tx) => {
    await backend.domains.clusters.machines.allowOverwrite(tx, cluster.id, node.id, seen)
    await backend.platform.engine.wake(tx, configuringQueue, node.id)
  })
  await world.until(events, (items) =>
    items.some(
      (e) => e.type === 'server.configured' && e.message.includes('refused (config_drifted)'),
    ),
  )
  expect(await held()).toContain('kernel.b: "2"')
  const now = await drift()
  expect(now.state).toBe('drifted')
  await admin.call(serverDriftOverwrite, { params: params(), body: { seen: now.seen! } })
  await world.until(drift, (d) => d.state === 'none')
})

longTest(
  'a decision to overwrite that is made while the difference is found again is carried out',
  async () => {
    await patchOutside(sysctl('kernel.c', '3'))
    const { seen } = await drift()
    const { machines } = backend.domains.clusters
    const touching = machines.touching.bind(machines)
    // The machine was compared, and what follows from that is not stored yet.
    const decided: unknown[] = []
    const spy = vi.spyOn(machines, 'touching').mockImplementationOnce((...given) =>
      touching(...given).finally(async () => {
        const body = { seen: seen! }
        decided.push((await admin.call(serverDriftOverwrite, { params: params(), body })).answer)
      }),
    )
    await inTransaction(backend.platform.db, (tx) =>
      backend.platform.engine.wake(tx, configuringQueue, node.id),
    )
    await world.until(held, (yaml) => !yaml.includes('kernel.c'))
    expect(decided).toEqual([expect.objectContaining({ state: 'overwriting' })])
    await world.until(drift, (d) => d.state === 'none')
    spy.mockRestore()
  },
)

test("a change that can't be expressed as a patch becomes the base configuration of the patches", async () => {
  const own = await admin.call(patchCreate, {
    params: params(),
    body: { name: 'mine', body: 'machine:\n  certSANs:\n    - mine.example.com\n' },
  })
  expect(own.status).toBe(201)
  await world.until(held, (yaml) => yaml.includes('mine.example.com'))
  await replaceOutside(/ *- mine\.example\.com\n/g, '')
  const seen = await drift()
  expect(seen.keep).toMatchObject({ how: 'base' })
  expect(
    (await admin.call(serverDriftKeep, { params: params(), body: { seen: seen.seen! } })).answer,
  ).toMatchObject({ state: 'none' })
  expect(
    (await admin.call(patchList, { params: params() })).answer!.items.map((p) => p.name),
  ).toEqual(['static-system', 'default-node'])
  expect(
    await admin.call(patchGet, { params: { ...params(), patchId: own.answer!.patch_id } }),
  ).toMatchObject({ status: 404 })
  // A later patch is merged into the kept configuration.
  const later = await admin.call(patchCreate, {
    params: params(),
    body: { name: 'later', body: sysctl('vm.max_map_count', '262144') },
  })
  expect(later).toMatchObject({ status: 201 })
  const now = await world.until(held, (yaml) => yaml.includes('vm.max_map_count'))
  expect(now).toContain('vm.swappiness: "1"')
  expect(now).not.toContain('mine.example.com')
  expect(
    (await admin.call(patchRemove, { params: { ...params(), patchId: later.answer!.patch_id } }))
      .status,
  ).toBe(204)
  await world.until(held, (yaml) => !yaml.includes('vm.max_map_count'))
  await world.until(drift, (d) => d.state === 'none')
})

test('image versions changed by an upgrade outside of Steelyard are adopted, not reported as drift', async () => {
  const { kubernetes_version: before } = await world.cluster(cluster.id)
  const [major, minor, patch] = before.split('.').map(Number)
  const next = `${major}.${minor}.${patch! + 1}`
  await replaceOutside(`:v${before}`, `:v${next}`)
  expect(await drift()).toMatchObject({ state: 'none' })
  expect(await world.cluster(cluster.id)).toMatchObject({ kubernetes_version: next })
  expect(
    (
      await admin.call(patchCreate, {
        params: params(),
        body: { name: 'tuned', body: sysctl('vm.dirty_ratio', '10') },
      })
    ).status,
  ).toBe(201)
  const now = await world.until(held, (yaml) => yaml.includes('vm.dirty_ratio'))
  expect(now).toContain(`kubelet:v${next}`)
  expect(now).not.toContain(`:v${before}`)
})

test('after an upgrade outside of Steelyard, the cluster shows the new version, and an event reports it', async () => {
  const { db, clock } = backend.platform
  await db
    .updateTable('server')
    .set({ talos_version: 'v1.13.10' })
    .where('id', '=', node.id)
    .execute()
  // As a contact after the cluster's last change.
  await db
    .updateTable('server_contact')
    .set({ at: new Date(clock.now() + 1000) })
    .where('server_id', '=', node.id)
    .execute()
  await inTransaction(backend.platform.db, (tx) =>
    backend.platform.engine.wake(tx, sweepQueue, cluster.id),
  )
  await world.until(
    () => world.cluster(cluster.id),
    (c) => c.talos_version === 'v1.13.10',
  )
  expect((await world.server(node.id)).drift).toBeNull()
  await backend.publish()
  const told = (await admin.call(clusterEvents, { params: { id: cluster.id } })).answer!.items.find(
    (e) => e.type === 'cluster.versions_changed_outside',
  )
  expect(told!.message).toContain('Talos v1.13.10')
})

test("a change by others is not overwritten with what can't work", async () => {
  // A patch of a release that did not know the rule.
  const body = 'machine:\n  network:\n    nameservers: [dns.example.org]\n'
  await inTransaction(backend.platform.db, async (tx) => {
    const patch = { name: 'of-an-earlier-release', weight: 500, labels: {}, body }
    await backend.domains.patches.createIn(tx, system, node.id, patch)
    await backend.domains.configurations.renderAgain(tx, cluster.id, node.id)
    await backend.platform.engine.wake(tx, configuringQueue, node.id)
  })
  await world.until(held, (yaml) => yaml.includes('dns.example.org'))
  await replaceOutside('dns.example.org', '10.0.0.53')
  const [{ seen }, sent] = [await drift(), applies()]
  expect(
    await admin.call(serverDriftOverwrite, { params: params(), body: { seen: seen! } }),
  ).toMatchObject({
    status: 422,
    problem: {
      code: 'invalid',
      error: expect.stringMatching(
        /^What Steelyard would send to .* can't work\. .*dns\.example\.org.*Keep the changes, then change the patch$/,
      ) as string,
    },
  })
  expect(applies()).toBe(sent)
  expect(await held()).toContain('10.0.0.53')
  expect(
    (await admin.call(serverDriftKeep, { params: params(), body: { seen: seen! } })).answer,
  ).toMatchObject({ state: 'none' })
})

longTest(
  'a Steelyard whose clock is ahead does not say that others changed the authority',
  async () => {
    const { db, engine } = backend.platform
    const swept = async () => {
      await inTransaction(db, (tx) => engine.wake(tx, sweepQueue, cluster.id))
      await world.until(
        () => nextRunAt(db, sweepQueue, cluster.id),
        (due) => due !== null && due.getTime() > backend.clock.now() + 60_000,
      )
      return (await world.cluster(cluster.id)).locked_out
    }
    // Longer than the certificates last that Steelyard has already. The machine refuses the new ones.
    const aheadMs = 2 * 3_600_000
    backend.clock.jump(aheadMs)
    const keysOf = () =>
      backend.domains.clusters.talosCredentials(cluster.id, {
        role: 'os:admin',
        lifetimeMs: 60_000,
      })
    const early = connectSecure({ host: world.machine(node).plan.address }, (await keysOf())!, {
      deadlineMs: 10_000,
    }).then(readFound)
    await expect(early).rejects.toMatchObject({ kind: 'refused' })
    expect(await swept()).toBeNull()
    backend.clock.jump(-aheadMs)
    expect(await swept()).toBeNull()
  },
)

test("a changed Kubernetes certificate authority is shown on the server and the cluster, and can't be kept as a patch", async () => {
  const { parts, main } = await split()
  const other = await createAuthority({
    kind: 'p256',
    subject: { organizations: ['kubernetes'] },
    now: new Date(),
  })
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const changed = stringify({
    ...main,
    cluster: { ...main.cluster, ca: { crt: base64(other.crt), key: base64(other.key) } },
  })
  await outside((client) =>
    client.applyConfiguration([changed, ...parts].join('---\n'), { mode: 'auto' }),
  )
  const seen = await drift()
  expect(seen.keep).toMatchObject({
    how: 'secrets',
    reason: expect.stringContaining('cluster.ca') as string,
  })
  expect(seen.diff!.after).toContain('# Changed, and not shown: cluster.ca')
  expect(JSON.stringify(seen)).not.toContain(base64(other.key).slice(0, 60))
  expect(
    await admin.call(serverDriftKeep, { params: params(), body: { seen: seen.seen! } }),
  ).toMatchObject({ status: 409, problem: { code: 'conflict' } })
  await inTransaction(backend.platform.db, (tx) =>
    backend.platform.engine.wake(tx, sweepQueue, cluster.id),
  )
  await world.until(
    () => world.cluster(cluster.id),
    (c) => c.locked_out?.authority === 'kubernetes_ca',
  )
})
