/** Roll-outs of shared patches over two clusters, while others change what they reach. */
import { expect, test } from 'vitest'
import { clusterWindowSet } from '#contract/clusters/changes/changes.ts'
import { findingList } from '#contract/findings/findings.ts'
import { operationCancel, operationList, operationRetry } from '#contract/operations.ts'
import { patchCreate, patchPreview } from '#contract/patches.ts'
import { serverUpdate } from '#contract/servers/servers.ts'
import {
  sharedPatchCreate,
  sharedPatchRemove,
  sharedPatchRollOut,
  sharedPatchServers,
  sharedPatchUndo,
  sharedPatchUpdate,
} from '#contract/shared-patches/shared-patches.ts'
import { connectSecure } from '#talos/client/connect.ts'
import { onEachMinor } from '../../clusters/testing/minors.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'

onEachMinor(async (minor) => {
  const world = await clusterWorld({ minor, servers: 6 })
  const { admin } = world
  const nodes = world.take(6)
  const [cpA, first, second, cpB, third, spare] = nodes as [
    (typeof nodes)[0],
    (typeof nodes)[0],
    (typeof nodes)[0],
    (typeof nodes)[0],
    (typeof nodes)[0],
    (typeof nodes)[0],
  ]
  const made = await Promise.all([world.create([cpA, first, second]), world.create([cpB, third])])
  for (const { operation } of made) await world.ended(operation.id)
  const [clusterA, clusterB] = made.map(({ cluster }) => cluster) as [
    (typeof made)[0]['cluster'],
    (typeof made)[0]['cluster'],
  ]

  const sysctl = (value: string) => `machine:\n  sysctls:\n    vm.swappiness: "${value}"\n`
  const configOf = (node: { id: string }) =>
    (world.machine(node).disk.state.config ?? '').replaceAll("'", '"')
  const valueOf = (node: { id: string }) => /vm\.swappiness: "?(\d+)"?/.exec(configOf(node))?.[1]
  const label = async (node: { id: string }, labels: Record<string, string | null>) =>
    expect(
      (await admin.call(serverUpdate, { params: { id: node.id }, body: { labels } })).status,
    ).toBe(200)
  const save = async (name: string, body: string, targets: object) => {
    const called = await admin.call(sharedPatchCreate, { body: { name, body, targets } })
    if (!called.answer) throw new Error(called.text)
    return { id: called.answer.id }
  }
  const begin = async (params: { id: string }, body: object = {}) => {
    const called = await admin.call(sharedPatchRollOut, { params, body })
    if (!called.answer) throw new Error(called.text)
    return called.answer.operation
  }
  const undo = async (params: { id: string }) => {
    const called = await admin.call(sharedPatchUndo, { params, body: {} })
    if (!called.answer) throw new Error(called.text)
    return world.ended(called.answer.operation.id)
  }
  const statesOf = async (params: { id: string }) =>
    Object.fromEntries(
      (await admin.call(sharedPatchServers, { params })).answer!.items.map(({ server, state }) => [
        server.name,
        state,
      ]),
    )
  /** Applies a configuration without Steelyard, as talosctl does. */
  async function outside(clusterId: string, node: { id: string }, from: string, to: string) {
    const keys = (await world.backend.domains.clusters.talosCredentials(clusterId, {
      role: 'os:admin',
      lifetimeMs: 600_000,
    }))!
    const client = await connectSecure({ host: world.machine(node).plan.address }, keys, {
      deadlineMs: 10_000,
    })
    try {
      expect(configOf(node)).toContain(from)
      await client.applyConfiguration(configOf(node).replace(from, to), { mode: 'auto' })
    } finally {
      client.close()
    }
  }
  for (const node of [first, second, third]) await label(node, { tune: 'yes' })

  let [calm, waiting] = [{ id: '' }, { id: '' }]
  test('a roll-out over two clusters leaves out a server that gets the label meanwhile, which is behind', async () => {
    calm = await save('calm', sysctl('10'), { labels: ['tune=yes'] })
    const operation = await begin(calm, { canary_id: third.id })
    expect(operation.steps.map((s) => s.node_id)).toEqual([
      third.id,
      ...[first, second].toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(({ id }) => id),
    ])
    await label(cpB, { tune: 'yes' })
    // Nobody changes or removes it while it rolls out.
    for (const refused of [
      await admin.call(sharedPatchRemove, { params: calm }),
      await admin.call(sharedPatchUpdate, { params: calm, body: { weight: 1 } }),
      await admin.call(sharedPatchRollOut, { params: calm, body: {} }),
    ])
      expect(refused.problem).toMatchObject({
        code: 'operation_running',
        error: 'calm is being rolled out: wait until that has ended, or cancel it',
      })
    expect(await world.ended(operation.id)).toMatchObject({ status: 'done', reason: null })
    expect([first, second, third, cpB].map(valueOf)).toEqual(['10', '10', '10', undefined])
    expect((await statesOf(calm))[cpB.name]).toBe('behind')
    await label(cpB, { tune: null })
  })

  test('an undo leaves a server that somebody has changed with its reason, undoes the others, and is repeated', async () => {
    await outside(clusterA.id, first, 'vm.swappiness: "10"', 'vm.swappiness: "11"')
    const ended = await undo(calm)
    expect(ended.status).toBe('failed')
    expect(ended.reason).toContain('1 server keeps the patch. ')
    expect(ended.reason).toContain('was changed outside of Steelyard')
    const ofStep = Object.fromEntries(ended.steps.map((s) => [s.node_id!, s.status]))
    expect(ofStep).toEqual({ [first.id]: 'failed', [second.id]: 'done', [third.id]: 'done' })
    expect([first, second, third].map(valueOf)).toEqual(['11', undefined, undefined])
    await outside(clusterA.id, first, 'vm.swappiness: "11"', 'vm.swappiness: "10"')
    const again = await admin.call(operationRetry, { params: { id: ended.id }, body: {} })
    expect(again.status).toBe(200)
    expect(await world.ended(ended.id)).toMatchObject({ status: 'done', reason: null })
    expect(valueOf(first)).toBeUndefined()
    expect((await admin.call(sharedPatchRemove, { params: calm })).status).toBe(204)
  })

  test('a roll-out waits for the window of the cluster, and a cancel changes nothing', async () => {
    waiting = await save('waiting', sysctl('20'), {
      cluster_ids: [clusterB.id],
      roles: ['worker'],
    })
    // Without a window the cluster would never get the patch.
    const never = await admin.call(sharedPatchRollOut, {
      params: waiting,
      body: { in_window: true },
    })
    expect([never.status, never.problem?.error]).toEqual([
      409,
      `${clusterB.name} has no maintenance window: set one first, or change the servers at any time`,
    ])
    const day = 86_400_000
    const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const
    const window = {
      days: [days[new Date(world.backend.clock.now() + 3 * day).getUTCDay()]!],
      from: '02:30',
      minutes: 60,
      time_zone: 'UTC',
    }
    await admin.call(clusterWindowSet, { params: { id: clusterB.id }, body: { window } })
    const { id } = await begin(waiting, { in_window: true })
    const step = await world.until(
      async () => (await world.operation(id)).steps[0]!,
      ({ status }) => status === 'waiting',
    )
    expect(step.reason).toMatch(/window/i)
    expect(valueOf(third)).toBeUndefined()
    expect((await admin.call(operationCancel, { params: { id } })).status).toBeLessThan(300)
    expect(await world.ended(id)).toMatchObject({
      status: 'cancelled',
      reason: 'Nothing was changed',
    })
    expect(valueOf(third)).toBeUndefined()
    // The change of the cluster, which waited for the window, was cancelled with it.
    const open = await admin.call(operationList, {
      query: { target: clusterB.id, status: 'open', kind: 'clusterConfigure' },
    })
    expect(open.answer!.items).toEqual([])
    await admin.call(clusterWindowSet, { params: { id: clusterB.id }, body: { window: null } })
    // At once it begins without a window.
    expect(await world.ended((await begin(waiting)).id)).toMatchObject({
      status: 'done',
      reason: null,
    })
    expect(valueOf(third)).toBe('20')

    // Its undo waits as well.
    await admin.call(clusterWindowSet, { params: { id: clusterB.id }, body: { window } })
    const undone = await admin.call(sharedPatchUndo, { params: waiting, body: { in_window: true } })
    const params = { id: undone.answer!.operation.id }
    const seen = await world.until(
      async () => (await world.operation(params.id)).steps[0]!,
      ({ status }) => status !== 'todo' && status !== 'running',
    )
    expect(seen).toMatchObject({
      status: 'waiting',
      reason: expect.stringMatching(/window/i) as string,
    })
    await admin.call(operationCancel, { params })
    expect(await world.ended(params.id)).toMatchObject({ status: 'cancelled' })
    expect(valueOf(third)).toBe('20')
    await admin.call(clusterWindowSet, { params: { id: clusterB.id }, body: { window: null } })
  })

  test("of equal weight the server's own patch wins, of another the heavier, and each line says its patch", async () => {
    const params = { id: third.id }
    const sources = async (body: string, weight = 500) => {
      const { answer } = await admin.call(patchPreview, {
        params,
        body: { name: 'own', body, weight },
      })
      const lines = answer!.diff.after.split('\n')
      return answer!.sources
        .filter(({ layer }) => layer === 'own' || layer.startsWith('shared/'))
        .map(({ line, layer }) => `${lines[line - 1]!.trim()} ${layer}`)
    }
    expect(await sources(sysctl('30'))).toContain('vm.swappiness: "30" own')
    expect(await sources(sysctl('30'), 499)).toContain('vm.swappiness: "20" shared/waiting')
    const other = 'machine:\n  sysctls:\n    net.core.somaxconn: "4096"\n'
    expect((await sources(other)).filter((line) => line.includes('"'))).toEqual(
      expect.arrayContaining([
        'vm.swappiness: "20" shared/waiting',
        'net.core.somaxconn: "4096" own',
      ]),
    )
    const own = await admin.call(patchCreate, { params, body: { name: 'own', body: sysctl('30') } })
    expect(own.status).toBe(201)
    await world.until(
      () => Promise.resolve(valueOf(third)),
      (value) => value === '30',
    )
  })

  test('a server that joins a cluster is behind on its shared patches, which is a finding until a roll-out', async () => {
    const tuned = await save('tuned', 'machine:\n  sysctls:\n    net.core.somaxconn: "8192"\n', {
      cluster_ids: [clusterB.id],
    })
    expect(await world.ended((await begin(tuned)).id)).toMatchObject({
      status: 'done',
      reason: null,
    })
    // Of a patch that was rolled out to it before, it is installed with the text.
    const early = await save('early', 'machine:\n  sysctls:\n    net.core.rmem_max: "212992"\n', {
      node_ids: [spare.id],
    })
    expect(await world.ended((await begin(early)).id)).toMatchObject({
      status: 'done',
      reason: null,
    })
    const grown = await world.change(clusterB.id, {
      kind: 'grow',
      servers: [{ node_id: spare.id, role: 'worker' }],
    })
    expect(await world.ended(grown.id)).toMatchObject({ status: 'done', reason: null })
    expect(configOf(spare)).toContain('net.core.rmem_max: "212992"')
    expect(configOf(spare)).not.toContain('somaxconn')
    expect((await statesOf(tuned))[spare.name]).toBe('behind')
    // The patch of the test before is for it, too.
    const found = async () => {
      await world.backend.domains.findings.judge()
      const query = { kind: 'server_shared_patches_behind' } as const
      const { items } = (await admin.call(findingList, { query })).answer!
      return items.flatMap(({ object, reason }) => (object.name === spare.name ? [reason] : []))
    }
    expect(await found()).toEqual([expect.stringContaining('patches tuned, waiting.') as string])
    const ended = await world.ended((await begin(tuned)).id)
    expect(ended.steps.map((s) => s.node_id)).toEqual([spare.id])
    expect(configOf(spare)).toContain('net.core.somaxconn: "8192"')
    expect(await found()).toEqual([expect.stringMatching(/patch waiting/) as string])
    await begin(waiting).then(({ id }) => world.ended(id))
    expect(await found()).toEqual([])
  })
})
