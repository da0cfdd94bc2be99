import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { clusterList } from '#contract/clusters/clusters.ts'
import { imageList, imageRemove } from '#contract/images.ts'
import { ccList } from '#contract/marketplace/ccs.ts'
import { offerList } from '#contract/marketplace/offers.ts'
import { subnetList } from '#contract/network/subnets.ts'
import { operationList, operationRetry } from '#contract/operations.ts'
import { rackList } from '#contract/racks/racks.ts'
import { serverList } from '#contract/servers/servers.ts'
import { authorize } from '#contract/sessions.ts'
import { apiClient, type Caller } from '../../tools/api-client.ts'
import { admin, demoProcess, isUp } from '../testing/demo-process.ts'

const { data, start, kill } = await demoProcess()

test('the whole demo shows two clusters, a subnet, an offer, commitments and a failed growth that a retry mends, and a start after a kill makes nothing twice', async () => {
  const whole = {
    STEELYARD_SIMULATE: undefined,
    STEELYARD_DATA: path.join(data, 'whole'),
    STEELYARD_SECOND_FACTOR_ROLES: undefined,
  }
  const begun = await start(whole)
  const signedIn = async (url: string) =>
    apiClient(url, (await apiClient(url).call(authorize, { body: admin })).accessToken).call
  await expect
    .poll(async () => (await (await signedIn(begun.url))(clusterList, { query: {} })).total, {
      timeout: 240_000,
    })
    .toBe(2)
  kill()
  await expect.poll(() => isUp(begun.url).catch(() => false), { timeout: 30_000 }).toBe(false)
  const { url, stop } = await start(whole, 'The demo is complete')
  const call = await signedIn(url)
  const clusters = await call(clusterList, { query: {} })
  const totals = async (asks: Caller) =>
    (
      await Promise.all([
        asks(serverList, { query: {} }),
        asks(subnetList, { query: {} }),
        asks(imageList, { query: {} }),
        asks(offerList, { query: {} }),
        asks(ccList, { query: {} }),
        asks(rackList, { query: {} }),
      ])
    ).map(({ total }) => total)
  expect(clusters.items.map((c) => [c.name, c.status])).toEqual([
    ['fra-web-01', 'ready'],
    ['poz-render-01', 'ready'],
  ])
  expect(await totals(call)).toEqual([20, 1, 1, 1, 3, 3])
  const growth = async () =>
    (await call(operationList, { query: {} })).items.find((o) => o.kind === 'clusterGrow')!
  await expect.poll(async () => (await growth()).status, { timeout: 240_000 }).toBe('failed')
  await call(operationRetry, { params: { id: (await growth()).id }, body: {} })
  await expect.poll(async () => (await growth()).status, { timeout: 240_000 }).toBe('done')
  // As if a start had been killed between the image's join token and the image.
  const [image] = (await call(imageList, { query: {} })).items
  await call(imageRemove, { params: { id: image!.id } })
  expect(await stop()).toBe(0)

  // As if each step had been killed after the API's answer and before it was remembered.
  const file = path.join(data, 'whole/demo.json')
  const made = Object.entries(JSON.parse(readFileSync(file, 'utf8')) as object)
  writeFileSync(
    file,
    JSON.stringify(Object.fromEntries(made.filter(([name]) => name.startsWith('servers of')))),
  )
  const again = await start(whole, 'The demo is complete')
  expect(await totals(await signedIn(again.url))).toEqual([20, 1, 1, 1, 3, 3])
  expect(await again.stop()).toBe(0)
}, 600_000)
