/** Every way on which a server gets a change, with changes that cut it off. */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { operationList } from '#contract/operations.ts'
import { patchList, patchRemove } from '#contract/patches.ts'
import { serverDrift, serverDriftOverwrite } from '#contract/servers/drift.ts'
import { type Server, serverEvents } from '#contract/servers/servers.ts'
import type { TalosMinor } from '#talos/versions.ts'
import { inTransaction } from '../../../../db/db.ts'
import { temporaryFolder } from '../../../../testing/folder.ts'
import { clusterWorld, type ClusterWorld } from '../../../clusters/testing/world.ts'
import { configuringQueue, type LayerSet } from '../../api.ts'
import { undoneSentence } from '../judge.ts'
import { blindToNetworks, type Cut, cuts } from './cuts.ts'

type Role = 'control_plane' | 'worker'

const trialSeconds = 5
const sentence = undoneSentence(trialSeconds * 1000)
const program = path.join(import.meta.dirname, '../../../../../../cli/src/main.ts')

interface Ran {
  readonly exit: unknown
  /** The command line and what it printed. */
  readonly said: string
}

/** A cluster of a world whose Steelyard is blind to networks, and a server of it that is cut off. */
export interface Place {
  readonly world: ClusterWorld
  readonly cluster: () => Cluster
  readonly server: () => Server
  /** Another server of the role, which a roll-out must not touch. */
  readonly next: () => Server
  /** Runs the command line. */
  readonly cli: (line: string, input?: string) => Promise<Ran>
}

/**
 * Every way on which a server gets a change. Each sends the server a cut, expects that the server
 * comes back in time with its former configuration and that the sentence is told where the change
 * was made, and takes the change back. Trials last five seconds.
 */
export function waysOf({ world, cluster, server, next, cli }: Place) {
  const { admin, backend } = world
  const { db, engine } = backend.platform
  const machine = (of: Server) => world.machine(of)
  const stored = (of: Server) => machine(of).disk.state.config ?? ''
  const appliesOf = (of: Server) => machine(of).disk.state.counters.applies
  const link = () => machine(server()).managementLink.name
  const answers = () =>
    world.until(
      () => world.server(server().id),
      ({ talos }) => talos.reachable === true,
    )
  const undone = () =>
    world.until(
      () => world.server(server().id),
      ({ trial }) => trial?.state === 'undone',
    )
  const settled = () =>
    world.until(
      () => world.server(server().id),
      ({ trial, drift, talos }) => trial === null && drift === null && talos.reachable === true,
    )
  /**
   * Changes the patches of the server without a check. `isHeld`: as if the machine had got the new
   * configuration, and others had taken it back on the machine.
   */
  const below = async (set: LayerSet, isHeld: boolean) => {
    const { patches, configurations } = backend.domains
    const links = await patches.linksOf(set)
    await inTransaction(db, async (tx) => {
      await patches.save(tx, server().id, set, { by: null, appliedSet: null, links })
      await configurations.renderAgain(tx, cluster().id, server().id)
      if (isHeld)
        await tx
          .updateTable('cluster_server_config')
          .set({ held_at: new Date(backend.clock.now()) })
          .where('node_id', '=', server().id)
          .execute()
      await engine.wake(tx, configuringQueue, server().id)
    })
  }
  const patch = (name: string, body: string, weight: number) => ({ name, body, weight, labels: {} })
  const remove = async (name: string) => {
    const params = { id: server().id }
    const { items } = (await admin.call(patchList, { params })).answer!
    const patchId = items.find((p) => p.name === name)!.patch_id
    const removed = await admin.call(patchRemove, { params: { ...params, patchId } })
    expect(removed.text).toBe('')
  }
  /** The newest events of the server that tell the sentence: a page, not all of them. */
  const told = async () => {
    await backend.publish()
    const { items } = (await admin.call(serverEvents, { params: { id: server().id } })).answer!
    return items.filter((e) => e.message.includes(sentence)).map((e) => e.id)
  }
  /** The operation tells the sentence, and its patch is not saved. */
  const failsUndone = async (id: string) => {
    const ended = await world.ended(id)
    expect(ended).toMatchObject({ status: 'failed' })
    expect(ended.steps.find((s) => s.key === `configure/${server().id}`)).toMatchObject({
      status: 'failed',
      reason: sentence,
    })
    const { items } = (await admin.call(patchList, { params: { id: server().id } })).answer!
    expect(items.map((p) => p.name)).not.toContain('cut')
  }
  const rollsOut = async (body: string, node_ids?: string[]) => {
    const untouched = appliesOf(next())
    const { id } = await world.change(cluster().id, {
      kind: 'configure',
      patches: [patch('cut', body, 500)],
      ...(node_ids && { node_ids }),
    })
    await failsUndone(id)
    expect(appliesOf(next())).toBe(untouched)
  }
  /** The page of the server tells it, until the change is taken back. */
  const staysUndone = async () => expect((await undone()).trial).toMatchObject({ reason: sentence })

  /** Checks afterwards that the server has its present configuration, and that it was told. */
  const watch = async () => {
    const before = { stored: stored(server()), told: await told() }
    return async () => {
      expect(stored(server())).toBe(before.stored)
      expect(machine(server()).config?.text).toBe(before.stored)
      const now = await told()
      expect(now.filter((id) => !before.told.includes(id))).toHaveLength(1)
    }
  }

  /** Each changes the server, expects the sentence, and takes the change back. */
  const ways = {
    async 'a roll-out to the servers of its role'({ cut }: Cut) {
      const check = await watch()
      await rollsOut(cut(link()), [server().id, next().id])
      await check()
    },
    async 'a change of its patches'({ cut }: Cut) {
      const check = await watch()
      await rollsOut(cut(link()), [server().id])
      await check()
    },
    async 'apply on the command line'({ cut }: Cut) {
      const check = await watch()
      const { name } = await world.server(server().id)
      const body = JSON.stringify(cut(link()))
      const file = path.join(temporaryFolder('apply'), 'cut.yaml')
      writeFileSync(file, `kind: patch\nserver: ${name}\nname: cut\nbody: ${body}\n`)
      // A contact that began while the server was cut off before may end after it, and the plan is
      // refused then.
      const ran = await world.until(
        () => cli(`apply -f ${file} --yes`),
        ({ exit, said }) => exit === 0 || !said.includes('does not answer'),
      )
      expect(ran).toEqual({ exit: 0, said: ran.said })
      const { items } = (await admin.call(operationList, { query: { per_page: 1 } })).answer!
      await failsUndone(items[0]!.id)
      await check()
    },
    async 'drift that is overwritten'({ cut }: Cut) {
      await below({ patches: [patch('cut', cut(link()), 500)], remove: [] }, true)
      const params = { id: server().id }
      const { seen, state } = (await admin.call(serverDrift, { params })).answer!
      expect(state).toBe('drifted')
      const check = await watch()
      const answer = await admin.call(serverDriftOverwrite, { params, body: { seen: seen! } })
      expect(answer.problem).toBeUndefined()
      await staysUndone()
      await check()
      await below({ patches: [], remove: ['cut'] }, true)
    },
    async 'a removed patch'({ cut, mend }: Cut) {
      const before = stored(server())
      const both = [patch('cut', cut(link()), 500), patch('mend', mend(link()), 600)]
      await below({ patches: both, remove: [] }, false)
      await world.until(
        () => Promise.resolve(stored(server())),
        (now) => now !== before,
      )
      await settled()
      const check = await watch()
      await remove('mend')
      await staysUndone()
      await check()
      await answers()
      await remove('cut')
    },
  }

  return { ways, settled }
}

