import { DatabaseError } from 'pg'
import { expect, test } from 'vitest'
import { asProblem } from './errors.ts'

const answered = (code: string) => Object.assign(new DatabaseError('told by the database', 20, 'error'), { code })

test('what the database lacks is told as what it is: a full disk is no load that passes', () => {
  const sentence = (code: string) => asProblem(answered(code), () => 0)?.message
  expect(sentence('53100')).toMatch(/disk of the database is full/)
  expect(sentence('53200')).toMatch(/too busy/)
  expect(sentence('53300')).toMatch(/can not be reached/)
  expect(sentence('42601')).toBeUndefined()
})

test('where no connection was free in time, the database is not called away', () => {
  expect(asProblem(new Error('timeout exceeded when trying to connect'), () => 0)).toMatchObject({
    code: 'unavailable',
    message: 'The database did not answer in time. Please try again.',
  })
})
