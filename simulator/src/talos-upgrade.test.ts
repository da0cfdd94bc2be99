import { createClient } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { LifecycleService, ImageService } from '#talos/proto/gen/machine/lifecycle_pb.ts'
import { MachineService } from '#talos/proto/gen/machine/machine_pb.ts'
import type { SecretsBundle } from '#talos/secrets/bundle.ts'
import { cluster, fleet, openSecure, rack, until } from './testing/fleet.ts'
import { as } from './testing/kubernetes.ts'
import { rawTransport } from './testing/transport.ts'
import { addFault } from './machine/trouble.ts'
import type { Machine } from './machine/machine.ts'

const IMAGE = 'factory.talos.dev/metal-installer'
const old = (servers: number): object => ({ ...rack(servers), talos: ['v1.13.8'] })

const calls = async (machine: Machine, bundle: SecretsBundle) =>
  createClient(MachineService, await rawTransport(machine.plan.address, bundle))
const imageOf = (machine: Machine, version: string): string =>
  `${IMAGE}/${machine.schematic}:${version}`

const backAfter = async (machine: Machine, act: () => Promise<unknown>): Promise<void> => {
  const { bootId } = machine
  await act()
  await until(
    'the machine is back',
    () => machine.bootId !== bootId && machine.stage.stage === 'running' && machine.stage.ready,
  )
}

test('an upgrade drains the node, reboots into the new version and uncordons the node; a rollback boots the old version', async () => {
  const simulator = await fleet({ scenario: old(3) })
  const { bundle, controlPlanes, workers } = await cluster(simulator, 1, 2)
  const [worker] = workers
  expect(worker!.talosVersion).toBe('v1.13.8')
  const ask = await as(bundle, controlPlanes[0]!.plan.address)
  await expect((await calls(worker!, bundle)).rollback({})).rejects.toThrow(
    'previous UKI not found',
  )
  await backAfter(worker!, async () =>
    (await calls(worker!, bundle)).upgrade({ image: imageOf(worker!, 'v1.13.9') }),
  )
  expect((await (await openSecure(worker!, bundle)).version()).tag).toBe('v1.13.9')
  const { metadata, spec, status } = (await ask('GET', `/api/v1/nodes/${worker!.hostname}`))
    .body as {
    metadata: object
    spec: { unschedulable?: boolean }
    status: object
  }
  expect(spec.unschedulable).toBeUndefined()
  expect({ metadata, status }).toMatchObject({
    metadata: { name: worker!.hostname },
    status: { nodeInfo: { osImage: 'Talos (v1.13.9)' } },
  })
  await backAfter(worker!, async () => (await calls(worker!, bundle)).rollback({}))
  expect((await (await openSecure(worker!, bundle)).version()).tag).toBe('v1.13.8')
})

test('a machine keeps its version after a failed installer and after a version that cannot boot', async () => {
  const simulator = await fleet({ scenario: old(2) })
  const { bundle, workers } = await cluster(simulator, 1, 1)
  const [worker] = workers
  for (const kind of ['fail-upgrade', 'bad-boot'] as const) {
    await addFault(worker!, { kind, times: 1 })
    await backAfter(worker!, async () =>
      (await calls(worker!, bundle)).upgrade({ image: imageOf(worker!, 'v1.13.9') }),
    )
    expect(worker!.talosVersion).toBe('v1.13.8')
    expect(worker!.disk.state.faults).toEqual([])
  }
  await backAfter(worker!, async () =>
    (await calls(worker!, bundle)).upgrade({ image: imageOf(worker!, 'v1.13.9'), stage: true }),
  )
  await until(
    'the staged version runs',
    () => worker!.talosVersion === 'v1.13.9' && worker!.stage.ready,
  )
})

test('an upgrade is refused for a missing image, and on a control plane whose etcd has too few members', async () => {
  const simulator = await fleet({ scenario: old(2) })
  const { bundle, controlPlanes } = await cluster(simulator, 2, 0)
  const [machine] = controlPlanes
  const client = await calls(machine!, bundle)
  const missing = imageOf(machine!, 'v1.13.99')
  await expect(client.upgrade({ image: missing })).rejects.toThrow(
    `error validating installer image "${missing}": failed to pull image "${missing}": failed to resolve reference "${missing}": ${missing}: not found`,
  )
  await expect(client.upgrade({ image: imageOf(machine!, 'v1.13.9') })).rejects.toThrow(
    'error validating etcd for upgrade: etcd member count(2) is insufficient to maintain quorum if upgrade commences',
  )
  await expect(client.imagePull({ namespace: 1, reference: missing })).rejects.toThrow(
    'error pulling image: failed to pull image',
  )
})

test('the lifecycle service installs a pulled image while the machine runs, and the next boot starts it', async () => {
  const simulator = await fleet({ scenario: old(2) })
  const { bundle, workers } = await cluster(simulator, 1, 1)
  const [worker] = workers
  const transport = await rawTransport(worker!.plan.address, bundle)
  const image = imageOf(worker!, 'v1.13.9')
  const upgrade = async (): Promise<number | undefined> => {
    for await (const { progress } of createClient(LifecycleService, transport).upgrade({
      source: { imageName: image },
    }))
      if (progress?.response.case === 'exitCode') return progress.response.value
    return undefined
  }
  await expect(upgrade()).rejects.toThrow('not found in containerd store')
  const pull = async () =>
    (await Array.fromAsync(createClient(ImageService, transport).pull({ imageRef: image }))).map(
      (part) => part.response.case,
    )
  expect(await pull()).toEqual([
    'pullProgress',
    'pullProgress',
    'pullProgress',
    'pullProgress',
    'pullProgress',
    'name',
  ])
  // An image that the machine has is not pulled again.
  expect(await pull()).toEqual(['name'])
  await addFault(worker!, { kind: 'fail-upgrade', times: 1 })
  expect(await upgrade()).toBe(1)
  expect(await upgrade()).toBe(0)
  expect(worker!.talosVersion).toBe('v1.13.8')
  await backAfter(worker!, async () => (await openSecure(worker!, bundle)).reboot())
  expect(worker!.talosVersion).toBe('v1.13.9')
})
