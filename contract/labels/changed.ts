/** What a change of labels did, in words. */
import { counted } from '../words.ts'
import type { Labels } from './selector.ts'

/** Most labels that a sentence names. */
const most = 8

const known = (labels: unknown): Readonly<Record<string, unknown>> =>
  typeof labels === 'object' && labels !== null ? (labels as Record<string, unknown>) : {}

/** `rack=3`; the key alone if the value is empty. */
const labelText = (key: string, value: unknown): string =>
  value === '' ? key : `${key}=${String(value)}`

/** "rack=3, gen=r640". */
export const labelsText = (labels: Labels): string =>
  Object.entries(labels)
    .map(([key, value]) => labelText(key, value))
    .join(', ')

/** "rack=3 set, gen=r640 removed", from the labels before and after. */
export function changedLabels(before: unknown, after: unknown): string {
  const [then, now] = [known(before), known(after)]
  const parts = [
    ...Object.entries(now).flatMap(([key, value]) =>
      Object.hasOwn(then, key) && then[key] === value ? [] : [`${labelText(key, value)} set`],
    ),
    ...Object.entries(then).flatMap(([key, value]) =>
      Object.hasOwn(now, key) ? [] : [`${labelText(key, value)} removed`],
    ),
  ]
  const more = parts.length - most
  return [...parts.slice(0, most), ...(more > 0 ? [`and ${counted(more, 'other')}`] : [])].join(
    ', ',
  )
}
