/**
 * The main path of a subnet in a journey that has a ready cluster: added, assigned, in use; in the
 * full run, taken back. `long/network.long.e2e.ts` shows the rest of the pages of subnets.
 */
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { type Subnet, subnetList } from '#contract/network/subnets.ts'
import { longTest } from '../../tools/testing/long-test.ts'
import { type Installation, until } from '../installation.ts'
import { ofJourneys } from '../screens/frequent.ts'
import { lookAtEach } from '../screens/look.ts'
import { subnetsPage } from './subnets-page.ts'

const name = 'poz-public-b'

/** Defines the tests. */
export function subnetsOfCluster(
  seen: () => { installation: Installation; page: Page; cluster: Cluster },
): void {
  const { row, map, notice, act, press } = subnetsPage(() => seen().page)
  const stored = async (): Promise<Subnet | undefined> =>
    (await seen().installation.call(subnetList, { query: {} })).items.find((s) => s.name === name)

  describe('subnets', () => {
    test('a subnet is previewed with its exclusions, and added', async () => {
      const { page, cluster } = seen()
      await page.goto(`/infra/network/add-subnet?datacenter=${cluster.datacenter.code}`)
      await page.getByLabel('Name', { exact: true }).fill(name)
      await page.getByLabel('CIDR').fill('198.18.7.0/26')
      await page.getByLabel('Gateway').fill('198.18.7.1')
      await page.getByLabel('Exclude IPs').fill('198.18.7.2 - 198.18.7.8, 198.18.7.9\n198.18.7.20')
      const space = page.getByRole('complementary', { name: 'The space' })
      await space.getByText('52', { exact: true }).first().waitFor()
      await press('Add subnet')
      await notice(`${name} was added`).waitFor()
      await map().waitFor()
      expect(await stored()).toMatchObject({
        exclude: ['198.18.7.2-198.18.7.9', '198.18.7.20'],
        total: 52,
        status: 'unassigned',
      })
    })

    test('it is assigned to the cluster after a review of exactly its addresses, and ends Active', async () => {
      const { page, cluster } = seen()
      await act(name, 'Assign to a cluster')
      await page
        .getByRole('radiogroup', { name: 'Cluster' })
        .getByRole('radio', { name: new RegExp(cluster.name) })
        .check()
      await press('Choose subnets')
      await press('Review')
      const manifest = page.getByRole('group', { name: 'Manifest before and after' })
      await manifest.getByText('CiliumLoadBalancerIPPool').waitFor()
      expect((await manifest.innerText()).match(/198\.18\.7\.\d+/g)).toEqual([
        '198.18.7.10',
        '198.18.7.19',
        '198.18.7.21',
        '198.18.7.62',
      ])
      await press('Assign 1 subnet')
      await page
        .getByText(`Done: the subnets of ${cluster.name} are changed as requested.`)
        .waitFor({ timeout: 60_000 })
      await page.getByRole('link', { name: 'Back to Network' }).click()
      await row(name).getByText('Active').waitFor()
    })

    test('its map says what uses an address, and its pages are accessible and fit the screen', async () => {
      const { page, cluster } = seen()
      await until('Services have addresses', async () => ((await stored())?.used ?? 0) > 0)
      await lookAtEach(page, ofJourneys.subnets, { subnet: (await stored())! })
      const card = page.getByRole('group', { name: /^About / })
      await card.getByText('Service', { exact: true }).waitFor()
      await card.getByRole('link', { name: cluster.name }).waitFor()
    })

    longTest(
      'it drains, and is taken away at once only after the name of the cluster was typed',
      async () => {
        const { page, cluster } = seen()
        await page.goto('/infra/network')
        await act(name, `Unassign from ${cluster.name}`)
        await page
          .getByRole('list', { name: 'Services with these addresses' })
          .getByRole('listitem')
          .first()
          .waitFor()
        await press('Unassign 1 subnet')
        await expect.poll(async () => (await stored())?.status).toBe('draining')
        await page.getByRole('link', { name: 'Back to Network' }).click()
        await row(name).getByText('Draining').waitFor()
        await act(name, `Unassign from ${cluster.name} at once`)
        await press('Unassign 1 subnet')
        const question = page.getByRole('dialog', {
          name: `Unassign 1 subnet from ${cluster.name} without waiting?`,
        })
        const unassign = question.getByRole('button', { name: 'Unassign at once' })
        expect(await unassign.getAttribute('aria-disabled')).toBe('true')
        await question.getByLabel(/to confirm/).fill(cluster.name)
        await unassign.click()
        await page
          .getByText(`Done: the subnets of ${cluster.name} are changed as requested.`)
          .waitFor({ timeout: 60_000 })
        await page.goto('/infra/network')
        await row(name).getByText('Unassigned').waitFor()
        await act(name, 'Remove')
        await page
          .getByRole('dialog', { name: `Remove ${name}?` })
          .getByRole('button', { name: 'Remove' })
          .click()
        await page.getByRole('heading', { name: 'No subnets yet' }).waitFor()
      },
    )
  })
}
