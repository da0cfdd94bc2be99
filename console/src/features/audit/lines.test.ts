import { expect, test } from 'vitest'
import { linesOf } from './lines.ts'

const streamOf = (...pieces: string[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece))
      controller.close()
    },
  })

test('lines are read whole, however the text is cut into pieces', async () => {
  expect(await Array.fromAsync(linesOf(streamOf('{"a"', ':1}\n{"b":2}\n{"c', '":3}')))).toEqual([
    '{"a":1}',
    '{"b":2}',
    '{"c":3}',
  ])
  expect(await Array.fromAsync(linesOf(streamOf()))).toEqual([])
})

test('a reader that stops early cancels the stream', async () => {
  let isCancelled = false
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new TextEncoder().encode('x\n')),
    cancel: () => void (isCancelled = true),
  })
  for await (const line of linesOf(endless)) {
    expect(line).toBe('x')
    break
  }
  expect(isCancelled).toBe(true)
})
