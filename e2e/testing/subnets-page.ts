import type { Page } from 'playwright-core'

/** The console's page of subnets, as a user sees and uses it. */
export const subnetsPage = (page: () => Page) => {
  const list = () => page().getByRole('table', { name: 'Subnets', exact: true })
  return {
    list,
    row: (name: string) => list().getByRole('row', { name: new RegExp(`Actions for ${name}`) }),
    map: () => page().getByRole('grid', { name: /^Addresses of / }),
    notice: (text: string | RegExp) =>
      page()
        .getByRole('region', { name: /^Notices/ })
        .getByText(text),
    act: async (subnet: string, item: string | RegExp): Promise<void> => {
      await page()
        .getByRole('button', { name: `Actions for ${subnet}` })
        .click()
      await page().getByRole('menuitem', { name: item }).click()
    },
    press: async (name: string | RegExp): Promise<void> => {
      await page().getByRole('button', { name }).click()
    },
  }
}