/** Each of the cuts on each way, on a server of this role. */
export async function tryCuts(role: Role, minor: TalosMinor): Promise<void> {
  const controlPlanes = role === 'worker' ? 1 : 3
  const world = await clusterWorld({
    servers: controlPlanes + (role === 'worker' ? 2 : 0),
    minor,
    seed: `cuts-${role}`,
    environment: { STEELYARD_TRIAL_SECONDS: String(trialSeconds) },
    reading: blindToNetworks(() => true),
  })
  const { admin, backend } = world
  let cluster: Cluster
  let server: Server
  let next: Server
  let env: NodeJS.ProcessEnv
  const cli = async (line: string, input = ''): Promise<Ran> => {
    const child = spawn(process.execPath, [program, ...line.split(' ')], { env })
    child.stdin.end(input)
    const ended = new Promise((resolve) => child.once('exit', resolve))
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
    return { exit: await ended, said: `${line}: ${out}${err}` }
  }

  beforeAll(async () => {
    const nodes = world.take(world.nodes.length)
    const roleOf = (i: number): Role => (i < controlPlanes ? 'control_plane' : 'worker')
    const servers = nodes.map(({ id }, i) => ({ node_id: id, role: roleOf(i) }))
    const made = await world.create(nodes, { servers })
    const { status, reason } = await world.ended(made.operation.id)
    if (status !== 'done') throw new Error(`The cluster was not made: ${reason}`)
    cluster = await world.cluster(made.cluster.id)
    ;[server, next] = nodes.filter((_, i) => roleOf(i) === role) as [Server, Server]
    const url = await backend.listen()
    env = { ...process.env, XDG_CONFIG_HOME: temporaryFolder('cli'), STEELYARD_URL: url }
    const login = await cli(`login ${admin.email} --password-stdin`, `${admin.password}\n`)
    if (login.exit !== 0) throw new Error(login.said)
  }, 600_000)

  const { ways, settled } = waysOf({
    world,
    cluster: () => cluster,
    server: () => server,
    next: () => next,
    cli,
  })
  // A test that reached its limit has left the server changed: the tests after it fail at once,
  // instead of each waiting for its own limit.
  let running: string | null = null
  describe.each(Object.entries(ways))('%s', (way, act) => {
    test.each(Object.entries(cuts))('%s', { timeout: 300_000 }, async (kind, cut) => {
      expect(running, 'the test that has not ended').toBe(null)
      running = `${way}: ${kind}`
      try {
        await settled()
        await act(cut)
        await settled()
        expect((await world.server(server.id)).kubernetes?.ready).toBe(true)
      } finally {
        running = null
      }
    })
  })
}
