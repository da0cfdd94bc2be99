/** A cluster of one server that is made by hand, for tests of a server's contact. */
import { randomUUID } from 'node:crypto'
import { expect, vi } from 'vitest'
import { serverEvents } from '#contract/servers/servers.ts'
import { mintTalosClient } from '#talos/pki/certificates.ts'
import { generateSecrets } from '#talos/secrets/bundle.ts'
import { readyKeys } from '#talos/testing/keys.ts'
import { system } from '../../../http/caller.ts'
import { systemClock } from '../../../clock.ts'
import { type Backend, type SignedIn, startBackend } from '../../../testing/backend.ts'
import { startFleet } from '../../../testing/fleet.ts'
import { temporaryFolder } from '../../../testing/folder.ts'
import { contacts } from '../../../talos-fleet/contact.ts'
import { shardCount } from '../../../talos-fleet/leases.ts'
import { serverFleet } from '../fleet.ts'
import { buildCluster, buildServer } from '../testing.ts'
import { eventKeeper } from './machine-events.ts'
import { pack } from './observe.ts'

/**
 * Makes a cluster of one server by hand: sends the configuration; the server installs, reboots and
 * opens its secured API.
 */
export async function loneServer() {
  const clusterId = randomUUID()
  const simulator = await startFleet({
    servers: 2,
    dataDir: temporaryFolder('control'),
    seed: 'control',
    speed: 200,
  })
  const secrets = await generateSecrets({ now: new Date(), keys: await readyKeys() })
  const backend = await startBackend({
    environment: { STEELYARD_SIMULATE: '2', STEELYARD_DIAL_NETWORKS: '127.20.0.0/16' },
    prepare: (_platform, { clusters }) => {
      // The machines check certificates by the real time, which Steelyard's clock here doesn't have.
      const talosCredentials: typeof clusters.talosCredentials = async (id, { role, lifetimeMs }) =>
        id === clusterId
          ? mintTalosClient(secrets, { roles: [role], lifetimeMs, now: new Date() })
          : null
      Object.assign(clusters, { talosCredentials })
      Object.assign(clusters.machines, { talosCredentials })
    },
  })
  const { db } = backend.platform
  const { servers } = backend.domains
  const machine = simulator.servers[0]!
  const id = await buildServer(backend, {
    address: machine.plan.address,
    ...machine.disk.identity,
    talos_version: machine.talosVersion,
  })
  const { clusters, configurations } = backend.domains
  await buildCluster(backend, clusterId, 'alone')
  const rendered = await db.transaction().execute(async (tx) => {
    const at = new Date(backend.clock.now())
    await tx
      .updateTable('cluster')
      .set({
        endpoint: `https://${machine.plan.address}:6443`,
        talos_version: machine.talosVersion,
        kubernetes_version: '1.35.4',
      })
      .where('id', '=', clusterId)
      .execute()
    await clusters.secrets.sealBundle(tx, clusterId, secrets)
    await tx
      .insertInto('cluster_server')
      .values({
        cluster_id: clusterId,
        node_id: id,
        role: 'control_plane',
        position: 0,
        name: 'alone',
        install_disk: `/dev/${machine.hardware.disks[0]!.name}`,
        install_image: `ghcr.io/siderolabs/installer:${machine.talosVersion}`,
        at_since: at,
      })
      .execute()
    await tx
      .updateTable('server')
      .set({ cluster_id: clusterId, cluster_name: 'alone', type: 'control_plane' })
      .where('id', '=', id)
      .execute()
    await servers.markReady(tx, system, id)
    await configurations.renderFirst(tx, clusterId, id)
    const { yaml, generation } = (await configurations.kept.newest(tx, clusterId, id))!
    await configurations.kept.noteHeld(tx, clusterId, id, generation)
    return yaml
  })
  const connection = await servers.connection(id)
  await connection.maintenance((client) => client.applyConfiguration(rendered, { mode: 'auto' }))
  const patient = { timeout: 30_000, interval: 50 }
  await vi.waitFor(async () => {
    if ((await connection.presence()) !== 'secured') throw new Error('It is not secured yet')
  }, patient)
  const keys = await mintTalosClient(secrets, {
    roles: ['os:admin'],
    lifetimeMs: 3_600_000,
    now: new Date(),
  })
  await vi.waitFor(() => connection.secure(keys, (client) => client.bootstrap()), patient)
  await vi.waitFor(() => {
    if (machine.stage.stage !== 'running') throw new Error(`It is ${machine.stage.stage}`)
  }, patient)
  return { clusterId, secrets, simulator, backend, id }
}

/**
 * Keeps contact until events of the server were kept. Returns the stages that its page shows while
 * the server is off; null while it answers.
 */
export async function followEvents(
  { platform, domains }: Backend,
  { call }: Pick<SignedIn, 'call'>,
  id: string,
) {
  const keeper = eventKeeper(platform)
  const stop = new AbortController()
  const shards = new Set(Array.from({ length: shardCount }, (_, shard) => shard))
  const running = contacts({
    fleet: serverFleet(platform),
    clock: systemClock,
    random: Math.random,
    roster: () => domains.servers.contact.roster(shards),
    credentials: (clusterId) =>
      domains.clusters.talosCredentials(clusterId, { role: 'os:reader', lifetimeMs: 3_600_000 }),
    pack,
    sink: async () => [],
    onEvent: keeper.take,
    onError: () => undefined,
    pace: 0.005,
  }).run(stop.signal)
  const told = async () => {
    const { items, talos } = (await call(serverEvents, { params: { id } })).answer!
    const stages = items.flatMap((e) =>
      e.source === 'talos' && e.type === 'stage' ? e.message : [],
    )
    return talos.ok ? null : stages
  }
  await expect
    .poll(
      async () => {
        await keeper.flush()
        const { n } = await platform.db
          .selectFrom('machine_event')
          .select((e) => e.fn.countAll<number>().as('n'))
          .where('server_id', '=', id)
          .where('type', '=', 'stage')
          .executeTakeFirstOrThrow()
        return n
      },
      { timeout: 30_000 },
    )
    .toBeGreaterThan(0)
  stop.abort(new Error('the events were kept'))
  await running
  return told
}
