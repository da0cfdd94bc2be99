// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest'
import { appended, emptyLog, mostCharacters } from './ServerLogs.tsx'

describe('lines of a log', () => {
  it('log lines are assembled from chunks that may end anywhere', () => {
    const log = appended(appended(emptyLog, 'one\ntw'), 'o\nthree')
    expect(log).toEqual({ lines: ['one', 'two'], rest: 'three', dropped: 0 })
  })

  it('the number of log lines is limited, and the oldest are dropped', () => {
    const log = appended(appended(emptyLog, 'a\nb\n', 2), 'c\n', 2)
    expect(log).toEqual({ lines: ['b', 'c'], rest: '', dropped: 1 })
  })

  it('log lines that are too long are truncated', () => {
    expect(appended(emptyLog, 'x'.repeat(mostCharacters + 5)).rest).toHaveLength(mostCharacters)
    expect(appended(emptyLog, 'a\r\n').lines).toEqual(['a'])
  })
})
