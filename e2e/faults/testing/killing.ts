/** An installation that tests kill with −9 in the middle of its work. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, expect } from 'vitest'
import type * as z from 'zod/mini'
import { type ClusterChangeInput, clusterChange } from '#contract/clusters/changes/changes.ts'
import type { Operation } from '#contract/operations.ts'
import type { ConfirmedDisks } from '#contract/servers/disks.ts'
import type { Caller } from '../../../tools/api-client.ts'
import type { SiteOptions } from '../processes.ts'
import { ended, openSite, patiently, type Site, signIn } from './world.ts'

export interface Installation {
  readonly site: Site
  /** Calls the program that runs now. */
  readonly call: Caller
  /**
   * Restarts the program so that it is killed at `point` (`FAILPOINT`), runs `act`, waits for the
   * kill, and starts the program again. Both programs get `settings`.
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
  let program = await site.start()
  let current = await signIn(program.url)
  const restart = async (settings: Readonly<Record<string, string>> = {}) => {
    await program.kill()
    program = await site.start(settings)
    current = await signIn(program.url)
  }
  return {
    site,
    call: (operation, asked) => current(operation, asked),
    async killedAt(point, act, settings) {
      await restart({ FAILPOINT: point, ...settings })
      const answer = await act()
      const how = await Promise.race([program.ended, pause(90_000).then(() => 'not reached')])
      expect({ point, how }).toEqual({ point, how: 'SIGKILL' })
      await restart(settings)
      return answer
    },
    async killedAfter(afterMs, act, settings) {
      if (settings) await restart(settings)
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
