import { createClient } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { MachineService } from '#talos/proto/gen/machine/machine_pb.ts'
import type { SecretsBundle } from '#talos/secrets/bundle.ts'
import type { Machine } from './machine/machine.ts'
import { cluster, edit, fleet, openSecure, rack, until } from './testing/fleet.ts'
import { as } from './testing/kubernetes.ts'
import { rawTransport } from './testing/transport.ts'

const TALOS = 'v1.14.1'
const run = (version: string, servers: number): object => ({ ...rack(servers), talos: [version] })
const imageOf = (machine: Machine, version: string): string =>
  `factory.talos.dev/metal-installer/${machine.schematic}:${version}`

const upgrade = async (machine: Machine, bundle: SecretsBundle, version: string): Promise<void> => {
  const { bootId } = machine
  const calls = createClient(MachineService, await rawTransport(machine.plan.address, bundle))
  await calls.upgrade({ image: imageOf(machine, version) })
  await until(
    'the machine is back',
    () => machine.bootId !== bootId && machine.stage.stage === 'running' && machine.stage.ready,
  )
}

test('machines of Talos 1.14 are installed by a document while they boot, and become a cluster of Kubernetes 1.37', async () => {
  const simulator = await fleet({ scenario: run(TALOS, 3) })
  const { bundle, controlPlanes, workers } = await cluster(simulator, 1, 2)
  const [machine] = controlPlanes as [Machine]
  expect(machine.config!.text).toContain('kind: UnattendedInstallConfig')
  const client = await openSecure(machine, bundle)
  expect((await client.version()).tag).toBe(TALOS)
  expect(simulator.servers.map(({ disk }) => disk.state.counters)).toMatchObject([
    { boots: 1, installs: 1, bootstraps: 1 },
    { boots: 1, installs: 1 },
    { boots: 1, installs: 1 },
  ])
  const ask = await as(bundle, machine.plan.address)
  expect((await ask('GET', '/version')).body).toMatchObject({ gitVersion: 'v1.37.0' })
  expect((await ask('GET', `/api/v1/nodes/${machine.hostname}`)).body).toMatchObject({
    metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } },
    spec: { taints: [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }] },
    status: { nodeInfo: { osImage: 'Talos (v1.14.1)', kubeletVersion: 'v1.37.0' } },
  })
  expect((await ask('GET', `/api/v1/nodes/${workers[0]!.hostname}`)).body).not.toMatchObject({
    metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } },
  })
})

test('a running machine of Talos 1.13 is upgraded to 1.14 with its configuration, and Kubernetes follows', async () => {
  const simulator = await fleet({ scenario: run('v1.13.9', 1) })
  const { bundle, controlPlanes } = await cluster(simulator, 1, 0)
  const [machine] = controlPlanes as [Machine]
  const before = machine.config!.text
  await upgrade(machine, bundle, TALOS)
  expect(machine.config!.text).toBe(before)
  expect(machine.talosVersion).toBe(TALOS)
  await edit(machine, bundle, /:v1\.36\.3/g, ':v1.37.0')
  await until(
    'Kubernetes 1.37 runs',
    () => machine.stage.ready && machine.config!.node!.kubeletVersion === 'v1.37.0',
  )
})
