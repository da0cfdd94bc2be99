import { afterAll, expect, test, vi } from 'vitest'
import { sql } from 'kysely'
import { operationGet, operationRetry } from '#contract/operations.ts'
import { patchCreate, patchList, patchPreview, patchRemove } from '#contract/patches.ts'
import {
  serverAdd,
  serverCommands,
  serverEvents,
  serverGet,
  serverLogs,
  serverRemove,
  serverServices,
  serverTalosconfig,
  serverUpdate,
} from '#contract/servers/servers.ts'
import { machineCommandKinds, machineCommands } from '#contract/servers/machine-commands.ts'
import { MIN_SPEED } from '#simulator/src/clock.ts'
import { addFault, clearFaults } from '#simulator/src/machine/trouble.ts'
import { ConfigLoadErrorEventSchema } from '#talos/proto/gen/machine/machine_pb.ts'
import { mintTalosClient } from '#talos/pki/certificates.ts'
import { system } from '../../../http/caller.ts'
import { commandQueue } from './commanding.ts'
import { followEvents, loneServer } from './testing.ts'
import { buildServer } from '../testing.ts'

const { clusterId, secrets, simulator, backend, id } = await loneServer()
afterAll(() => simulator.stop())
const operator = await backend.signIn({ role: 'operator' })
const { servers } = backend.domains
const params = { id }
const operation = async (operationId: string) =>
  (await operator.call(operationGet, { params: { id: operationId } })).answer!
const untilEnded = async (operationId: string) => {
  await expect
    .poll(
      async () => {
        await backend.engine.run(2000)
        return (await operation(operationId)).ended_at !== null
      },
      { timeout: 30_000 },
    )
    .toBe(true)
  return operation(operationId)
}

const mint = (role: 'os:reader' | 'os:admin') =>
  mintTalosClient(secrets, { roles: [role], lifetimeMs: 3_600_000, now: new Date() })

test('services, logs and events are read from the machine over mutual TLS', async () => {
  const services = (await operator.call(serverServices, { params })).answer!.items
  expect(services.map((s) => s.id)).toEqual(
    expect.arrayContaining(['apid', 'machined', 'etcd', 'kubelet']),
  )
  const log = await operator.call(serverLogs, { params, query: { service: 'machined', tail: 20 } })
  expect(log.status).toBe(200)
  expect(log.text.length).toBeGreaterThan(0)
  const events = (await operator.call(serverEvents, { params })).answer!
  expect(events.talos).toEqual({ ok: true, reason: null })
  expect(events.items.find((e) => e.source === 'talos' && e.type === 'stage')).toMatchObject({
    message: expect.stringContaining('The server is running'),
    at: expect.stringMatching(/^20\d\d-/),
  })
})

test('how much of the server is in use is read as counters that grow', async () => {
  const keys = await mint('os:reader')
  const connection = await servers.connection(id)
  const usage = () => connection.secure(keys, (client) => client.usage())
  // Right after its boot, the machine has counted whole bytes of nothing yet.
  await expect.poll(async () => Object.values(await usage()).every((n) => n > 0)).toBe(true)
  const first = await usage()
  await expect.poll(async () => (await usage()).sentBytes).toBeGreaterThan(first.sentBytes)
})

test("the kernel's log can be read from every Talos version", async () => {
  const machine = simulator.servers[0]!
  const kernelLog = (tail = 500) =>
    operator.call(serverLogs, { params, query: { service: 'kernel', tail } })
  expect((await kernelLog()).text).toContain('[talos] install sequence:')
  const { db } = backend.platform
  const minor = vi.spyOn(machine, 'talosMinor', 'get').mockReturnValue(12)
  await db.updateTable('server').set({ talos_version: 'v1.12.11' }).where('id', '=', id).execute()
  const whole = (await kernelLog(2_000)).text.trimEnd().split('\n')
  expect(whole.join('\n')).toContain('[talos] install sequence:')
  for (const tail of [1, 3])
    expect((await kernelLog(tail)).text.trimEnd().split('\n')).toEqual(whole.slice(-tail))
  minor.mockRestore()
  await db.updateTable('server').set({ talos_version: 'v1.14.1' }).where('id', '=', id).execute()
})

