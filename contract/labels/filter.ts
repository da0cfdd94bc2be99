/**
 * The filter by labels of lists whose items have labels. Apart from the selectors (`selector.ts`),
 * because the console's first script has the declarations of lists.
 */
import type { ListFilter } from '../list.ts'

export const labelFilter = {
  label: 'Labels',
  help: 'Only objects with these labels, such as rack=3,gen!=r640',
  syntax: 'labels',
  placeholder: 'SELECTOR',
  short: 'l',
} as const satisfies ListFilter
