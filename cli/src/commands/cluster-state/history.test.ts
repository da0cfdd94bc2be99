import { expect, test } from 'vitest'
import { type HistoryEntry, historyGet, historyList } from '#contract/history/history.ts'
import type { Answer } from '#contract/operation.ts'
import { startApi } from '../../testing/api.ts'
import { startCli } from '../../testing/cli.ts'

const at = '2026-11-20T08:00:00.000Z'
const entry = (id: number, more: Partial<HistoryEntry>): HistoryEntry => ({
  id,
  at,
  kind: 'server_contact',
  object: { kind: 'server', id: '0198c0de-0000-7000-8000-000000000001', name: 'falcon-01' },
  cluster: null,
  message: 'No answer: connection refused',
  by: { kind: 'steelyard', name: 'Steelyard' },
  operation: null,
  before: {},
  after: {},
  has_log: false,
  simulated: false,
  ...more,
})
const page = (more: Partial<Answer<typeof historyList>>): Answer<typeof historyList> => ({
  items: [],
  next: null,
  read_to: null,
  now: at,
  beginning: { at, is_cut: false, known: null },
  ...more,
})

test('history marks the entries that the simulation made up, and no others', async () => {
  const api = await startApi()
  const [made, real] = [
    entry(1, { simulated: true, message: 'Rebooted in a story' }),
    entry(2, { message: 'Rebooted in truth' }),
  ]
  api.on(historyList, () => page({ items: [made, real] }))
  api.on(historyGet, ({ params }) => ({ ...(params.id === 1 ? made : real), log: null }))
  const cli = await startCli(api)
  const { exit, out } = await cli.run('history')
  expect(exit).toBe(0)
  expect(out).toMatch(/ simulated: Rebooted in a story /)
  expect(out).toMatch(/ {2}Rebooted in truth /)
  expect((await cli.run('history show 1')).out).toMatch(/^Simulated +yes, it did not happen$/m)
  expect((await cli.run('history show 2')).out).not.toContain('Simulated')
})

test('history says to which time a page was read, and where older entries are', async () => {
  const api = await startApi()
  const asked: (string | undefined)[] = []
  api.on(historyList, ({ query }) => {
    asked.push(query.after)
    return query.after === undefined
      ? page({ next: '1795843784426-7', read_to: at })
      : page({ items: [entry(1, {})], next: '1795843784000-1' })
  })
  const cli = await startCli(api)
  const { out } = await cli.run('history --search former')
  expect(out).toContain('No entry that was read matches')
  expect(out).toMatch(/Read back to .+\. Older entries may match: --after 1795843784426-7/)
  expect(out).not.toContain('History begins')
  const second = await cli.run('history --search former --after 1795843784426-7')
  expect(second.out).toContain('Older entries: --after 1795843784000-1')
  expect(asked).toEqual([undefined, '1795843784426-7'])
})
