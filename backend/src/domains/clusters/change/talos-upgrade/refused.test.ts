import { expect, test } from 'vitest'
import { clusterChange, clusterPlan } from '#contract/clusters/changes/changes.ts'
import { patchCreate } from '#contract/patches.ts'
import { clusterWorld } from '../../testing/world.ts'

const world = await clusterWorld({ servers: 1 })
const { admin } = world
const [server] = world.take(1)
const params = { id: server!.id }
await admin.call(patchCreate, {
  params,
  body: {
    name: 'tls',
    body: 'cluster: {apiServer: {extraArgs: {tls-min-version: VersionTLS12}}}',
  },
})
const { cluster, operation } = await world.create([server!], { talos_version: 'v1.13.8' })
await world.ended(operation.id)

test('an upgrade to a Talos that refuses an argument of a patch is refused before it begins', async () => {
  const change = { kind: 'upgradeTalos' as const, version: 'v1.14.1' }
  const asked = { params: { id: cluster.id }, body: { change } }
  const { checks } = (await admin.call(clusterPlan, asked)).answer!
  expect(checks.find((one) => one.check === 'configurations')).toEqual({
    check: 'configurations',
    ok: false,
    message: `${server!.name}: tls: The argument tls-min-version of the API server belongs to Talos since 1.14, which does not start the API server with another one: take it out. Change the patches first`,
  })
  expect(await admin.call(clusterChange, asked)).toMatchObject({
    problem: { code: 'transition_refused' },
  })
  expect(world.machine(server!).talosVersion).toBe('v1.13.8')
})