test('a request for a log that does not exist returns 404', async () => {
  for (const follow of ['true', 'false'] as const) {
    const log = await operator.call(serverLogs, {
      params,
      query: { service: 'nothing', tail: 20, follow },
    })
    expect(log).toMatchObject({
      status: 404,
      problem: {
        code: 'not_found',
        error: expect.stringMatching(
          / has no log of "nothing": nothing of that name has run since it started$/,
        ),
      },
    })
  }
})

test("a join token in a machine's log is masked", async () => {
  const token = `sy-join-${'k7'.repeat(11)}`
  const said = `fetching machine config from: "http://steelyard/join/${token}?uuid=1"`
  const { journal } = simulator.servers[0]!
  journal.log('machined', said)
  journal.event(ConfigLoadErrorEventSchema, { error: `failed: ${said}` })
  const viewer = await backend.signIn({ role: 'viewer' })
  const log = await viewer.call(serverLogs, { params, query: { service: 'machined', tail: 20 } })
  expect(log.text).toContain('fetching machine config from: "http://steelyard/join/…?uuid=1"')
  const events = (await viewer.call(serverEvents, { params })).answer!
  expect(events.items.find((e) => e.type === 'configuration')).toMatchObject({
    message: expect.stringContaining('/join/…?uuid=1'),
  })
  expect(JSON.stringify([log.text, events])).not.toContain(token)
})

test('each download issues a new talosconfig, but only to users with the scope', async () => {
  const file = await operator.call(serverTalosconfig, { params })
  expect(file.headers['content-disposition']).toContain('talosconfig-')
  expect(file.text).toContain('context: alone')
  expect(file.text).toContain(simulator.servers[0]!.plan.address)
  const viewer = await backend.signIn({ role: 'viewer' })
  expect((await viewer.call(serverTalosconfig, { params })).status).toBe(403)
})

test("a server in a cluster can't be renamed or removed", async () => {
  expect(await operator.call(serverUpdate, { params, body: { name: 'other' } })).toMatchObject({
    status: 409,
    problem: { code: 'name_fixed', error: 'The name is fixed while the server is in a cluster' },
  })
  expect(await operator.call(serverRemove, { params })).toMatchObject({
    status: 409,
    problem: { code: 'server_in_cluster' },
  })
})

test('a patch on a server in a cluster is checked by a dry run of Talos, and applied when it is saved', async () => {
  const machine = simulator.servers[0]!
  const body = 'machine:\n  sysctls:\n    vm.swappiness: "7"\n'
  const preview = (await operator.call(patchPreview, { params, body: { body } })).answer!
  expect(preview).toMatchObject({ errors: [], verdict: { kind: 'no_reboot' } })
  expect(preview.diff.after).toContain('vm.swappiness: "7"')
  expect(preview.diff.after).not.toContain(secrets.trustdInfo.token)
  expect(machine.config!.text).not.toContain('vm.swappiness')
  const rebooting = (
    await operator.call(patchPreview, {
      params,
      body: {
        body: 'apiVersion: v1alpha1\nkind: SecurityProfileConfig\nworkloadIsolation: false\n',
      },
    })
  ).answer!
  expect(rebooting.verdict.kind).toBe('reboot')
  const made = await operator.call(patchCreate, { params, body: { name: 'swap', body } })
  expect(made.status).toBe(201)
  await backend.engine.settle()
  expect(machine.config!.text).toContain('vm.swappiness: "7"')
  await backend.publish()
  const events = (await operator.call(serverEvents, { params })).answer!.items.map((e) => e.type)
  expect(events).toEqual(expect.arrayContaining(['patch.created', 'server.configured']))
  await operator.call(patchRemove, { params: { id, patchId: made.answer!.patch_id } })
  await backend.engine.settle()
  expect(machine.config!.text).not.toContain('vm.swappiness')
})

