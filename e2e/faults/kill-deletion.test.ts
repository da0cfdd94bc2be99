import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { clusterDelete } from '#contract/clusters/clusters.ts'
import { serverGet } from '#contract/servers/servers.ts'
import { create, ended, openSite, patiently, signIn } from './testing/world.ts'

const points = [
  { name: 'before the reset of a worker', node: 4, when: 'before' },
  { name: 'after the reset of a control plane', node: 1, when: 'after' },
  { name: 'before the reset of the last control plane', node: 0, when: 'before' },
]
const site = await openSite({ servers: points.length * 5, seed: 'kill-deletion' })
afterAll(() => site.stop())

let program = await site.start()
let call = await signIn(program.url)

for (const [number, { name, node, when }] of points.entries()) {
  test(`a cluster deletion interrupted by kill −9 ${name} ends with every server free and in maintenance`, async () => {
    const nodes = await site.take(call, 5)
    const { cluster, operation } = await create(call, site, `gone-${number}`, nodes)
    expect((await ended(call, operation.id)).status).toBe('done')
    await program.kill()
    const doomed = await site.start({ FAILPOINT: `reset/${nodes[node]!.id}:${when}` })
    call = await signIn(doomed.url)
    const deletion = await call(clusterDelete, { params: { id: cluster.id } })
    expect(await Promise.race([doomed.ended, pause(60_000).then(() => 'not reached')])).toBe(
      'SIGKILL',
    )

    program = await site.start()
    call = await signIn(program.url)
    const end = await ended(call, deletion.operation.id, 90_000)
    expect({ status: end.status, open: end.steps.filter((s) => s.status !== 'done') }).toEqual({
      status: 'done',
      open: [],
    })
    for (const { id } of nodes) {
      const server = await patiently(() => call(serverGet, { params: { id } }))
      expect(server).toMatchObject({ status: 'maintenance', cluster: null, operation_id: null })
    }
    const machines = await site.simulator.servers()
    for (const { identity } of nodes)
      expect(machines.find((m) => m.uuid.toLowerCase() === identity.uuid)!.stage).toBe(
        'maintenance',
      )
  })
}
