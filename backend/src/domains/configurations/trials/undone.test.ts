/**
 * Changes that cut a server off although nothing has refused them. The trial brings the server back,
 * on a worker and on a control plane.
 */
import { isDeepStrictEqual } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { patchCreate, patchList, patchRemove } from '#contract/patches.ts'
import { undoRule } from '#contract/servers/losses.ts'
import { type Server, serverEvents } from '#contract/servers/servers.ts'
import { longTests } from '../../../../../tools/testing/length.ts'
import { longTest } from '../../../../../tools/testing/long-test.ts'
import { addFault } from '#simulator/src/machine/trouble.ts'
import { inTransaction } from '../../../db/db.ts'
import { system } from '../../../http/caller.ts'
import { onEachMinor } from '../../clusters/testing/minors.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'
import { configuringQueue } from '../api.ts'
import { undoneSentence } from './judge.ts'
import { blindToNetworks, cuts } from './testing/cuts.ts'
import { waysOf } from './testing/ways.ts'

onEachMinor(async (minor) => {
  // A trial that ends too early is undone too, which is what these tests expect.
  let isBlind = true
  const world = await clusterWorld({
    minor,
    servers: 2,
    seed: 'undone',
    environment: { STEELYARD_TRIAL_SECONDS: '5' },
    reading: blindToNetworks(() => isBlind),
  })
  const { admin, backend } = world
  let controlPlane: Server
  let worker: Server
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

  const sentence = 'The server did not answer within 5 s with the change, so Talos has undone it'
  /** `npm test` tries one cut on a worker, and another one on a control plane. */
  const chosen = (one: number) => Object.entries(cuts).filter((_, i) => longTests || i === one)

  /** Saves a patch without a check, so that only the trial saves the server. */
  const below = (server: Server, body: string) =>
    inTransaction(backend.platform.db, async (tx) => {
      const { patches, configurations } = backend.domains
      const patch = { name: 'cut', body, weight: 500, labels: {} }
      await patches.createIn(tx, system, server.id, patch)
      await configurations.renderAgain(tx, cluster.id, server.id)
      await backend.platform.engine.wake(tx, configuringQueue, server.id)
    })
  const cutOf = (kind: string) => cuts[kind]!.cut(world.machine(worker).managementLink.name)
  /** Saves a patch with the loss of the worker confirmed, for less time than a person may choose. */
  const confirmed = (body: string, undo_after_seconds: number) => {
    const patch = { name: 'cut', body, weight: 500 }
    const confirmedLoss = [{ name: worker.name, undo_after_seconds }]
    return backend.domains.configurations.change(
      system,
      worker.id,
      { stored: [], more: [patch], confirmedLoss },
      (tx) => backend.domains.patches.createIn(tx, system, worker.id, { ...patch, labels: {} }),
    )
  }
  const stored = (server: Server) => world.machine(server).disk.state.config ?? ''
  const active = (server: Server) => world.machine(server).config?.text
  const trialOf = async (server: Server) => (await world.server(server.id)).trial
  const events = async (server: Server) => {
    await backend.publish()
    return (await admin.call(serverEvents, { params: { id: server.id } })).answer!.items
  }
  /** The configurations of the server that are kept, and whether its machine has had them. */
  const kept = async (server: Server) =>
    (
      await backend.platform.db
        .selectFrom('cluster_server_config')
        .select(['generation', 'held_at'])
        .where('node_id', '=', server.id)
        .orderBy('generation')
        .execute()
    ).map(({ generation, held_at }) => [generation, held_at !== null] as const)
  /** Waits until the contact with the server has noticed that it is back. */
  const answers = (server: Server) =>
    world.until(
      () => world.server(server.id),
      ({ talos }) => talos.reachable === true,
    )
  const removeCut = async (server: Server) => {
    const params = { id: server.id }
    const { items } = (await admin.call(patchList, { params })).answer!
    const { patch_id: patchId } = items.find((p) => p.name === 'cut')!
    const removed = await admin.call(patchRemove, { params: { ...params, patchId } })
    expect(removed.status).toBe(204)
    await world.until(
      () => trialOf(server),
      (trial) => trial === null,
    )
    await answers(server)
  }

  describe.each([
    ['a worker', 0, () => worker],
    ['a control plane', 5, () => controlPlane],
  ] as const)('%s', (_, one, of) => {
    test.each(chosen(one))('comes back after %s', async (_kind, cut) => {
      const server = of()
      const before = stored(server)
      await below(server, cut.cut(world.machine(server).managementLink.name))
      const trial = await world.until(
        () => trialOf(server),
        (now) => now?.state === 'undone',
      )
      expect(trial).toMatchObject({ reason: sentence })
      expect(stored(server)).toBe(before)
      expect(active(server)).toBe(before)
      expect((await events(server)).some((e) => e.message.includes(sentence))).toBe(true)
      // Nothing is sent again by itself, and nobody is told of a change from outside.
      const sent = world.machine(server).disk.state.counters.applies
      await inTransaction(backend.platform.db, (tx) =>
        backend.platform.engine.wake(tx, configuringQueue, server.id),
      )
      const [tried] = (await kept(server)).at(-1)!
      await removeCut(server)
      // Of what the machine had before its newest configuration, only the one on trial is kept.
      await world.until(
        () => kept(server),
        (rows) =>
          isDeepStrictEqual(rows, [
            [tried, false],
            [tried + 1, true],
          ]),
      )
      expect(world.machine(server).disk.state.counters.applies - sent).toBeLessThanOrEqual(1)
      expect(await world.server(server.id)).toMatchObject({ drift: null, trial: null })
    })
  })

  longTest('a change whose answer was lost with the link is not tried twice', async () => {
    const before = world.machine(worker).disk.state.counters.applies
    await addFault(world.machine(worker), {
      kind: 'lost-reply',
      method: 'ApplyConfiguration',
      times: 1,
    })
    await below(worker, cuts['DHCP on another link']!.cut(''))
    const trial = await world.until(
      () => trialOf(worker),
      (now) => now?.state === 'undone',
    )
    expect(trial).toMatchObject({ reason: sentence })
    expect(world.machine(worker).disk.state.counters.applies).toBe(before + 1)
    await removeCut(worker)
  })

  // All ways and all cuts: `cuts-worker.long.test.ts` and `cuts-control-plane.long.test.ts`.
  longTest('a worker comes back after drift that is overwritten', async () => {
    const { ways, settled } = waysOf({
      world,
      cluster: () => cluster,
      server: () => worker,
      next: () => controlPlane,
      cli: () => Promise.reject(new Error('No command line here')),
    })
    await settled()
    await ways['drift that is overwritten'](cuts['a bond over the link']!)
    await settled()
    expect(stored(worker)).not.toContain('bond0')
  })

  test('a roll-out stops at the server that does not answer, and its patch is not saved', async () => {
    const before = [worker, controlPlane].map(stored)
    const { id } = await world.change(cluster.id, {
      kind: 'configure',
      patches: [
        { name: 'wall', body: cuts['a firewall without a rule']!.cut(''), weight: 500, labels: {} },
      ],
    })
    const ended = await world.ended(id)
    expect(ended).toMatchObject({ status: 'failed' })
    expect(ended.steps.find((s) => s.key === `configure/${worker.id}`)).toMatchObject({
      status: 'failed',
      reason: sentence,
    })
    expect([worker, controlPlane].map(stored)).toEqual(before)
    // The operation tells it. No change of the server waits for a decision.
    expect(await trialOf(worker)).toBeNull()
    const { items } = (await admin.call(patchList, { params: { id: worker.id } })).answer!
    expect(items.map((p) => p.name)).not.toContain('wall')
  })

  test('a confirmed loss comes back by itself within the chosen time', async () => {
    isBlind = false
    await answers(worker)
    const [before, body] = [stored(worker), cutOf('a static address in the old form')]
    const refused = await admin.call(patchCreate, {
      params: { id: worker.id },
      body: { name: 'cut', body },
    })
    expect(refused.problem).toMatchObject({
      code: 'loss_not_confirmed',
      error: expect.stringMatching(
        `^Steelyard would lose ${worker.name}: .*\\. Once its loss is confirmed, the change is tried first: Talos undoes it after 5 min unless`,
      ),
      fields: { confirmed_loss: worker.name, undo_after_seconds: undoRule },
    })
    await confirmed(body, 6)
    const trial = await world.until(
      () => trialOf(worker),
      (now) => now?.state === 'undone',
    )
    expect(trial).toMatchObject({ reason: undoneSentence(6_000) })
    expect([stored(worker), active(worker)]).toEqual([before, before])
    expect(
      (await events(worker)).some((e) => e.message.includes('Talos undoes it after 6 s')),
    ).toBe(true)
    await removeCut(worker)
  })

  test('a confirmed loss is sent for good, without a trial, if that is chosen', async () => {
    const tried = (await events(worker)).filter((e) => e.type === 'server.change_tried').length
    await answers(worker)
    const made = await admin.call(patchCreate, {
      params: { id: worker.id },
      body: {
        name: 'cut',
        body: cutOf('a link that is ignored'),
        confirmed_loss: [{ name: worker.name, undo_after_seconds: null }],
      },
    })
    expect(made.status).toBe(201)
    await world.until(
      () => Promise.resolve(stored(worker)),
      (yaml) => yaml.includes('ignore: true'),
    )
    expect(world.machine(worker).cancelTry).toBeNull()
    expect(await trialOf(worker)).toBeNull()
    expect((await events(worker)).filter((e) => e.type === 'server.change_tried')).toHaveLength(
      tried,
    )
  })
})
