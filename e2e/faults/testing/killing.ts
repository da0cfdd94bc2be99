/** An installation that tests kill with −9 in the middle of its work. */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, expect } from 'vitest'
import type * as z from 'zod/mini'
import { type ClusterChangeInput, clusterChange } from '#contract/clusters/changes/changes.ts'
import type { Operation } from '#contract/operations.ts'
import type { ConfirmedDisks } from '#contract/servers/disks.ts'
import type { Caller } from '../../../tools/api-client.ts'
import type { SiteOptions } from '../processes.ts'
import { failpointFile } from './failpoint-file.ts'
import { ended, openSite, patiently, type Site, signIn } from './world.ts'

export interface Installation {
  readonly site: Site
  /** Calls the program that runs now. */
  readonly call: Caller
  /**
   * Makes the program kill itself at `point` (`FAILPOINT`), runs `act`, waits for the kill, and
   * starts the program again. With `settings` the program is first restarted; both programs get
   * them.
   */
  readonly killedAt: <T>(
    point: string,
    act: () => Promise<T>,
    settings?: Readonly<Record<string, string>>,
  ) => Promise<T>
  /**
   * The same with a kill from outside, `afterMs` after `act` has returned. Without settings the
   * program that runs now is killed.
   */
  readonly killedAfter: <T>(
    afterMs: number,
    act: () => Promise<T>,
    settings?: Readonly<Record<string, string>>,
  ) => Promise<T>
}

/** Starts a program and simulated servers. They stop when the test file ends. */
export async function startInstallation(options: SiteOptions): Promise<Installation> {
  const site = await openSite(options)
  afterAll(() => site.stop())
  // A restart for each point would cost half of the time.
  const failpoint = failpointFile(join(site.folder, 'failpoint'))
  const start = (settings: Readonly<Record<string, string>> = {}) =>
    site.start({ ...failpoint.setting, ...settings })
  let program = await start()
  let current = await signIn(program.url)
  /** Whether the program that runs now has settings of a case. */
  let isSpecial = false
  const restart = async (settings?: Readonly<Record<string, string>>) => {
    await program.kill()
    failpoint.clear()
    program = await start(settings)
    isSpecial = settings !== undefined
    current = await signIn(program.url)
  }
  /** Restarts the program if it doesn't have just these settings. */
  const runWith = async (settings?: Readonly<Record<string, string>>) => {
    if (isSpecial || settings) await restart(settings)
  }
  return {
    site,
    call: (operation, asked) => current(operation, asked),
    async killedAt(point, act, settings) {
      await runWith(settings)
      failpoint.set(point)
      const answer = await act()
      const how = await Promise.race([program.ended, pause(90_000).then(() => 'not reached')])
      expect({ point, how }).toEqual({ point, how: 'SIGKILL' })
      await restart(settings)
      return answer
    },
    async killedAfter(afterMs, act, settings) {
      await runWith(settings)
      const answer = await act()
      await pause(afterMs)
      await restart(settings)
      return answer
    },
  }
}

interface Change {
  readonly clusterId: string
  readonly change: ClusterChangeInput
  readonly confirmed_disks?: z.input<typeof ConfirmedDisks>
}

/**
 * Changes a cluster with a program that is killed at `point`, and follows the operation to its end
 * with the next program.
 */
export async function changedAt(
  { call, killedAt }: Installation,
  point: string,
  { clusterId, change, confirmed_disks = [] }: Change,
): Promise<Operation> {
  const { operation } = await killedAt(point, () =>
    patiently(() =>
      call(clusterChange, { params: { id: clusterId }, body: { change, confirmed_disks } }),
    ),
  )
  const end = await ended(call, operation.id, 150_000)
  expect({
    status: end.status,
    reason: end.reason,
    open: end.steps.filter((s) => s.status !== 'done' && s.status !== 'skipped'),
  }).toEqual({ status: 'done', reason: null, open: [] })
  return end
}
