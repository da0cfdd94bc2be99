/** What screens wait for and press. */
import type { Locator, Page } from 'playwright-core'
import { admin } from '../installation.ts'

export const heading = (page: Page, name: string | RegExp) =>
  page.getByRole('heading', { level: 1, name }).waitFor()
export const table = (page: Page, name: string) =>
  page.getByRole('table', { name, exact: true }).waitFor()
export const dialog = (page: Page, name: string | RegExp) =>
  page.getByRole('dialog', { name }).waitFor()
export const press = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name }).first().click()

/**
 * Waits for what a call that needs a recent proof of identity shows. On a busy machine the sign-in
 * may be older than 15 minutes: then the dialog asks for the password first.
 */
export async function afterProof(page: Page, shown: Locator): Promise<void> {
  const proof = page.getByRole('dialog', { name: 'Confirm that it is you' })
  await shown.or(proof).waitFor()
  if (await proof.isVisible()) {
    await proof.getByLabel('Password', { exact: true }).fill(admin.password)
    await proof.getByRole('button', { name: 'Confirm' }).click()
  }
  await shown.waitFor()
}

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
