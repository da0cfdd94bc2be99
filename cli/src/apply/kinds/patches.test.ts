import { expect, test } from 'vitest'
import { patchMask } from '#contract/patches.ts'
import { compareMasked } from './patches.ts'

const masked = `password: ${patchMask}\nother: 1\nkey: ${patchMask}\n`

test.each([
  ['the same text', 'a: 1\n', 'a: 1\n', 'equal'],
  ['a line break at the end', 'a: 1', 'a: 1\n', 'equal'],
  ['the mask itself', masked, masked, 'equal'],
  ['another text', 'a: 2\n', 'a: 1\n', 'different'],
  ['secrets in place of masks', 'password: "geheim"\nother: 1\nkey: abc=\n', masked, 'hidden'],
  [
    'another field beside the secrets',
    'password: geheim\nother: 2\nkey: abc=\n',
    masked,
    'different',
  ],
  ['a text that is shorter than the parts that are shown', 'password: \n', masked, 'different'],
  ['a missing part', 'password: geheim\nkey: abc=\n', masked, 'different'],
] as const)('%s is compared with the masked text', (_title, wanted, shown, result) => {
  expect(compareMasked(wanted, shown)).toBe(result)
})
