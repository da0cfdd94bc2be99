import { expect, test } from 'vitest'
import { type Level, logger } from './log.ts'

function lines(level: Level = 'debug', readable = false) {
  const written: string[] = []
  return {
    written,
    log: logger({
      level,
      readable,
      now: () => Date.UTC(2026, 0, 2, 3, 4, 5),
      write: (line) => void written.push(line),
    }),
  }
}

test('a line is JSON with time, level, event and the named fields', () => {
  const { written, log } = lines()
  log.info('request', { status: 200, path: '/v1/nodes' })
  expect(JSON.parse(written[0]!)).toEqual({
    time: '2026-01-02T03:04:05.000Z',
    level: 'info',
    event: 'request',
    status: 200,
    path: '/v1/nodes',
  })
})

test('a field that is not on the allow-list is left out', () => {
  const { written, log } = lines()
  log.info('x', { password: 'hunter2', authorization: 'Bearer abc', status: 1 } as never)
  expect(written[0]).not.toMatch(/hunter2|Bearer/)
})

test('an event is one line of the log, even if a client sent line breaks', () => {
  const { written, log } = lines()
  log.warn('x', {
    user_agent: 'a\r\n{"level":"info"}\u001b[31m\u2028b',
    error: new Error('first\nsecond'),
  })
  expect(written[0]!.trimEnd().split(/[\r\n\u2028]/)).toHaveLength(1)
  expect(written[0]).not.toContain('\u001b')
})

test('lines below the log level are not written, and on a terminal lines are readable text', () => {
  const { written, log } = lines('warn', true)
  log.debug('a')
  log.info('b')
  log.warn('c', { reason: 'two words' })
  expect(written).toEqual(['03:04:05.000 warn  c reason="two words"\n'])
})
