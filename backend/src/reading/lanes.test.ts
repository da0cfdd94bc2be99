import { expect, test } from 'vitest'
import { lanes, type Owner } from './lanes.ts'

const user = (name: string): Owner => ({ name, isLimited: true })
const ours: Owner = { name: 'ours', isLimited: false }

const all = <T>(line: { next(): T | undefined }): T[] => {
  const next = line.next()
  return next === undefined ? [] : [next, ...all(line)]
}

test('users are served in turn, regardless of how much each sent', () => {
  const line = lanes<string>({ most: 10, mostOfOne: 5 })
  for (const item of ['a1', 'a2', 'a3']) line.push(user('a'), item)
  line.push(user('b'), 'b1')
  line.push(ours, 'ours')
  expect(all(line)).toEqual(['a1', 'b1', 'ours', 'a2', 'a3'])
})

test('a user can fill only their own share of the queue; all users together can fill the whole queue', () => {
  const line = lanes<number>({ most: 4, mostOfOne: 3 })
  for (const i of [1, 2, 3]) line.push(user('a'), i)
  expect(() => line.push(user('a'), 4)).toThrow(
    expect.objectContaining({
      code: 'throttled',
      retryAfterSeconds: 1,
      message: expect.stringContaining('your texts'),
    }),
  )
  line.push(user('b'), 5)
  expect(() => line.push(user('c'), 6)).toThrow(
    expect.objectContaining({
      code: 'throttled',
      message: expect.stringContaining('Too many texts are waiting'),
    }),
  )
  for (let i = 0; i < 10; i++) line.push(ours, i)
  expect(line.next()).toBe(1)
  line.push(user('c'), 6)
})

test('dropped items free their place in the queue', () => {
  const line = lanes<number>({ most: 2, mostOfOne: 2 })
  line.push(user('a'), 1)
  line.push(user('a'), 2)
  line.drop(1)
  line.push(user('b'), 3)
  line.drop(2)
  expect(all(line)).toEqual([3])
})

test('all items of an owner can be taken out of the queue', () => {
  const line = lanes<string>({ most: 10, mostOfOne: 5 })
  for (const item of ['a1', 'a2']) line.push(user('a'), item)
  line.push(user('b'), 'b1')
  expect(line.take(user('a'))).toEqual(['a1', 'a2'])
  expect(line.take(user('c'))).toEqual([])
  expect(all(line)).toEqual(['b1'])
})
