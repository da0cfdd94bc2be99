/** An installation that tests kill with −9 in the middle of its work. */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, expect } from 'vitest'
import type * as z from 'zod/mini'
import { type ClusterChangeInput, clusterChange } from '#contract/clusters/changes/changes.ts'
import { hasEnded, type Operation, operationGet } from '#contract/operations.ts'
import { operationResume } from '#contract/restoration.ts'
import type { ConfirmedDisks } from '#contract/disks/disks.ts'
import { authorize } from '#contract/sessions.ts'
import { apiClient, type Caller } from '../../../tools/api-client.ts'
import { admin, type Program, type SiteOptions } from '../processes.ts'
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
   * Makes the program kill itself in every step of the operation that `act` begins: after the step
   * has acted, and before that is recorded. A user resumes the operation whenever it is halted.
   * Returns the operation's id.
   */
  readonly killedInEachStep: (act: () => Promise<Operation>) => Promise<string>
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
  /**
   * Starts the program after a kill. It may be killed again before it is ready. An operation that is halted, because the kills hit it while nothing else ran, is resumed as a user does.
   */
  const startAgain = async (token: string, id: string): Promise<Pick<Program, 'ended'>> => {
    try {
      program = await start()
    } catch (error) {
      if (String(error).includes('ended (SIGKILL) before it was ready'))
        return { ended: Promise.resolve('SIGKILL') }
      throw error
    }
    const own = apiClient(program.url, token).call
    const isGone = program.ended.then(() => true)
    const resume = async () => {
      while (!(await Promise.race([isGone, pause(200).then(() => false)]))) {
        try {
          const seen = await own(operationGet, { params: { id } })
          if (hasEnded(seen)) return
          if (seen.halted === true) await own(operationResume, { params: { id } })
        } catch {
          // The program was killed meanwhile, or the run has gone on by itself.
        }
      }
    }
    void resume()
    return program
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
    async killedInEachStep(act) {
      await runWith()
      const { accessToken } = await apiClient(program.url).call(authorize, { body: admin })
      // The program may reach the first step before the answer that names it.
      failpoint.set('step:after')
      const { id, steps } = await act()
      let running: Pick<Program, 'ended'> = program
      for (const [i, { key }] of steps.entries()) {
        const how = await Promise.race([running.ended, pause(90_000).then(() => 'not reached')])
        expect({ key, how }).toEqual({ key, how: 'SIGKILL' })
        const next = steps[i + 1]
        if (next) failpoint.set(`step/${next.key}:after`)
        else failpoint.clear()
        running = await startAgain(accessToken, id)
      }
      current = await signIn(program.url)
      return id
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

const begun =
  ({ call }: Installation, { clusterId, change, confirmed_disks = [] }: Change) =>
  () =>
    patiently(() =>
      call(clusterChange, { params: { id: clusterId }, body: { change, confirmed_disks } }),
    )

/** Waits until an operation is done, with all of its steps. */
async function done(call: Caller, id: string): Promise<Operation> {
  const end = await ended(call, id, 150_000)
  expect({
    status: end.status,
    reason: end.reason,
    open: end.steps.filter((s) => s.status !== 'done' && s.status !== 'skipped'),
  }).toEqual({ status: 'done', reason: null, open: [] })
  return end
}

/**
 * Changes a cluster with a program that is killed at `point`, and follows the operation to its end
 * with the next program.
 */
export async function changedAt(
  installation: Installation,
  point: string,
  asked: Change,
): Promise<Operation> {
  const { operation } = await installation.killedAt(point, begun(installation, asked))
  return done(installation.call, operation.id)
}

/** Changes a cluster with a program that is killed in every step of the change. */
export async function changedInEachStep(
  installation: Installation,
  asked: Change,
): Promise<Operation> {
  const begin = begun(installation, asked)
  const id = await installation.killedInEachStep(async () => (await begin()).operation)
  return done(installation.call, id)
}
