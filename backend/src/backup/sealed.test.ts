import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { setWork } from '../testing/work.ts'
import { type KnownKeys, seal, sealPieces, unseal } from './sealed.ts'

setWork('full')

const passphrase = 'correct horse battery staple'
const known: KnownKeys = new Map()
async function* inParts(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.byteLength; at += size) yield bytes.subarray(at, at + size)
}
const sealed = async (bytes: Uint8Array, size = 10_000) =>
  Buffer.concat(await Array.fromAsync(seal(passphrase, inParts(bytes, size), known)))
const opened = async (bytes: Uint8Array, with_ = passphrase, keys = known) =>
  Buffer.concat(await Array.fromAsync(unseal(with_, inParts(bytes, 7_919), keys)))
const why = (bytes: Uint8Array): Promise<string> =>
  opened(bytes).then(
    () => 'opened',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )

const pieceBytes = 65_536
// Two files for all tests, because deriving the key of a file is slow by design.
const whole = await sealed(randomBytes(3 * pieceBytes))
const { key } = [...known.values()][0]!
const other = await sealed(randomBytes(3 * pieceBytes))
const head = whole.length - 3 * (pieceBytes + 16)
/** Another content with the head and the key of the first file. */
const inside = async (bytes: Uint8Array, size = 10_000) =>
  Buffer.concat(
    await Array.fromAsync(sealPieces(key, whole.subarray(0, head), inParts(bytes, size))),
  )

test.each([0, pieceBytes, pieceBytes + 1, 3 * pieceBytes])(
  '%i bytes are unchanged after sealing and opening',
  async (size) => {
    const bytes = randomBytes(size)
    expect((await opened(await inside(bytes, 1 + Math.floor(size / 3)))).equals(bytes)).toBe(true)
  },
)

test('a truncated file is refused, even if the cut is between two pieces', async () => {
  const cut = await inside(randomBytes(2 * pieceBytes + 100))
  const places = [
    0,
    1,
    18,
    19,
    30,
    head - 1,
    head,
    head + 1,
    head + 15,
    head + 16,
    head + 17,
    head + pieceBytes,
    head + pieceBytes + 15,
  ]
  const between = [head + pieceBytes + 16, head + 2 * (pieceBytes + 16)]
  const near = between.flatMap((at) => [at - 1, at, at + 1, at + 15, at + 16, at + 17])
  for (const at of [...places, ...near, cut.length - 17, cut.length - 16, cut.length - 1])
    expect(await why(cut.subarray(0, at)), `${at}`).not.toBe('opened')
  expect(await why(cut)).toBe('opened')
})

test('a file is refused if any of its bytes or pieces was changed, removed, moved or added', async () => {
  const step = pieceBytes + 16
  const pieces = [0, 1, 2].map((n) => whole.subarray(head + n * step, head + (n + 1) * step))
  const joined = (...parts: Uint8Array[]) => Buffer.concat([whole.subarray(0, head), ...parts])
  for (let at = head; at < whole.length; at += 4_999) {
    const changed = Buffer.from(whole)
    changed[at] = changed[at]! ^ 0x80
    expect(await why(changed), `${at}`).toMatch(/was changed/)
  }
  expect(await why(joined(pieces[0]!, pieces[2]!))).not.toBe('opened')
  expect(await why(joined(pieces[1]!, pieces[0]!, pieces[2]!))).not.toBe('opened')
  expect(
    await why(joined(pieces[0]!, other.subarray(head + step, head + 2 * step), pieces[2]!)),
  ).not.toBe('opened')
  expect(await why(joined(...pieces, Buffer.from([0])))).not.toBe('opened')
})

test('a changed header, a wrong passphrase and a file of another kind cause different errors', async () => {
  const changed = (at: number, by: number) => {
    const bytes = Buffer.from(whole)
    bytes[at] = by
    return bytes
  }
  await expect(opened(whole, 'another passphrase', new Map())).rejects.toThrow(
    'This is not the passphrase of this backup',
  )
  expect(await why(changed(0, 0))).toBe('This is not a backup of Steelyard')
  // Deriving the key with this header would take 2^31 × 1 KiB of memory.
  expect(await why(changed(19, 31))).toBe('The header of the backup was changed')
  expect(await why(changed(25, whole[25]! ^ 1))).toBe('This is not the passphrase of this backup')
})

test.each([
  [20, 16, 4],
  [18, 8, 1],
  [17, 8, 2],
  [17, 9, 1],
  [1, 1, 1],
  [0, 0, 0],
])(
  'a file that asks for scrypt with 2^%i, %i and %i is refused before any work',
  async (...parameters) => {
    const changed = Buffer.from(whole)
    changed.set(parameters, 19)
    await expect(opened(changed, passphrase, new Map())).rejects.toThrow(
      'The header of the backup was changed',
    )
  },
)

test('a passphrase is accepted in every Unicode normalization form', async () => {
  const text = Buffer.concat(
    await Array.fromAsync(
      seal('Zażółć gęślą jaźń'.normalize('NFD'), inParts(Buffer.from('text'), 4)),
    ),
  )
  expect((await opened(text, 'Zażółć gęślą jaźń'.normalize('NFC'), new Map())).toString()).toBe(
    'text',
  )
})
