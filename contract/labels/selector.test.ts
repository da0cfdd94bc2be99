import { expect, test } from 'vitest'
import { selectorOf, selects } from './selector.ts'

const labels = { rack: '3', gen: 'r650', 'example.com/pool': 'edge', spare: '' }
const passes = (text: string) => selects(selectorOf(text)!, labels)

test.each([
  'rack=3',
  'rack==3',
  'rack = 3',
  'gen!=r640',
  'rack=3,gen!=r640',
  ' rack=3 , gen!=r640 ',
  'rack',
  '!tier',
  'tier!=gold',
  'rack in (2,3)',
  'rack in ( 2 , 3 ) , gen',
  'rack in ( , , 3 , )',
  'gen notin (r640,r740)',
  'tier notin (gold)',
  'example.com/pool=edge',
  'spare=',
  'spare',
])('the selector %j chooses the object', (text) => {
  expect(passes(text)).toBe(true)
})

test.each([
  'rack=2',
  'rack!=3',
  'tier=gold',
  'tier',
  '!rack',
  'rack=3,gen=r640',
  'rack in (1,2)',
  'rack notin (3)',
  'tier in (gold,)',
  'pool=edge',
  'spare=x',
])('the selector %j does not choose the object', (text) => {
  expect(passes(text)).toBe(false)
})

test.each([
  '',
  ',',
  'rack=3,',
  'rack=3 gen=r640',
  'rack=3=4',
  '-rack=3',
  'rack_=3',
  'Example.com/pool=1',
  '/pool=1',
  'a/b/c=1',
  'rack in 3',
  'rack in (3',
  'rack in ()x',
  'rack=ä',
  'rack=3;drop table server',
  "rack='3'",
  '__proto__=1',
  `${'k'.repeat(64)}=1`,
  `rack=${'v'.repeat(64)}`,
  `rack=${'v'.repeat(65_536)}`,
  Array.from({ length: 1000 }, (_, i) => `k${i}=v`).join(),
  // Read by backtracking, it would take a minute, and each further comma twice as long.
  `rack in (${', '.repeat(30)}!)`,
])('%.60j is no selector', (text) => {
  expect(selectorOf(text)).toBeNull()
})

test('a label that an object does not have is not found among inherited properties', () => {
  for (const key of ['constructor', 'toString', 'hasOwnProperty', 'valueOf']) {
    expect(selects(selectorOf(key)!, {})).toBe(false)
    expect(selects(selectorOf(`!${key}`)!, {})).toBe(true)
    expect(selects(selectorOf(`${key}=1`)!, { [key]: '1' })).toBe(true)
  }
})