test('adding the address of a server in a managed cluster succeeds with the result "already registered"', async () => {
  const { db } = backend.platform
  const addAgain = async () => {
    const { answer } = await operator.call(serverAdd, {
      body: { addresses: [simulator.servers[0]!.plan.address] },
    })
    return untilEnded(answer!.operation.id)
  }
  const setReachable = (reachable: boolean) =>
    db
      .updateTable('server')
      .set({ reachable, version: sql`version + 1` })
      .where('id', '=', id)
      .execute()
  await setReachable(true)
  const { name } = (await operator.call(serverGet, { params })).answer!
  expect(await addAgain()).toMatchObject({
    status: 'done',
    reason: '0 servers found, 1 listed already',
    steps: [
      { status: 'skipped', reason: `Listed already as ${name}, in the cluster alone`, node_id: id },
    ],
  })
  // While the listed server is unreachable, another machine may have its address, so the step
  // fails.
  await setReachable(false)
  expect(await addAgain()).toMatchObject({
    status: 'failed',
    steps: [{ status: 'failed', reason: expect.stringContaining('only its cluster may query it') }],
  })
  await setReachable(true)
})

test('a reboot is sent once and followed until the server runs again, and a second reboot meanwhile is refused', async () => {
  const machine = simulator.servers[0]!
  const bootId = machine.bootId
  const { answer } = await operator.call(serverCommands.serverReboot, { params })
  expect((await operator.call(serverGet, { params })).answer!.operation_id).toBe(
    answer!.operation.id,
  )
  expect(await operator.call(serverCommands.serverShutdown, { params })).toMatchObject({
    status: 409,
    problem: { code: 'operation_running' },
  })
  const ended = await untilEnded(answer!.operation.id)
  expect(ended).toMatchObject({
    status: 'done',
    steps: [
      { key: 'command', status: 'done' },
      { key: 'back', status: 'done' },
    ],
  })
  expect(machine.bootId).not.toBe(bootId)
  expect((await operator.call(serverGet, { params })).answer!.operation_id).toBeNull()
})

test('if a process dies after it sent a reboot, another process follows that reboot and does not send a second one', async () => {
  const { reboots } = simulator.servers[0]!.disk.state.counters
  const { operation: told } = (await operator.call(serverCommands.serverReboot, { params })).answer!
  const at = new Date(backend.clock.now())
  const effect = {
    queue: commandQueue,
    key: id,
    name: `serverReboot/${told.id}`,
    attempts: 1,
    fence: 1,
    intent_at: at,
    done_at: at,
    error: null,
  }
  await backend.platform.db.insertInto('effect').values(effect).execute()
  // The server was back before the next contact.
  await backend.engine.run(70_000)
  expect(await untilEnded(told.id)).toMatchObject({ status: 'done' })
  expect(simulator.servers[0]!.disk.state.counters.reboots).toBe(reboots)
})

test('a retried command does not interrupt another operation on the server', async () => {
  const { db } = backend.platform
  const { operations } = backend.domains
  const { operation: failed } = (await operator.call(serverCommands.serverReboot, { params }))
    .answer!
  const deletion = await db.transaction().execute(async (tx) => {
    await operations.set(tx, failed.id, { status: 'failed', reason: 'It did not answer' })
    const other = await operations.create(tx, system, {
      kind: 'clusterDelete',
      target: { id: clusterId, name: 'alone' },
      steps: [],
      queue: 'none',
    })
    await servers.hold(tx, id, other.id)
    return other
  })
  const { reboots } = simulator.servers[0]!.disk.state.counters
  await operator.call(operationRetry, { params: { id: failed.id } })
  expect(await untilEnded(failed.id)).toMatchObject({
    status: 'failed',
    reason: expect.stringContaining('Another operation runs on'),
  })
  expect((await operator.call(serverGet, { params })).answer!.operation_id).toBe(deletion.id)
  expect(simulator.servers[0]!.disk.state.counters.reboots).toBe(reboots)
  await db.transaction().execute(async (tx) => {
    await operations.set(tx, deletion.id, { status: 'failed' })
    await servers.hold(tx, id, null)
  })
})

