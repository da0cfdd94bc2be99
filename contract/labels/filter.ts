/**
 * What lists declare of labels. Apart from the selectors (`selector.ts`) and the rules (`labels.ts`),
 * because the console's first scripts have the declarations of lists.
 */
import * as z from 'zod/mini'
import type { ListFilter } from '../list.ts'

/** Labels in responses. */
export const ShownLabels = z.record(z.string(), z.string())

export const labelFilter = {
  label: 'Labels',
  help: 'Only objects with these labels, such as rack=3,gen!=r640, or without one: !spare',
  syntax: 'labels',
  placeholder: 'SELECTOR',
  short: 'l',
} as const satisfies ListFilter
