import { once } from 'node:events'
import { gzipSync } from 'node:zlib'
import { create, toBinary } from '@bufbuild/protobuf'
import { anyPack, EmptySchema, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError } from '@connectrpc/connect'
import { describe, expect, test } from 'vitest'
import { DataSchema } from '../proto/gen/common/common_pb.ts'
import { ResourceSchema } from '../proto/gen/cosi/resource_pb.ts'
import { EventType, State } from '../proto/gen/cosi/state_pb.ts'
import { RuntimeMachineStage } from '../proto/gen/definitions/enums_pb.ts'
import {
  MachineStatusSpecSchema,
  UnmetConditionSchema,
} from '../proto/gen/definitions/runtime_pb.ts'
import {
  EventSchema,
  MachineService,
  MachineStatusEventSchema,
} from '../proto/gen/machine/machine_pb.ts'
import { usePeers } from '../testing/peers.ts'
import { resources } from './resources.ts'

const { now, maintenance } = usePeers()

describe('calls', () => {
  test('errors keep Talos’s message and have a kind', async () => {
    const codes = [
      [Code.PermissionDenied, 'permission_denied'],
      [Code.Unauthenticated, 'permission_denied'],
      [Code.Unimplemented, 'unimplemented'],
      [Code.InvalidArgument, 'invalid_argument'],
      [Code.FailedPrecondition, 'failed_precondition'],
      [Code.AlreadyExists, 'already_exists'],
      [Code.NotFound, 'not_found'],
      [Code.Unavailable, 'unavailable'],
      [Code.Unknown, 'other'],
    ] as const
    for (const [code, kind] of codes) {
      const { client } = await maintenance((router) =>
        router.service(MachineService, {
          bootstrap: () => {
            throw new ConnectError('etcd data directory is not empty\u001b[31m', code)
          },
        }),
      )
      await expect(client.bootstrap()).rejects.toMatchObject({
        kind,
        message: 'etcd data directory is not empty\ufffd[31m',
      })
    }
  })

  test('a machine that knows no control plane of its cluster is no refusal, and the reason says what to do', async () => {
    const { client } = await maintenance((router) =>
      router.service(MachineService, {
        etcdRemoveMemberByID: () => {
          throw new ConnectError(
            'failed to create etcd client: no controlplane endpoints discovered yet',
            Code.Unknown,
          )
        },
      }),
    )
    await expect(client.etcdRemoveMember('1')).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('turn discovery on') as string,
    })
  })

  test('an error inside an answer is thrown', async () => {
    const { client } = await maintenance((router) =>
      router.service(MachineService, {
        bootstrap: () => ({ messages: [{ metadata: { error: 'no such node' } }] }),
      }),
    )
    await expect(client.bootstrap()).rejects.toMatchObject({
      kind: 'other',
      message: 'no such node',
    })
  })

  test('a configuration is sent byte for byte, with an explicit mode', async () => {
    const seen: unknown[] = []
    const { client } = await maintenance((router) =>
      router.service(MachineService, {
        applyConfiguration: (r) => {
          seen.push([Buffer.from(r.data).toString(), r.mode, r.dryRun])
          return {
            messages: [
              { mode: 2, warnings: ['w'], modeDetails: 'Applied configuration without a reboot' },
            ],
          }
        },
      }),
    )
    const yaml = 'version: v1alpha1 # ü\n'
    expect(await client.applyConfiguration(yaml, { mode: 'auto' })).toEqual({
      mode: 'no-reboot',
      warnings: ['w'],
      details: 'Applied configuration without a reboot',
    })
    await client.applyConfiguration(yaml, { mode: 'no-reboot', dryRun: true })
    expect(seen).toEqual([
      [yaml, 1, false],
      [yaml, 2, true],
    ])
  })

  test('the refusal of a change that needs a restart does not contain the difference, which has secrets', async () => {
    const { client } = await maintenance((router) =>
      router.service(MachineService, {
        applyConfiguration: () => {
          throw new ConnectError(
            "this config change can't be applied in immediate mode\ndiff: +  token: abcdef.secret",
            Code.InvalidArgument,
          )
        },
      }),
    )
    const refused: unknown = await client
      .applyConfiguration('', { mode: 'no-reboot' })
      .catch((error: unknown) => error)
    expect(refused).toMatchObject({
      kind: 'invalid_argument',
      message: "this config change can't be applied in immediate mode",
    })
    expect((refused as Error).cause).toBeUndefined()
  })

  test('a reset names exactly what to wipe', async () => {
    let seen: unknown
    const { client } = await maintenance((router) =>
      router.service(MachineService, {
        reset: (r) => (
          (seen = [
            r.graceful,
            r.reboot,
            r.mode,
            r.systemPartitionsToWipe.map((p) => [p.label, p.wipe]),
            r.userDisksToWipe,
          ]),
          { messages: [{ actorId: 'a-1' }] }
        ),
      }),
    )
    expect(
      await client.reset({
        graceful: false,
        reboot: true,
        systemPartitions: ['STATE', 'EPHEMERAL'],
        userDisks: ['/dev/sdb'],
      }),
    ).toEqual({ actorId: 'a-1' })
    expect(seen).toEqual([
      false,
      true,
      0,
      [
        ['STATE', true],
        ['EPHEMERAL', true],
      ],
      ['/dev/sdb'],
    ])
  })

  test('etcd members keep their 64-bit ids', async () => {
    const id = 2n ** 64n - 1n
    let removed = 0n
    const { client } = await maintenance((router) =>
      router.service(MachineService, {
        // Talos asks the machine's own etcd only with this flag.
        etcdMemberList: ({ queryLocal }) => ({
          messages: [
            {
              members: queryLocal
                ? [{ id, hostname: 'cp-1', peerUrls: ['https://10.0.0.1:2380'] }]
                : [],
            },
          ],
        }),
        etcdRemoveMemberByID: (r) => ((removed = r.memberId), { messages: [{}] }),
      }),
    )
    const [member] = await client.etcdMembers()
    expect(member).toEqual({
      id: '18446744073709551615',
      hostname: 'cp-1',
      peerUrls: ['https://10.0.0.1:2380'],
      clientUrls: [],
      learner: false,
    })
    await client.etcdRemoveMember(member!.id)
    expect(removed).toBe(id)
  })

  test('services are listed with their health and recent history', async () => {
    const before = new Date(now.getTime() - 60_000)
    const { client } = await maintenance((router) =>
      router.service(MachineService, {
        serviceList: () => ({
          messages: [
            {
              services: [
                {
                  id: 'etcd',
                  state: 'Preparing',
                  health: { unknown: true },
                  events: {
                    events: [
                      { msg: 'Starting service', ts: timestampFromDate(before) },
                      { msg: 'Running pre state', ts: timestampFromDate(now) },
                    ],
                  },
                },
                { id: 'apid', state: 'Running', health: { healthy: true, lastMessage: 'ok' } },
              ],
            },
          ],
        }),
      }),
    )
    expect(await client.services()).toEqual([
      {
        id: 'etcd',
        state: 'Preparing',
        healthy: undefined,
        message: '',
        startedAt: before,
        lastEvent: { message: 'Running pre state', at: now },
      },
      {
        id: 'apid',
        state: 'Running',
        healthy: true,
        message: 'ok',
        startedAt: undefined,
        lastEvent: undefined,
      },
    ])
  })

  test('the kubeconfig is extracted from an unterminated tar', async () => {
    const content = 'apiVersion: v1\nkind: Config\n'
    const header = Buffer.alloc(512)
    header.write('kubeconfig', 0)
    header.write(content.length.toString(8).padStart(11, '0'), 124)
    const archive = gzipSync(Buffer.concat([header, Buffer.from(content)]))
    const send = async function* (bytes: Buffer) {
      yield create(DataSchema, { bytes: bytes.subarray(0, 10) })
      yield create(DataSchema, { bytes: bytes.subarray(10) })
    }
    const { client } = await maintenance((router) =>
      router.service(MachineService, { kubeconfig: () => send(archive) }),
    )
    expect(await client.kubeconfig()).toBe(content)
    const bad = await maintenance((router) =>
      router.service(MachineService, { kubeconfig: () => send(gzipSync(header)) }),
    )
    await expect(bad.client.kubeconfig()).rejects.toMatchObject({ kind: 'invalid_data' })
    const garbage = await maintenance((router) =>
      router.service(MachineService, { kubeconfig: () => send(Buffer.alloc(100)) }),
    )
    await expect(garbage.client.kubeconfig()).rejects.toMatchObject({ kind: 'invalid_data' })
    const bomb = await maintenance((router) =>
      router.service(MachineService, {
        kubeconfig: () => send(gzipSync(Buffer.alloc(64 * 1024 ** 2))),
      }),
    )
    await expect(bomb.client.kubeconfig()).rejects.toMatchObject({ kind: 'invalid_data' })
  })
})

