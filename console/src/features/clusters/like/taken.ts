/** What a new cluster takes over from its template besides its servers and its networks. */
import { no, type Verdict, yes } from '#contract/rule.ts'
import type { Subnet } from '#contract/network/subnets.ts'
import type { Store } from '#contract/storage/stores.ts'
import {
  firstSettingsOf,
  type SettingsPart,
  settingsSaid,
} from '#contract/templates/first-settings.ts'
import { chooseSubnets } from '#contract/templates/subnets.ts'
import type { NewTemplate } from '#contract/templates/templates.ts'
import type { Taken } from '../create/draft.ts'

export interface TakenPart {
  readonly part: SettingsPart
  readonly said: string
  readonly isTaken: boolean
  /** Why it can't be taken over; null if it can, or is left out. */
  readonly problem: string | null
}

type Named = Pick<Store, 'id' | 'name'>
type Free = Pick<Subnet, 'id' | 'name' | 'cidr' | 'type' | 'total' | 'clusters'>

/** The template without the parts that a person leaves out. */
function without(template: NewTemplate, leftOut: readonly string[]): NewTemplate {
  const { extensions, kernel_args, ...more } = template
  const is = (part: SettingsPart): boolean => !leftOut.includes(part)
  return {
    ...more,
    ...(is('extensions') && extensions && { extensions }),
    ...(is('extensions') && kernel_args && { kernel_args }),
    labels: is('labels') ? more.labels : {},
    snapshots: is('snapshots') ? more.snapshots : null,
    maintenance_window: is('maintenance_window') ? more.maintenance_window : null,
    subnets: is('subnets') ? more.subnets : [],
  }
}

/**
 * @param stores undefined until they are known; also `subnets`, the workload subnets of the
 * datacenter
 */
export function takenOver(
  template: NewTemplate,
  leftOut: readonly string[],
  {
    stores,
    subnets,
  }: { stores: readonly Named[] | undefined; subnets: readonly Free[] | undefined },
): Taken & { readonly parts: readonly TakenPart[] } {
  const taken = without(template, leftOut)
  const store = taken.snapshots?.store
  const storeId = stores?.find(({ name }) => name === store)?.id ?? null
  const free = subnets?.filter(({ clusters }) => clusters.length === 0)
  const chosen =
    taken.subnets.length === 0 || free === undefined ? [] : chooseSubnets(free, taken.subnets, 1)
  const problems: Partial<Record<SettingsPart, string>> = {
    ...(store !== undefined &&
      stores !== undefined &&
      storeId === null && {
        snapshots: `The store ${store} is gone. Add a store of this name, or leave the snapshots out`,
      }),
    ...(typeof chosen === 'string' && { subnets: `${chosen}. Add one, or leave the subnets out` }),
  }
  const own = typeof chosen === 'string' ? [] : (chosen[0] ?? [])
  const parts = settingsSaid(template).map(({ part, said }): TakenPart => ({
    part,
    said:
      part === 'subnets' && own.length > 0
        ? `Subnets: ${own.map(({ name, cidr }) => `${name} (${cidr})`).join(', ')}`
        : said,
    isTaken: !leftOut.includes(part),
    problem: problems[part] ?? null,
  }))
  const isRead =
    (store === undefined || stores !== undefined) &&
    (taken.subnets.length === 0 || free !== undefined)
  const [problem] = parts.flatMap((one) => one.problem ?? [])
  const can: Verdict =
    problem !== undefined
      ? no(problem)
      : isRead
        ? yes
        : no('The stores and subnets of the template are being read')
  return {
    parts,
    can,
    body: {
      ...firstSettingsOf(taken, storeId),
      ...(own.length > 0 && { subnet_ids: own.map(({ id }) => id) }),
    },
  }
}
