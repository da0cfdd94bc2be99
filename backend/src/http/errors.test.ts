import { DatabaseError } from 'pg'
import { expect, test } from 'vitest'
import { asProblem } from './errors.ts'

const answered = (code: string) =>
  Object.assign(new DatabaseError('told by the database', 20, 'error'), { code })

test('a full disk of the database is reported as a full disk, not as overload', () => {
  const sentence = (code: string) => asProblem(answered(code), () => 0)?.message
  expect(sentence('53100')).toMatch(/disk of the database is full/)
  expect(sentence('53200')).toMatch(/too busy/)
  expect(sentence('53300')).toMatch(/cannot be reached/)
  expect(sentence('42601')).toBeUndefined()
})

test('a pool without a free connection is not reported as an unreachable database', () => {
  expect(asProblem(new Error('timeout exceeded when trying to connect'), () => 0)).toMatchObject({
    code: 'unavailable',
    message: 'The database did not answer in time. Please try again.',
  })
})