test('a reboot with unknown result fails if the server is not seen to restart', async () => {
  const { bootId } = simulator.servers[0]!
  const { id: operationId } = (await operator.call(serverCommands.serverReboot, { params })).answer!
    .operation
  const begun = {
    fence: 0,
    attempts: 1,
    intent_at: new Date(backend.clock.now()),
    done_at: null,
    failed_at: null,
    error: null,
  }
  await backend.platform.db
    .insertInto('effect')
    .values({ queue: commandQueue, key: id, name: `serverReboot/${operationId}`, ...begun })
    .execute()
  await backend.engine.run(70_000)
  const ended = await operation(operationId)
  expect(ended).toMatchObject({
    status: 'failed',
    reason: expect.stringContaining('may never have received the command') as string,
  })
  expect(ended.steps.map((s) => s.status)).toEqual(['failed', 'todo'])
  expect(simulator.servers[0]!.bootId).toBe(bootId)
  expect((await operator.call(serverGet, { params })).answer!.operation_id).toBeNull()
  await operator.call(operationRetry, { params: { id: operationId } })
  expect(await untilEnded(operationId)).toMatchObject({ status: 'done' })
  expect(simulator.servers[0]!.bootId).not.toBe(bootId)
})

test('a single contact without a response does not count as a reboot', async () => {
  const machine = simulator.servers[0]!
  const { bootId } = machine
  // Both the request and its response are lost, so the machine never restarts.
  await addFault(machine, { kind: 'lost-reply', method: 'Get', times: 1 })
  const { id: operationId } = (await operator.call(serverCommands.serverReboot, { params })).answer!
    .operation
  const begun = {
    fence: 0,
    attempts: 1,
    intent_at: new Date(backend.clock.now()),
    done_at: null,
    failed_at: null,
    error: null,
  }
  await backend.platform.db
    .insertInto('effect')
    .values({ queue: commandQueue, key: id, name: `serverReboot/${operationId}`, ...begun })
    .execute()
  await backend.engine.run(70_000)
  expect(machine.disk.state.faults.some((fault) => fault.kind === 'lost-reply')).toBe(false)
  expect(await operation(operationId)).toMatchObject({
    status: 'failed',
    reason: expect.stringContaining('may never have received the command') as string,
  })
  expect(machine.bootId).toBe(bootId)
})

const survived = machineCommandKinds.filter((kind) => machineCommands[kind].until !== 'off')
test.each(survived)(
  'a simulated machine carries out %s, and the operation ends',
  async (kind) => {
    const { answer } = await operator.call(serverCommands[kind], { params })
    expect(await untilEnded(answer!.operation.id)).toMatchObject({
      kind,
      status: 'done',
      reason: null,
      steps: [{ status: 'done' }, { status: 'done' }],
    })
    expect((await operator.call(serverGet, { params })).answer!.operation_id).toBeNull()
  },
  40_000,
)

test('a restart of the kubelet ends when the kubelet is healthy again, without a reboot', async () => {
  const machine = simulator.servers[0]!
  const { bootId } = machine
  const restarts = () =>
    machine.services.get('kubelet')!.events.filter((e) => e.state === 'Stopping').length
  const before = restarts()
  const { answer } = await operator.call(serverCommands.serverRestartKubelet, { params })
  expect(await untilEnded(answer!.operation.id)).toMatchObject({
    status: 'done',
    steps: [{ status: 'done' }, { key: 'kubelet', status: 'done' }],
  })
  expect(restarts()).toBe(before + 1)
  expect(machine.bootId).toBe(bootId)
  await backend.publish()
  const events = (await operator.call(serverEvents, { params })).answer!.items
  expect(events.find((e) => e.type === 'server.kubelet_restart_requested')).toMatchObject({
    message: 'A restart of the kubelet was requested',
  })
})

test("if other hardware answers at the address of a cluster's server, nothing is sent to it", async () => {
  const stranger = await buildServer(backend, { address: simulator.servers[0]!.plan.address })
  const connection = await servers.connection(stranger)
  const keys = await mint('os:admin')
  let told = false
  const tell = connection.secure(keys, async () => {
    told = true
  })
  await expect(tell).rejects.toMatchObject({ code: 'identity_changed' })
  expect(told).toBe(false)
  expect((await operator.call(serverGet, { params: { id: stranger } })).answer).toMatchObject({
    identity: { state: 'changed', seen: simulator.servers[0]!.disk.identity },
    talos: { reachable: false },
  })
})

