/** Screens of templates of clusters, with the data that they show. */
import { clusterTemplate, templateCreate } from '#contract/templates/templates.ts'
import type { Installation } from '../installation.ts'
import { dialog, nowhere, press, table } from './acts.ts'
import type { Screen } from './screen.ts'

/** A template that is like a cluster. */
export async function furnishTemplates(
  { call }: Installation,
  cluster: { id: string },
): Promise<void> {
  const { template } = await call(clusterTemplate, { params: { id: cluster.id } })
  await call(templateCreate, { body: { ...template, name: 'like-ready' } })
}

export const templateScreens: readonly Screen[] = [
  {
    name: 'templates',
    path: '/infra/templates',
    ready: (page) => table(page, 'Templates'),
  },
  {
    name: 'template-open',
    path: '/infra/templates',
    async ready(page) {
      await page.getByRole('cell', { name: 'like-ready' }).first().click()
      await page.getByRole('region', { name: 'YAML of like-ready' }).waitFor()
    },
  },
  {
    name: 'templates-no-match',
    path: '/infra/templates?q=nothing-is-called-so',
    ready: (page) => page.getByText('No template matches these filters.').waitFor(),
  },
  {
    name: 'template-save',
    path: (w) => `/infra/clusters/${w.ready.id}`,
    async ready(page, { ready }) {
      await press(page, 'More actions')
      await page.getByRole('menuitem', { name: 'Save as template' }).click()
      await dialog(page, `Save ${ready.name} as a template`)
      await page.getByText('Left out', { exact: true }).waitFor()
    },
  },
  {
    name: 'cluster-like',
    path: (w) => `/infra/clusters/create?like=${w.ready.id}`,
    ready: (page, { ready }) => page.getByText(`Like ${ready.name}`).waitFor(),
  },
  {
    name: 'cluster-like-servers',
    path: (w) => `/infra/clusters/create?like=${w.ready.id}`,
    async ready(page, { ready }) {
      await page.getByText(`Like ${ready.name}`).waitFor()
      await page.getByLabel('Name', { exact: true }).fill('like-it')
      await press(page, 'Choose servers')
      await page.getByText('Not chosen', { exact: true }).waitFor()
    },
  },
  {
    name: 'cluster-template-gone',
    path: `/infra/clusters/create?template=${nowhere}`,
    ready: (page) => page.getByText('The template is gone').waitFor(),
  },
]
