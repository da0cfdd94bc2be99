/**
 * Values in the configurations of machines that can't work when running. A takeover sends nothing,
 * so they are told and not refused; the same rules refuse them in patches.
 */
import { sentBy } from '../../../reading/asker.ts'
import type { ClusterParts } from '../parts.ts'
import { listed } from '../../../sentences.ts'
import type { SurveyedMachine } from './survey.ts'

/** How many different values are told. */
const mostTold = 10

/** A sentence for each value, with the machines that have it. */
export async function unusableValues(
  { read }: Pick<ClusterParts, 'read'>,
  machines: readonly SurveyedMachine[],
): Promise<string[]> {
  const found = new Map<string, string[]>()
  for (const { name, address, told } of machines) {
    if (told === null) continue
    const { findings } = await read(sentBy(address ?? name), 'compose', told.config.stored, [], {
      talosVersion: told.reading.status.version,
    })
    for (const { level, message } of findings)
      if (level === 'refuse') found.set(message, [...(found.get(message) ?? []), name])
  }
  const all = [...found].map(([message, names]) => `${listed(names)}: ${message}`)
  return all.length > mostTold
    ? [...all.slice(0, mostTold), `${all.length - mostTold} more values can't work`]
    : all
}
