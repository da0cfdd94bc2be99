/** Some inputs of public reports; `reported.long.test.ts` has all. */
import { describe, expect, test } from 'vitest'
import { reported } from './testing/reported.ts'
import { answerOf, said } from './testing/said.ts'

describe.each(Object.entries(reported))('%s', (_name, cases) => {
  test.each(cases.filter((_, i) => i % 6 === 0))('$what', (one) => {
    expect(said(one)).toEqual(answerOf(one))
  })
})