test("a user whose query meets other hardware finds the alarm on the server's page, and the machine is asked nothing more", async () => {
  const machine = simulator.servers[1]!
  const stranger = await buildServer(backend, {
    address: machine.plan.address,
    talos_version: machine.talosVersion,
  })
  const asked = await operator.call(serverServices, { params: { id: stranger } })
  expect(asked).toMatchObject({
    status: 503,
    problem: {
      code: 'server_unreachable',
      error: expect.stringMatching(/^Other hardware than that of /),
    },
  })
  const shown = (await operator.call(serverGet, { params: { id: stranger } })).answer!
  expect(shown.identity).toMatchObject({
    state: 'changed',
    seen: machine.disk.identity,
    note: expect.stringContaining('Nothing is sent to it'),
  })
  // Once the alarm is raised, nothing asks the machine again.
  expect(await operator.call(serverServices, { params: { id: stranger } })).toMatchObject({
    status: 503,
    problem: { code: 'server_unreachable' },
  })
  expect((await operator.call(serverGet, { params: { id: stranger } })).answer!.version).toBe(
    shown.version,
  )
})

test('a shutdown ends when the server is off, and later calls report that the server is off', async () => {
  const machine = simulator.servers[0]!
  const told = await followEvents(backend, operator, id)
  simulator.clock.setSpeed(MIN_SPEED)
  const { answer } = await operator.call(serverCommands.serverShutdown, { params })
  await backend.engine.settle()
  // A single unanswered contact doesn't show that the server is off; the cause may be the network.
  await addFault(machine, { kind: 'refuse', port: 'apid' })
  await backend.engine.run(2_000)
  expect(await operation(answer!.operation.id)).toMatchObject({
    status: 'running',
    steps: [{ status: 'done' }, { key: 'off', status: 'waiting' }],
  })
  expect(machine.isOn).toBe(true)
  await clearFaults(machine)
  simulator.clock.setSpeed(200)
  expect(await untilEnded(answer!.operation.id)).toMatchObject({
    status: 'done',
    steps: [{ status: 'done' }, { key: 'off', status: 'done' }],
  })
  expect(await told()).toContain('The server is running')
  expect(await operator.call(serverServices, { params })).toMatchObject({
    status: 503,
    problem: { code: 'server_unreachable' },
  })
  expect((await operator.call(serverEvents, { params })).answer!.talos).toMatchObject({
    ok: false,
    reason: expect.stringContaining('does not answer'),
  })
})

test('a patch for a silent server is refused with the reason', async () => {
  const refused = await operator.call(patchCreate, {
    params,
    body: { name: 'late', body: 'machine:\n  sysctls:\n    a.b: "1"\n' },
  })
  expect(refused).toMatchObject({
    status: 503,
    problem: {
      code: 'server_unreachable',
      error: expect.stringContaining('did not answer a dry run: connection refused') as string,
    },
  })
  expect((await operator.call(patchList, { params })).answer!.total).toBe(2)
})

test('without servers:write, a preview is merged by Steelyard only, without a dry run on the machine', async () => {
  const viewer = await backend.signIn({ role: 'viewer' })
  const body = 'machine:\n  sysctls:\n    a.b: "1"\n'
  const verdictFor = async (who: typeof viewer) =>
    (await who.call(patchPreview, { params, body: { body } })).answer!
  // An earlier test has shut the server down.
  expect((await verdictFor(operator)).verdict).toMatchObject({
    kind: 'unknown',
    reason: expect.stringContaining('did not answer a dry run') as string,
  })
  const preview = await verdictFor(viewer)
  expect(preview.verdict).toMatchObject({
    kind: 'unknown',
    reason: expect.stringContaining(
      'made no dry run: only patches of users who may change servers',
    ) as string,
  })
  expect(preview.diff.after).toContain('a.b: "1"')
})

test('a command to a silent server fails with the reason', async () => {
  const { answer } = await operator.call(serverCommands.serverReboot, { params })
  const ended = await untilEnded(answer!.operation.id)
  expect(ended).toMatchObject({
    status: 'failed',
    reason: expect.stringContaining('connection refused'),
  })
  expect(ended.steps[0]).toMatchObject({ status: 'failed' })
})
