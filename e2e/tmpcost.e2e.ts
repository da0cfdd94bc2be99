import { test } from 'vitest'
import { launch, open, signIn } from './browser.ts'
import { startInstallation } from './installation.ts'
import { pageCosts } from '../tools/bench/console.ts'
import { admin } from './installation.ts'
test('x', async () => {
  const installation = await startInstallation({ servers: 3 })
  const browser = await launch()
  console.log(JSON.stringify(await pageCosts(browser, installation.url, admin)))
  const { page } = await open(browser, installation.url)
  await signIn(page)
  await page.goto('about:blank')
  const urls: string[] = []
  page.on('request', (r) => urls.push(r.url().replace(installation.url, '')))
  await page.goto('/infra/clusters/create')
  await page.getByRole('contentinfo').getByText('Live', { exact: true }).waitFor()
  await page.waitForTimeout(1500)
  console.log(urls.join('\n'))
  await browser.close(); await installation.stop()
})
