/** What screens wait for and press. */
import type { Page } from 'playwright-core'

export const heading = (page: Page, name: string | RegExp) =>
  page.getByRole('heading', { level: 1, name }).waitFor()
export const table = (page: Page, name: string) =>
  page.getByRole('table', { name, exact: true }).waitFor()
export const dialog = (page: Page, name: string | RegExp) =>
  page.getByRole('dialog', { name }).waitFor()
export const press = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name }).first().click()

/**
 * Waits for a chart of what is measured each minute. Its first line needs two measurements after the
 * data of the screens was made, and the page asks for them once a minute.
 */
export const charted = (page: Page, name: string) =>
  page.getByRole('slider', { name: `${name}: moment` }).waitFor({ timeout: 240_000 })

/** Chooses an item of the menu of a row. */
export async function rowAction(page: Page, row: string, item: string): Promise<void> {
  await press(page, `Actions for ${row}`)
  await page.getByRole('menuitem', { name: item }).click()
}

/** An id that nothing has. */
export const nowhere = '00000000-0000-4000-8000-000000000000'
