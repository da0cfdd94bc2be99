import { expect, test } from 'vitest'
import { serverName } from '#contract/servers/servers.ts'
import { newName } from './name.ts'

test('every generated name follows the rules of server names', () => {
  // Walks both word lists with different steps, so each first word meets many second words.
  for (let i = 0; i < 20_000; i++) {
    const values = [(i * 0.6180339887) % 1, (i * 0.7548776662) % 1, (i * 0.569840291) % 1]
    const name = newName(() => values.shift()!)
    expect(serverName.safeParse(name)).toEqual({ success: true, data: name })
    expect(name).toMatch(/^[a-z]{3,10}-[a-z]{3,10}-\d{3}$/)
  }
})

test('the first and the last word of both lists can be chosen', () => {
  expect(newName(() => 0.9999999)).toBe('zealous-yarrow-999')
  expect(newName(() => 0)).toBe('able-acorn-000')
})
