import { expect, test } from 'vitest'
import { clusterChange, clusterPlan } from '#contract/clusters/changes/changes.ts'
import { patchCreate, patchPreview } from '#contract/patches.ts'
import { clusterWorld } from '../../clusters/testing/world.ts'

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

test('a preview says what only the next Kubernetes upgrade changes, and which objects stay', async () => {
  const preview = async (body: string) =>
    (await admin.call(patchPreview, { params, body: { body } })).answer!
  const mode = await preview('cluster: {proxy: {mode: ipvs}}')
  expect(mode).toMatchObject({
    verdict: {
      kind: 'no_reboot',
      reason: `Applied on ${server!.name} without a reboot. Takes effect only with the next Kubernetes upgrade: kube-proxy`,
    },
    warnings: [{ message: expect.stringMatching('changes none that exists.*those of kube-proxy') }],
  })
  const off = await preview('cluster: {proxy: {disabled: true}}')
  expect(off.warnings.map(({ message }) => message)).toContainEqual(
    expect.stringMatching('^The objects of kube-proxy stay in Kubernetes'),
  )
})
