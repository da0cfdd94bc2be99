/** Carries out the work of a backend in a test whose clock follows real time. */
import { hasEnded, type Operation } from '#contract/operations.ts'
import type { Backend } from '../../../testing/backend.ts'

/** Only ends a test that hangs: how long anything takes depends on the machine. */
export const hangsAfterMs = 300_000

/**
 * The statements that tests repeat many times a second are prepared, because to plan one takes
 * longer than to run it.
 */
const dueQueues = {
  name: 'test_due_queues',
  text: 'select distinct queue from wake_up where owner is null and halted_at is null and due_at <= $1',
}
const statuses = {
  name: 'test_statuses',
  text: 'select id, status from operation where id = any($1::uuid[])',
}
const version = {
  name: 'test_operation_version',
  text: 'select version from operation where id = $1',
}

export interface Driver {
  /** Does `work` while no reconciler runs, except those that the work runs itself. */
  alone<T>(work: () => Promise<T>): Promise<T>
  stop(): Promise<void>
}

/** Claims and runs due objects concurrently, with the test clock following real time. */
export function realTime({ platform, database, clock }: Backend): Driver {
  const core = platform.engine
  const shutdown = new AbortController()
  const running = new Set<Promise<void>>()
  let pauses = 0
  let last = Date.now()
  const tick = async (): Promise<void> => {
    // The clock is advanced by the elapsed time instead of being set, so that a test can move it
    // forward as well.
    const now = Date.now()
    clock.advance(Math.max(0, now - last))
    last = now
    if (pauses > 0) return
    const { rows: due } = await database.pool.query<{ queue: string }>({
      ...dueQueues,
      values: [new Date(clock.now())],
    })
    for (const taken of await core.claim(
      due
        .filter(({ queue }) => core.reconcilers.has(queue))
        .map(({ queue }) => ({ queue, places: 1_000 })),
    )) {
      const run: Promise<void> = core.run(taken, shutdown.signal).finally(() => running.delete(run))
      running.add(run)
    }
  }
  let ticked = Promise.resolve()
  const loop = (async () => {
    while (!shutdown.signal.aborted) {
      const began = performance.now()
      await (ticked = tick())
      // Looks less often while many runs keep the processor busy.
      const pauseMs = Math.min(100, Math.max(15, 2 * (performance.now() - began)))
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  })()
  return {
    async alone(work) {
      pauses++
      try {
        await ticked
        await Promise.all(running)
        return await work()
      } finally {
        pauses--
      }
    },
    async stop() {
      shutdown.abort(new Error('The test has ended'))
      await loop
      await Promise.allSettled(running)
    },
  }
}

/**
 * Returns a function that reads an operation by `read`, again only if its row has a new version,
 * because a test asks many times until an operation says something. A failed run changes the
 * version, too.
 */
export function freshOperations(
  { database }: Backend,
  read: (id: string) => Promise<Operation>,
): (id: string) => Promise<Operation> {
  const known = new Map<string, { version: number | undefined; operation: Operation }>()
  return async (id) => {
    const { rows } = await database.pool.query<{ version: number }>({ ...version, values: [id] })
    const now = rows[0]?.version
    const last = known.get(id)
    if (last && last.version === now) return last.operation
    const operation = await read(id)
    known.set(id, { version: now, operation })
    return operation
  }
}

interface Waiting {
  readonly id: string
  readonly since: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * Returns a function that waits until an operation has ended or is gone. Concurrent tests share one
 * statement, because a response of the API costs many times as much.
 * @throws Error after five minutes, because a timeout of the test would not say what it waited for
 */
export function endings({ database }: Backend): (id: string) => Promise<void> {
  const waiting = new Set<Waiting>()
  let looks = false
  const look = async (): Promise<void> => {
    const asked = [...waiting]
    try {
      const { rows } = await database.pool.query<Pick<Operation, 'id' | 'status'>>({
        ...statuses,
        values: [asked.map(({ id }) => id)],
      })
      const open = new Map(rows.filter((row) => !hasEnded(row)).map((row) => [row.id, row.status]))
      for (const one of asked) {
        const status = open.get(one.id)
        if (status !== undefined && Date.now() - one.since < hangsAfterMs) continue
        waiting.delete(one)
        if (status === undefined) one.resolve()
        else
          one.reject(
            new Error(`Operation ${one.id} is still ${status} after ${hangsAfterMs / 1000} s`),
          )
      }
    } catch (error) {
      for (const one of asked) {
        waiting.delete(one)
        one.reject(error)
      }
    }
  }
  const lookOften = async (): Promise<void> => {
    if (looks) return
    looks = true
    while (waiting.size > 0) {
      await look()
      await new Promise((resolve) => setTimeout(resolve, 40))
    }
    looks = false
  }
  return (id) =>
    new Promise((resolve, reject) => {
      waiting.add({ id, since: Date.now(), resolve, reject })
      void lookOften()
    })
}
