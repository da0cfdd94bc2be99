import { expect, test } from 'vitest'
import { budget } from './budget.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))
const never = () => new Promise<never>(() => undefined)

test('the connections of all parts together never exceed the limit', async () => {
  const { run, state } = budget(3)
  let most = 0
  const act = async () => {
    most = Math.max(most, state().open)
    await turn()
  }
  await Promise.all(Array.from({ length: 50 }, (_, i) => run(i % 2 ? 'act' : 'contact', act)))
  expect(most).toBe(3)
  expect(state()).toEqual({ open: 0, waiting: 0 })
})

test('servers that hang do not use up the connections for servers that answer', async () => {
  const { run } = budget()
  for (let i = 0; i < 500; i++) void run('suspect', never)
  for (let i = 0; i < 500; i++) void run('probe', never)
  await turn()
  await expect(run('contact', () => Promise.resolve('answered'))).resolves.toBe('answered')
  await expect(run('act', () => Promise.resolve('done'))).resolves.toBe('done')
})

test('an aborted wait uses no connection, and a failed connection does not count any more', async () => {
  const { run, state } = budget(1)
  await expect(run('act', () => Promise.reject(new Error('refused')))).rejects.toThrow('refused')
  const stop = new AbortController()
  void run('act', never)
  const waiting = run('act', () => Promise.resolve(1), stop.signal)
  stop.abort(new Error('shutdown'))
  await expect(waiting).rejects.toThrow('shutdown')
  expect(state()).toEqual({ open: 1, waiting: 0 })
})
