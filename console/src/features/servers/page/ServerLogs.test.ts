// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest'
import { appended, emptyLog, mostCharacters } from './ServerLogs.tsx'

describe('lines of a log', () => {
  it('are put together from pieces that end anywhere', () => {
    const log = appended(appended(emptyLog, 'one\ntw'), 'o\nthree')
    expect(log).toEqual({ lines: ['one', 'two'], rest: 'three', dropped: 0 })
  })

  it('are kept up to a number, the newest ones', () => {
    const log = appended(appended(emptyLog, 'a\nb\n', 2), 'c\n', 2)
    expect(log).toEqual({ lines: ['b', 'c'], rest: '', dropped: 1 })
  })

  it('are cut where they have no end', () => {
    expect(appended(emptyLog, 'x'.repeat(mostCharacters + 5)).rest).toHaveLength(mostCharacters)
    expect(appended(emptyLog, 'a\r\n').lines).toEqual(['a'])
  })
})
