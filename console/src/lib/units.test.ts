import { expect, test } from 'vitest'
import { disk, memory } from './units.ts'

const plain = (text: string) => text.replaceAll(/[\u00a0\u202f]/g, ' ')

test('memory is shown in binary units, disks in decimal ones', () => {
  expect(
    [0, 512, 64 * 2 ** 30, 768 * 2 ** 30, 12 * 1024 ** 4 + 0.5 * 1024 ** 4].map((b) =>
      plain(memory(b)),
    ),
  ).toEqual(['0 B', '512 B', '64 GiB', '768 GiB', '12.5 TiB'])
  expect(
    [1_920_383_410_176, 3_840_755_982_336, 17_280_000_000_000, 480_103_981_056].map((b) =>
      plain(disk(b)),
    ),
  ).toEqual(['1.92 TB', '3.84 TB', '17.3 TB', '480 GB'])
})

test('a number and its unit stay on one line', () => {
  expect(memory(2 ** 30)).toBe('1\u00a0GiB')
})
