import { expect, test } from 'vitest'
import { waitLimits } from '#contract/rule.ts'
import { CliError } from '../exit.ts'
import type { Terminal } from '../terminal.ts'
import { patiently } from './patience.ts'

const silent = () => new CliError('conflict', 'srv-1 does not answer', { isForNow: true })

/** A terminal whose clock moves with its pauses. */
function watched() {
  let now = 0
  const said: string[] = []
  const stop = new AbortController()
  const terminal = {
    now: () => now,
    sleep: (ms: number) => Promise.resolve(void (now += ms)),
    err: (text: string) => void said.push(text),
    interrupted: () => stop.signal,
  } as unknown as Terminal
  return { terminal, said, stop, passed: () => now }
}

test('what is refused for now is tried again, and said once', async () => {
  const { terminal, said } = watched()
  let left = 3
  const attempt = () => (left-- > 0 ? Promise.reject(silent()) : Promise.resolve('begun'))
  expect(await patiently({ terminal }, attempt)).toBe('begun')
  expect(said).toEqual(['Waits, for at most 1 h: srv-1 does not answer\n'])
})

test("a rule's refusal ends at once, a wait at its limit, and Ctrl-C before that", async () => {
  const { terminal, said, stop, passed } = watched()
  const rule = new CliError('conflict', 'A rule says no')
  await expect(patiently({ terminal }, () => Promise.reject(rule))).rejects.toBe(rule)
  expect([said, passed()]).toEqual([[], 0])
  await expect(patiently({ terminal }, () => Promise.reject(silent()))).rejects.toThrow(
    'srv-1 does not answer. Waited 1 h for that',
  )
  expect(passed()).toBe(waitLimits.apply)
  stop.abort()
  await expect(patiently({ terminal }, () => Promise.reject(silent()))).rejects.toMatchObject({
    exit: 'interrupted',
  })
})
