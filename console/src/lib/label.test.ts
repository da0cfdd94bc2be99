import { expect, it } from 'vitest'
import { labelText, readLabel } from './label.ts'

it('labels are read and written as key=value', () => {
  expect(readLabel(' rack = r07 ')).toEqual(['rack', 'r07'])
  expect(readLabel('a=b=c')).toEqual(['a', 'b=c'])
  expect(readLabel('flag')).toEqual(['flag', ''])
  expect(readLabel(' =x')).toBeNull()
  expect(labelText(['rack', 'r07'])).toBe('rack=r07')
  expect(labelText(['flag', ''])).toBe('flag')
})
