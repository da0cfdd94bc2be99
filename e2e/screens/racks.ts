/** Screens of racks, with the data that they show. */
import { rackCreate, serverPlace } from '#contract/racks/racks.ts'
import { serverList } from '#contract/servers/servers.ts'
import type { Installation } from '../installation.ts'
import { dialog, press, rowAction, table } from './acts.ts'
import type { RackWorld, Screen } from './screen.ts'

/** Places the servers of the datacenter of `first` in a rack: two in one chassis, one at the rear. */
export async function furnishRacks(
  { call }: Installation,
  first: { id: string },
): Promise<RackWorld> {
  const { items } = await call(serverList, { query: {} })
  const site = items.find(({ id }) => id === first.id)!.datacenter!
  const rack = await call(rackCreate, { body: { datacenter_id: site.id, name: 'A-07' } })
  await call(rackCreate, { body: { datacenter_id: site.id, name: 'A-08', units: 47 } })
  const here = items.filter(({ datacenter }) => datacenter?.id === site.id)
  for (const [i, { id }] of here.entries())
    await call(serverPlace, {
      params: { id },
      body: {
        rack_id: rack.id,
        unit: 40 - 3 * Math.max(i, 1),
        height: i < 2 ? 2 : 1,
        ...(i < 2 && { bay: i === 0 ? 'left' : 'right' }),
        ...(i === 2 && { face: 'rear' }),
      },
    })
  return { rack }
}

export const rackScreens: readonly Screen[] = [
  { name: 'racks', path: '/infra/racks', ready: (page) => table(page, 'Racks') },
  {
    name: 'rack-add',
    path: '/infra/racks',
    async ready(page) {
      await press(page, 'Add rack')
      await dialog(page, 'Add rack')
    },
  },
  {
    name: 'rack-edit',
    path: '/infra/racks',
    async ready(page) {
      await rowAction(page, 'A-07', 'Edit')
      await dialog(page, 'Edit A-07')
    },
  },
  {
    name: 'rack',
    path: (w) => `/infra/racks/${w.rack.id}`,
    ready: (page) => page.getByRole('group', { name: /^Rack A-07/ }).waitFor(),
  },
  {
    name: 'rack-place',
    path: (w) => `/infra/racks/${w.rack.id}`,
    async ready(page) {
      await press(page, 'Place a server')
      await dialog(page, 'Place a server in A-07')
    },
  },
]
