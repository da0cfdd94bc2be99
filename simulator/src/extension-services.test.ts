/** Services of extensions, and what a machine says that it lacks. */
import { expect, test } from 'vitest'
import { cluster, fleet, openSecure, rack, until } from './testing/fleet.ts'

test('a boot waits for the service of an extension that has no configuration, and names no unmet condition', async () => {
  const simulator = await fleet({ scenario: rack(2) })
  const { id } = (await (
    await fetch(`${simulator.factory.url}/schematics`, {
      method: 'POST',
      body: 'customization: {systemExtensions: {officialExtensions: [siderolabs/tailscale, siderolabs/iscsi-tools]}}',
    })
  ).json()) as { id: string }
  const { bundle, workers } = await cluster(simulator, 1, 1)
  const worker = workers[0]!
  const client = await openSecure(worker, bundle)
  await client.upgrade({
    image: `factory.talos.dev/metal-installer/${id}:v1.13.9`,
    stage: false,
  })
  await until(
    'the node is ready while the machine boots',
    () => worker.schematic === id && worker.stage.stage === 'booting' && worker.nodeReady,
  )
  await until('iSCSI runs', () => worker.services.isUp('ext-iscsid'))
  await until('nothing is unmet', () => worker.stage.ready)
  expect(worker.stage.stage).toBe('booting')
  expect(worker.services.get('ext-tailscale')).toMatchObject({ state: 'Waiting', healthy: null })
  expect(worker.services.get('ext-tailscale')!.events.at(-1)!.message).toBe(
    'Waiting for extension service config',
  )
  const settings =
    '\n---\napiVersion: v1alpha1\nkind: ExtensionServiceConfig\nname: tailscale\nenvironment: [TS_AUTHKEY=a]\n'
  await (
    await openSecure(worker, bundle)
  ).applyConfiguration(worker.config!.text + settings, { mode: 'no-reboot' })
  await until('the boot ends', () => worker.stage.stage === 'running')
  expect(worker.services.isUp('ext-tailscale')).toBe(true)
})
