/** Inputs of public reports, those near them and right ones, in each form and on each role. */
import { describe, expect, test } from 'vitest'
import { reported } from './testing/reported.ts'
import { answerOf, said } from './testing/said.ts'

describe.each(Object.entries(reported))('%s', (_name, cases) => {
  test.each(cases)('$what', (one) => {
    expect(said(one)).toEqual(answerOf(one))
  })
})
