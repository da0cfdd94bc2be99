import { expect, test } from 'vitest'
import { sinceChoices, withTime } from './period.ts'

test('a chosen period keeps its value within a minute', () => {
  const now = Date.parse('2026-11-20T14:07:32Z')
  expect(sinceChoices(now)[0]).toEqual({ value: '2026-11-20T13:07:00.000Z', text: 'Last hour' })
  expect(sinceChoices(now + 20_000)).toEqual(sinceChoices(now))
})

test('a time in the URL that is none of the choices is offered too', () => {
  const choices = sinceChoices(Date.parse('2026-11-20T14:07:32Z'))
  expect(withTime(choices, undefined)).toBe(choices)
  expect(withTime(choices, choices[1]!.value)).toBe(choices)
  expect(withTime(choices, '2026-01-01T00:00:00.000Z').at(-1)).toMatchObject({
    value: '2026-01-01T00:00:00.000Z',
    text: expect.stringContaining('2026') as string,
  })
  expect(withTime(choices, 'soon').at(-1)).toEqual({ value: 'soon', text: 'soon' })
})
