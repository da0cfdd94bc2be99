/** Screens of operations and of the audit log. */
import type { Page } from 'playwright-core'
import type { Screen } from './screens.ts'

const table = (page: Page, name: string) => page.getByRole('table', { name, exact: true }).waitFor()
const dialog = (page: Page, name: string | RegExp) => page.getByRole('dialog', { name }).waitFor()
const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).first().click()
const nowhere = '00000000-0000-4000-8000-000000000000'

export const peopleScreens: readonly Screen[] = [
  { name: 'operations', path: '/operations', ready: (page) => table(page, 'Operations') },
  { name: 'operations-no-match', path: '/operations?q=nothing-is-called-so', ready: (page) => page.getByText('No operation matches these filters.').waitFor() },
  {
    name: 'operation-waiting',
    path: '/operations?status=open',
    async ready(page, { waiting }) {
      await page
        .getByRole('row', { name: new RegExp(waiting.name) })
        .getByRole('link')
        .first()
        .click()
      await page
        .getByRole('list', { name: /^Create cluster/ })
        .locator('[aria-current="step"]')
        .first()
        .waitFor()
    },
  },
  { name: 'operation-not-found', path: `/operations/${nowhere}`, ready: (page) => page.getByText('There is no such operation').waitFor() },
  { name: 'audit', path: '/audit', ready: (page) => table(page, 'Entries') },
  { name: 'audit-no-match', path: '/audit?q=nothing-is-called-so', ready: (page) => page.getByText('No entry matches these filters.').waitFor() },
  {
    name: 'audit-entry-open',
    path: '/audit?action=cluster.created',
    async ready(page) {
      await press(page, /^Details of entry/)
      await page.getByText('Recorded', { exact: true }).waitFor()
    },
  },
  {
    name: 'audit-period',
    path: '/audit',
    async ready(page) {
      await table(page, 'Entries')
      await press(page, 'More actions')
      await page.getByRole('menuitem', { name: 'Choose a period' }).click()
      await dialog(page, 'Choose a period')
    },
  },
  {
    name: 'audit-verify',
    path: '/audit',
    async ready(page) {
      await press(page, 'Verify')
      await dialog(page, 'Verify the audit log')
      await page.getByRole('dialog').getByRole('button', { name: 'Verify', exact: true }).click()
      await page.getByText(/^The audit log is intact: /).waitFor()
    },
  },
]
