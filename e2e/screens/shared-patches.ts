/** Screens of shared patches, with the data that they show. */
import { sharedPatchCreate } from '#contract/shared-patches/shared-patches.ts'
import type { Page } from 'playwright-core'
import { write } from '../browser.ts'
import type { Installation } from '../installation.ts'
import { dialog, nowhere, press, table } from './acts.ts'
import type { Screen, SharedPatchWorld } from './screen.ts'

const body = 'machine:\n  sysctls:\n    vm.max_map_count: "262144" # {{name}}\n'

/** A patch that the servers of a cluster lack, and one that is for no server. */
export async function furnishSharedPatches(
  { call }: Installation,
  cluster: { id: string },
): Promise<SharedPatchWorld> {
  const shared = await call(sharedPatchCreate, {
    body: { name: 'more-maps', body, targets: { cluster_ids: [cluster.id], roles: ['worker'] } },
  })
  await call(sharedPatchCreate, {
    body: { name: 'for-nobody', body, targets: {} },
  })
  return { shared }
}

const list = (page: Page) => table(page, 'Shared patches')

export const sharedPatchScreens: readonly Screen[] = [
  { name: 'shared-patches', path: '/infra/patches', ready: list },
  {
    name: 'shared-patches-no-match',
    path: '/infra/patches?q=nothing-is-called-so',
    ready: (page) => page.getByText('No shared patch matches these filters.').waitFor(),
  },
  {
    name: 'shared-patch',
    path: (w) => `/infra/patches/${w.shared.id}`,
    ready: (page, { shared }) => table(page, `Servers of ${shared.name}`),
  },
  {
    name: 'shared-patch-roll-out',
    path: (w) => `/infra/patches/${w.shared.id}`,
    async ready(page, { shared }) {
      await press(page, 'Roll out')
      await dialog(page, `Roll out ${shared.name}`)
    },
  },
  {
    name: 'shared-patch-not-found',
    path: `/infra/patches/${nowhere}`,
    ready: (page) => page.getByRole('heading', { name: 'Shared patch not found' }).waitFor(),
  },
  {
    name: 'shared-patch-create',
    path: '/infra/patches/create',
    async ready(page) {
      await page.getByLabel('Name', { exact: true }).fill('Not A Name')
      await write(page, 'machine:\n  sysctls:\n    vm.swappiness: "{{nmae}}"\n')
      await press(page, 'Preview')
      await page.getByText('There is no variable').first().waitFor()
    },
  },
  {
    name: 'shared-patch-edit',
    path: (w) => `/infra/patches/${w.shared.id}/edit`,
    async ready(page) {
      await press(page, 'Preview')
      await page.getByRole('list', { name: 'What changes, by likeness' }).waitFor()
    },
  },
]
