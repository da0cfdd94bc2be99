/**
 * Kills the program at given points of a cluster's creation. Each kind of point has its own test
 * file and simulated servers, so that kinds run in parallel.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import type { Caller } from '../../../tools/api-client.ts'
import type { KillPoint } from './points.ts'
import type { Program } from '../processes.ts'
import { create, dismiss, ended, findings, openSite, signIn } from './world.ts'

/** Defines a test for each point: from free servers to a ready cluster, with one kill −9. */
export async function killAtEach(points: readonly KillPoint[], seed: string): Promise<void> {
  const site = await openSite({ servers: points.length * 5, seed })
  afterAll(() => site.stop())

  let program: Program = await site.start()
  let call: Caller = await signIn(program.url)

  for (const [number, { name, failpoint, afterMs }] of points.entries()) {
    test(`cluster creation interrupted by kill −9, ${name}, ends with a ready cluster`, async () => {
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
      const how = await Promise.race([doomed.ended, pause(60_000).then(() => 'not reached')])
      expect({ setting, how }).toEqual({ setting, how: 'SIGKILL' })

      program = await site.start()
      call = await signIn(program.url)
      const end = await ended(call, operation.id)
      expect(await findings(call, site, cluster.id, nodes, end)).toEqual([])
      await dismiss(call, site, cluster.id, nodes)
    })
  }
}
