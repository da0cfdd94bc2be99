/**
 * Steelyard serialises a schematic to the same text as a factory that has parsed it. This compares
 * two programs that share no code, Steelyard and the simulated factory, on arguments as unusual as
 * a user can type.
 */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import * as z from 'zod/mini'
import { imageLimits } from '#contract/images/customization.ts'
import { NewImage } from '#contract/images.ts'
import { readSchematic } from '#simulator/src/factory/schematic.ts'
import { schematicId, schematicText } from '#talos/schematic/schematic.ts'
import { knownAs } from '#talos/schematic/stored.ts'

const isTaken = (arg: string): boolean =>
  z.safeParse(NewImage, { talos_version: 'v1.13.9', kernel_args: [arg] }).success
const visible = Array.from({ length: 0x7e - 0x20 }, (_, i) => String.fromCodePoint(0x21 + i))
const odd = [
  '-',
  '?',
  ':',
  '#',
  '"',
  "'",
  '{',
  '[',
  '&',
  '*',
  '!',
  '|',
  '>',
  '%',
  '@',
  '`',
  '~',
  '.',
  '0',
  '1',
  'e',
  'x',
  '_',
  'y',
  '=',
  ',',
  '\\',
]
const any = fc
  .oneof(
    fc.string({ unit: fc.constantFrom(...visible), minLength: 1, maxLength: 40 }),
    fc.string({ unit: fc.constantFrom(...odd), minLength: 1, maxLength: 6 }),
    fc.constantFrom(
      '-',
      '?',
      '~',
      '---',
      '...',
      '<<',
      '=',
      'y',
      'No',
      'ON',
      'null',
      '0x1F',
      '0o17',
      '1e3',
      '.5',
      '1_000',
      '2001-01-01',
      '12:30:45',
      '+.inf',
      '.NaN',
    ),
  )
  .filter(isTaken)
/** Kernel arguments: a name with any text after it. */
const ordinary = fc
  .tuple(
    fc.stringMatching(/^[a-z][a-z0-9_.]{4,20}$/),
    fc.string({ unit: fc.constantFrom(...visible), maxLength: 40 }),
  )
  .map(([name, value]) => `${name}=${value}`)
  .filter(isTaken)
const extensions = fc.array(fc.stringMatching(/^[a-z0-9-]{1,12}\/[a-z0-9._-]{1,20}$/), {
  maxLength: 6,
})

const forAll = (
  arg: fc.Arbitrary<string>,
  check: (ours: { text: string; id: string }, read: ReturnType<typeof readSchematic>) => void,
) =>
  fc.assert(
    fc.property(
      fc.array(arg, { maxLength: imageLimits.kernelArgs }),
      extensions,
      (extraKernelArgs, officialExtensions) => {
        const schematic = { extraKernelArgs, officialExtensions }
        const ours = { text: schematicText(schematic), id: schematicId(schematic) }
        const read = readSchematic(ours.text)
        expect(read.extraKernelArgs).toEqual(extraKernelArgs)
        expect(read.extensions).toEqual([...new Set(officialExtensions)].toSorted())
        check(ours, read)
      },
    ),
    { numRuns: 1000 },
  )

test('Steelyard and the image factory serialise a schematic to the same text, so its id is the same', () => {
  forAll(ordinary, (ours, read) => {
    expect(read.text).toBe(ours.text)
    expect(read.id).toBe(ours.id)
  })
})

// Versions of the factory's YAML library differ in how they quote texts that YAML could read as a
// number, a date or a special character.
test('for any kernel argument, Steelyard recognises its schematic in the text that the factory returns', () => {
  forAll(any, (ours, read) => expect(knownAs(ours, read)).toBe(read.id))
})
