import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { eventReader, type Message } from './sse.ts'

const readAll = (...chunks: string[]): Message[] => {
  const got: Message[] = []
  const read = eventReader((message) => got.push(message))
  for (const chunk of chunks) read(chunk)
  return got
}

test('messages have id, event and several lines of data; comments are ignored', () => {
  expect(
    readAll(': hello\n\nid: 7\nevent: server.updated\ndata: {"a":\ndata: 1}\n\ndata:x\n\n'),
  ).toEqual([
    { id: '7', event: 'server.updated', data: '{"a":\n1}' },
    { id: '7', event: 'message', data: 'x' },
  ])
})

test('an incomplete message is not delivered', () => {
  expect(readAll('id: 1\ndata: half')).toEqual([])
})

test('messages are parsed wherever the stream is split into chunks', () => {
  const stream =
    'id: 1\r\nevent: a.b\r\ndata: one\r\n\r\nid: 2\ndata: two\n\nid: 3\rdata: three\r\r\n'
  const whole = readAll(stream)
  expect(whole.map((m) => m.data)).toEqual(['one', 'two', 'three'])
  fc.assert(
    fc.property(fc.array(fc.nat(stream.length), { maxLength: 8 }), (cuts) => {
      const at = [0, ...cuts.toSorted((a, b) => a - b), stream.length]
      expect(readAll(...at.slice(1).map((end, i) => stream.slice(at[i], end)))).toEqual(whole)
    }),
  )
})
