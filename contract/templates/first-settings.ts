/** What a cluster from a template has from its first moment. Pure. */
import { windowText } from '../clusters/changes/window.ts'
import type { NewClusterInput } from '../clusters/clusters.ts'
import { counted } from '../words.ts'
import type { NewTemplate } from './templates.ts'

type Settings = Pick<
  NewTemplate,
  'labels' | 'maintenance_window' | 'snapshots' | 'extensions' | 'kernel_args'
>

export const noStoreOf = (store: string): string =>
  `There is no store ${store}, to which the snapshots of the template go: add a store of this name, or change the template`

/**
 * The fields of the body of `clusterCreate`, without the subnets, which are chosen.
 * @param storeId of the store that the template names
 */
export function firstSettingsOf(
  { labels, maintenance_window, snapshots, extensions, kernel_args }: Settings,
  storeId: string | null,
): Pick<NewClusterInput, keyof Settings> {
  const { store: _store, ...schedule } = snapshots ?? { store: '' }
  return {
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(maintenance_window && { maintenance_window }),
    ...(snapshots &&
      storeId !== null && {
        snapshots: { ...schedule, every_hours: snapshots.every_hours, store_id: storeId },
      }),
    ...(extensions && { extensions }),
    ...(kernel_args && { kernel_args }),
  }
}

export type SettingsPart = 'labels' | 'snapshots' | 'maintenance_window' | 'extensions' | 'subnets'

/** The settings that the template has, in words. `extensions`: also the kernel arguments. */
export function settingsSaid({
  labels,
  snapshots,
  maintenance_window: window,
  subnets,
  extensions,
  kernel_args,
}: Settings & Pick<NewTemplate, 'subnets'>): { part: SettingsPart; said: string }[] {
  const pairs = Object.entries(labels).map(([key, value]) => (value ? `${key}=${value}` : key))
  const image = [
    ...(extensions === undefined
      ? []
      : [extensions.length === 0 ? 'no extensions' : extensions.join(', ')]),
    ...(kernel_args === undefined
      ? []
      : [
          kernel_args.length === 0
            ? 'no kernel arguments'
            : `kernel arguments ${kernel_args.join(' ')}`,
        ]),
  ]
  const all: { part: SettingsPart; said: string | false }[] = [
    { part: 'labels', said: pairs.length > 0 && `Labels: ${pairs.join(', ')}` },
    {
      part: 'snapshots',
      said:
        snapshots !== null &&
        `Snapshots every ${counted(snapshots.every_hours, 'hour')} to the store ${snapshots.store}`,
    },
    {
      part: 'maintenance_window',
      said: window !== null && `Maintenance window: ${windowText(window)}`,
    },
    { part: 'extensions', said: image.length > 0 && `Image: ${image.join('; ')}` },
    { part: 'subnets', said: subnets.length > 0 && counted(subnets.length, 'subnet') },
  ]
  return all.flatMap(({ part, said }) => (said === false ? [] : [{ part, said }]))
}
