import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import type { Caller } from '../../tools/api-client.ts'
import { effectPoints, momentPoints } from './testing/points.ts'
import type { Program } from './testing/processes.ts'
import { create, dismiss, ended, findings, openSite, signIn } from './testing/world.ts'

// `npm run faults` sets more seeds and rounds; one is replayed with FAULT_SEEDS=7 FAULT_MOMENTS=1.
const seeds = (process.env['FAULT_SEEDS'] ?? '1').split(',').map(Number)
const moments = Number(process.env['FAULT_MOMENTS'] ?? '2')
const rounds = Number(process.env['FAULT_ROUNDS'] ?? '1')
const points = [...Array.from({ length: rounds }, () => effectPoints).flat(), ...seeds.flatMap((seed) => momentPoints(seed, moments))]

const site = await openSite({ servers: points.length * 5, seed: `kill-${seeds.join('-')}` })
afterAll(() => site.stop())

let program: Program = await site.start()
let call: Caller = await signIn(program.url)

for (const [number, { name, failpoint, afterMs }] of points.entries()) {
  test(`killed −9 ${name}: the cluster is ready all the same`, async () => {
    const nodes = await site.take(call, 5)
    await program.kill()
    const setting = failpoint(nodes)
    const doomed = await site.start(setting === undefined ? {} : { FAILPOINT: setting })
    call = await signIn(doomed.url)
    const { cluster, operation } = await create(call, site, `kill-${number}`, nodes)
    if (setting === undefined) {
      await pause(afterMs)
      await doomed.kill()
    }
    const how = await Promise.race([doomed.ended, pause(30_000).then(() => 'not reached')])
    expect({ setting, how }).toEqual({ setting, how: 'SIGKILL' })

    program = await site.start()
    call = await signIn(program.url)
    const end = await ended(call, operation.id)
    expect(await findings(call, site, cluster.id, nodes, end)).toEqual([])
    await dismiss(call, site, cluster.id, nodes)
  })
}
