/**
 * Drives the engine in tests with a manual clock: due objects run in order of time without waiting.
 */
import type { TestClock } from './clock.ts'
import type { Engine } from '../engine/engine.ts'

export type ManualEngine = ReturnType<typeof manualEngine>

export function manualEngine(core: Engine, clock: TestClock) {
  core.useClock(clock)
  const never = new AbortController().signal

  const next = (until: number) =>
    core.db
      .selectFrom('wake_up')
      .select(['queue', 'due_at'])
      .where('owner', 'is', null)
      .where('halted_at', 'is', null)
      .where('due_at', '<=', new Date(until))
      .where('queue', 'in', [...core.reconcilers.keys()])
      .orderBy('due_at')
      .orderBy('queue')
      .orderBy('key')
      .executeTakeFirst()

  const runUntil = async (until: number): Promise<number> => {
    if (core.reconcilers.size === 0) return 0
    for (let runs = 0; ; runs++) {
      if (runs > 100_000) throw new Error('The engine does not settle: 100,000 runs')
      const due = await next(until)
      if (!due) return runs
      clock.advance(Math.max(0, due.due_at!.getTime() - clock.now()))
      for (const taken of await core.claim([{ queue: due.queue, places: 1 }]))
        await core.run(taken, never)
    }
  }

  return {
    /** Runs due objects until none is left. Returns the number of runs. */
    settle: () => runUntil(clock.now()),
    /**
     * Advances the clock by `ms` and runs every object that becomes due meanwhile. Returns the
     * number of runs.
     */
    async run(ms: number): Promise<number> {
      const end = clock.now() + ms
      const runs = await runUntil(end)
      clock.advance(Math.max(0, end - clock.now()))
      return runs
    },
  }
}
