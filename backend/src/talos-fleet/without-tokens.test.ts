import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { streamWithoutTokens, withoutTokens } from './without-tokens.ts'
import { processorMs } from '../../../tools/testing/processor-time.ts'

const token = `sy-join-${'aZ09_-'.repeat(4).slice(0, 21)}s`
const read = async (pieces: Uint8Array[]) =>
  Buffer.concat(await Array.fromAsync(streamWithoutTokens(Readable.from(pieces)))).toString()

test('a token in a text is masked, even if it is truncated', () => {
  expect(
    withoutTokens(`talos.config=https://steelyard/join/${token}?uuid=1 and ${token.slice(0, 20)}`),
  ).toBe('talos.config=https://steelyard/join/…?uuid=1 and …')
})

test('a token in a stream is masked wherever the stream is split, and all other bytes are unchanged', async () => {
  const said = `żółw sy-joi sy-join-short fetching "http://a/join/${token}?uuid=1" ${token}${token}\nsss ${token}`
  const shown = `żółw sy-joi sy-join-short fetching "http://a/join/…?uuid=1" ……\nsss …`
  const bytes = Buffer.from(said)
  expect(await read([bytes])).toBe(shown)
  expect(await read(Array.from(bytes, (_, i) => bytes.subarray(i, i + 1)))).toBe(shown)
  for (let at = 0; at <= bytes.length; at++)
    expect(await read([bytes.subarray(0, at), bytes.subarray(at)])).toBe(shown)
  expect(await read([Buffer.from('ends with sy-join-abc')])).toBe('ends with sy-join-abc')
})

test('bytes that are not text are unchanged, and masking takes linear time even if the token prefix is repeated', async () => {
  const bytes = Buffer.from(Array.from({ length: 512 }, (_, i) => i % 256))
  expect(Buffer.concat(await Array.fromAsync(streamWithoutTokens(Readable.from([bytes]))))).toEqual(
    bytes,
  )
  const hostile = Buffer.from(`${'sy-join-'.repeat(100_000)}!`)
  const pieces = Array.from({ length: 10 }, (_, i) =>
    hostile.subarray(i * 80_000, (i + 1) * 80_000),
  )
  let masked = ''
  const usedMs = await processorMs(async () => (masked = await read(pieces)))
  expect(masked.length).toBeGreaterThan(0)
  expect(usedMs).toBeLessThan(2_000)
})