describe('streams', () => {
  const status = (stage: RuntimeMachineStage) =>
    create(ResourceSchema, {
      metadata: {
        type: resources.machineStatus.type,
        id: 'machine',
        version: '1',
        phase: 'running',
      },
      spec: {
        protoSpec: toBinary(
          MachineStatusSpecSchema,
          create(MachineStatusSpecSchema, {
            stage,
            status: {
              ready: stage === RuntimeMachineStage.MACHINE_STAGE_RUNNING,
              unmetConditions: [
                create(UnmetConditionSchema, { name: 'services', reason: 'etcd not running' }),
              ],
            },
          }),
        ),
      },
    })

  test('a watch sends the current resources and their changes', async () => {
    const { client } = await maintenance((router) =>
      router.service(State, {
        async *watch(request) {
          expect(request).toMatchObject({ namespace: 'runtime', id: 'machine', apiVersion: 1 })
          yield {}
          yield {
            event: [
              {
                eventType: EventType.CREATED,
                resource: status(RuntimeMachineStage.MACHINE_STAGE_BOOTING),
              },
            ],
          }
          yield {
            event: [
              {
                eventType: EventType.UPDATED,
                resource: status(RuntimeMachineStage.MACHINE_STAGE_RUNNING),
              },
            ],
          }
          yield { event: [{ eventType: EventType.ERRORED, error: 'buffer overrun' }] }
        },
      }),
    )
    const seen: unknown[] = []
    const read = async () => {
      for await (const { resource } of client.watch(resources.machineStatus, { id: 'machine' }))
        seen.push([resource!.spec.stage, resource!.spec.status?.ready])
    }
    await expect(read()).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'the watch ended: buffer overrun',
    })
    expect(seen).toEqual([
      [RuntimeMachineStage.MACHINE_STAGE_BOOTING, false],
      [RuntimeMachineStage.MACHINE_STAGE_RUNNING, true],
    ])
  })

  test('the watch of a kind reports when all existing resources have been sent', async () => {
    const { client } = await maintenance((router) =>
      router.service(State, {
        async *watch() {
          yield {}
          yield {
            event: [
              {
                eventType: EventType.CREATED,
                resource: status(RuntimeMachineStage.MACHINE_STAGE_MAINTENANCE),
              },
              { eventType: EventType.BOOTSTRAPPED },
              {
                eventType: EventType.DESTROYED,
                resource: create(ResourceSchema, { metadata: { id: 'machine' }, spec: {} }),
              },
            ],
          }
        },
      }),
    )
    const seen = (await Array.fromAsync(client.watch(resources.machineStatus))).map((e) => [
      e.type,
      e.resource?.id,
    ])
    expect(seen).toEqual([
      ['created', 'machine'],
      ['bootstrapped', undefined],
      ['destroyed', undefined],
    ])
  })

  test('if the client stops reading a stream, the stream ends on the server', async () => {
    let ended = false
    const { client } = await maintenance((router) =>
      router.service(MachineService, {
        async *logs(_, context) {
          context.signal.addEventListener('abort', () => (ended = true))
          yield { bytes: Buffer.from('line\n') }
          if (!context.signal.aborted) await once(context.signal, 'abort')
        },
      }),
    )
    for await (const chunk of client.logs({ service: 'etcd', follow: true })) {
      expect(Buffer.from(chunk).toString()).toBe('line\n')
      break
    }
    await expect.poll(() => ended).toBe(true)
  })

  test('a stream without a first message times out', async () => {
    const { client } = await maintenance(
      (router) =>
        router.service(State, {
          async *watch() {
            await new Promise(() => {})
            yield {}
          },
        }),
      2_000,
    )
    await expect(Array.fromAsync(client.watch(resources.machineStatus))).rejects.toMatchObject({
      kind: 'timeout',
      message: 'did not answer within 2 s',
    })
  })

  test('a stream may be silent after its first message', async () => {
    const { client } = await maintenance(
      (router) =>
        router.service(State, {
          async *watch() {
            yield {}
            await new Promise((r) => setTimeout(r, 3_000))
            yield {
              event: [
                {
                  eventType: EventType.CREATED,
                  resource: status(RuntimeMachineStage.MACHINE_STAGE_RUNNING),
                },
              ],
            }
          },
        }),
      2_000,
    )
    expect(await Array.fromAsync(client.watch(resources.machineStatus))).toHaveLength(1)
  })

  test('an error inside a log ends the log', async () => {
    const { client } = await maintenance((router) =>
      router.service(MachineService, {
        async *logs() {
          yield { bytes: Buffer.from('a') }
          yield { metadata: { error: 'log "x" was not registered' } }
        },
      }),
    )
    await expect(Array.fromAsync(client.logs({ service: 'x' }))).rejects.toMatchObject({
      kind: 'other',
      message: 'log "x" was not registered',
    })
  })

  test('the type of an event is the name after the last slash of its URL', async () => {
    const status = create(MachineStatusEventSchema, { stage: 2, status: { ready: true } })
    const event = (typeUrl: string, value: Uint8Array) =>
      create(EventSchema, { id: 'c1', actorId: 'a1', data: { typeUrl, value } })
    const { client } = await maintenance((router) =>
      router.service(MachineService, {
        async *events(request) {
          expect(request.tailEvents).toBe(-1)
          yield create(EventSchema, {})
          yield event(
            'talos/runtime/machine.MachineStatusEvent',
            toBinary(MachineStatusEventSchema, status),
          )
          yield event('talos/runtime/machine.SomethingNew', new Uint8Array([1, 2, 3]))
          yield create(EventSchema, { data: anyPack(EmptySchema, create(EmptySchema)) })
          yield event('talos/runtime/machine.MachineStatusEvent', new Uint8Array([255]))
        },
      }),
    )
    const seen: unknown[] = []
    const read = async () => {
      for await (const e of client.events({ tail: -1 })) seen.push(e)
    }
    await expect(read()).rejects.toMatchObject({
      kind: 'invalid_data',
      message: 'server sent invalid data (event machine.MachineStatusEvent)',
    })
    expect(seen).toEqual([
      {
        id: 'c1',
        actorId: 'a1',
        kind: 'machine_status',
        stage: 'installing',
        ready: true,
        unmet: [],
      },
      { id: 'c1', actorId: 'a1', kind: 'other', type: 'machine.SomethingNew' },
      { id: '', actorId: '', kind: 'other', type: 'google.protobuf.Empty' },
    ])
  })
})
