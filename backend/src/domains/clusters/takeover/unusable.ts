/**
 * Values in the configurations of machines that can't work or may not work when running. A takeover
 * sends nothing, so they are told and not refused; the same rules hold for patches.
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
  const found = { refuse: new Map<string, string[]>(), warn: new Map<string, string[]>() }
  const controlPlane = machines.find(({ told }) => told?.role === 'control_plane')?.told?.config
    .stored
  for (const { name, address, told } of machines) {
    if (told === null) continue
    const { findings } = await read(sentBy(address ?? name), 'compose', told.config.stored, [], {
      talosVersion: told.reading.status.version,
      controlPlane,
    })
    for (const { level, message } of findings)
      found[level].set(message, [...(found[level].get(message) ?? []), name])
  }
  const all = [...found.refuse, ...found.warn].map(
    ([message, names]) => `${listed(names)}: ${message}`,
  )
  return all.length > mostTold
    ? [...all.slice(0, mostTold), `${all.length - mostTold} more values can't work or may not work`]
    : all
}
