// @vitest-environment happy-dom
import { readFileSync } from 'node:fs'
import { QueryClientProvider } from '@tanstack/react-query'
import { act, cleanup, render, screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { type Cluster, clusterGet } from '#contract/clusters/clusters.ts'
import { type OfferTool, offerToolGet } from '#contract/marketplace/offers.ts'
import { keyOf, queryClient } from '../../api/query.ts'
import { DialogContext } from '../../ui/overlay/dialogs.ts'
import ShowClusterKey from './ShowClusterKey.tsx'

const address = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const offerId = `0x9f2${'0'.repeat(57)}c41e`
const tool: OfferTool = {
  name: 'steelyard',
  version: '4.5.6',
  update_command: 'steelyard offer update --all',
  address_command:
    'steelyard offer set-access-address --offer-id {offerId} --address {chainAddress}',
}
const command = `steelyard offer set-access-address --offer-id ${offerId} --address ${address}`

const cluster = (name: string, more: Partial<Cluster> = {}): Cluster =>
  ({
    id: `id-${name}`,
    name,
    datacenter: { id: 'd', code: 'PL-POZ-1', country_code: 'PL' },
    chainAddress: address,
    offerId,
    offer_detection: 'found',
    offer_looking_since: null,
    offer_address_set: false,
    ...more,
  }) as Cluster

// The frame of a dialog loads when the first dialog opens, which takes long on a busy machine. Here
// it has loaded before.
beforeAll(() => import('../../ui/overlay/DialogView.tsx'))

/** Shows the dialog for these clusters, whose data is in the cache. */
async function show(...clusters: readonly Cluster[]): Promise<HTMLElement> {
  queryClient.setQueryData([keyOf(offerToolGet), {}], tool)
  for (const one of clusters)
    queryClient.setQueryData([keyOf(clusterGet), { params: { id: one.id } }], one)
  await act(async () =>
    render(
      <QueryClientProvider client={queryClient}>
        <DialogContext value={{ open: true, close: vi.fn<() => void>() }}>
          <ShowClusterKey clusterIds={clusters.map((one) => one.id)} />
        </DialogContext>
      </QueryClientProvider>,
    ),
  )
  return screen.getByRole('dialog', { name: "List of newly generated clusters' addresses" })
}

afterEach(() => {
  cleanup()
  queryClient.clear()
})

test('each cluster is listed with its address and its offer, shortened to 5 and 4 characters, and a click copies the whole value', async () => {
  const user = userEvent.setup()
  const dialog = await show(
    cluster('web'),
    cluster('db', { chainAddress: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359' }),
  )
  const [web, db] = within(dialog).getAllByRole('listitem')
  expect(web!.textContent).toContain('NEW CLUSTER ADDRESS')
  expect(web!.textContent).toContain('OFFERID TO UPDATE')
  expect(web!.textContent).toContain('0x5aA…eAed')
  expect(web!.textContent).toContain('0x9f2…c41e')
  expect(db!.textContent).toContain('0xfB6…d359')
  await user.click(within(web!).getByRole('button', { name: /Copy address of web/ }))
  expect(await navigator.clipboard.readText()).toBe(address)
  await user.click(within(web!).getByRole('button', { name: /Copy offer id of web/ }))
  expect(await navigator.clipboard.readText()).toBe(offerId)
})

test('a cluster without an address leads to its servers', async () => {
  const dialog = await show(cluster('web', { chainAddress: null }))
  expect(
    within(dialog).getByRole('link', { name: 'List of assign servers' }).getAttribute('href'),
  ).toBe('/infra/servers?cluster=web')
  expect(dialog.textContent).not.toContain('set-access-address')
})

test('a cluster whose offer is being looked for says so, and since when', async () => {
  const dialog = await show(
    cluster('web', {
      offerId: null,
      offer_detection: 'looking',
      offer_looking_since: new Date().toISOString(),
    }),
  )
  expect(within(dialog).getByText('Looking for Offers')).toBeTruthy()
  expect(dialog.textContent).toMatch(/since \d\d:\d\d/)
  expect(dialog.textContent).not.toContain('set-access-address')
  expect(dialog.textContent).not.toContain("wasn't detected")
})

test('after the search has ended without an offer, the dialog says so and looks no more', async () => {
  const dialog = await show(cluster('web', { offerId: null, offer_detection: 'not_found' }))
  expect(
    within(dialog).getByText(
      "OfferID wasn't detected automatically. Please contact the provider team.",
    ),
  ).toBeTruthy()
  expect(dialog.textContent).not.toContain('Looking for Offers')
  expect(dialog.textContent).not.toContain('set-access-address')
})

test('the command that updates existing offers is shown with the name and version of the tool', async () => {
  const user = userEvent.setup()
  const dialog = await show(cluster('web'))
  expect(dialog.textContent).toContain('Use steelyard version 4.5.6 to update existing offers:')
  await user.click(
    within(dialog).getByRole('button', { name: /Copy the command that updates existing offers/ }),
  )
  expect(await navigator.clipboard.readText()).toBe('steelyard offer update --all')
})

test('the command for the access address is shown shortened, and copying gives the whole command', async () => {
  const user = userEvent.setup()
  const dialog = await show(cluster('web'))
  const code = within(dialog).getByText(
    'steelyard offer set-access-address --offer-id 0x9f2…c41e --address 0x5aA…eAed',
  )
  await user.click(
    within(dialog).getByRole('button', {
      name: /Copy the command that sets the access address of web/,
    }),
  )
  expect(await navigator.clipboard.readText()).toBe(command)
  // A selection of the shortened text is copied as the whole command too.
  const copied = new Map<string, string>()
  const event = Object.assign(new Event('copy', { bubbles: true, cancelable: true }), {
    clipboardData: { setData: (type: string, text: string) => void copied.set(type, text) },
  })
  code.dispatchEvent(event)
  expect(copied.get('text/plain')).toBe(command)
})

test.each([
  ['an address that is one digit short', { chainAddress: address.slice(0, -1) }],
  ['an address with a line break', { chainAddress: `${address}\n` }],
  ['an offer id that is one digit short', { offerId: offerId.slice(0, -1) }],
  ['an offer id with an escape sequence', { offerId: `\u001b[8m${offerId}` }],
])('a value in a wrong format is neither shown nor part of a command: %s', async (_name, more) => {
  const dialog = await show(cluster('web', more))
  expect(dialog.textContent).not.toContain('set-access-address')
  expect(
    within(dialog).queryByRole('button', {
      name: 'chainAddress' in more ? /Copy address/ : /Copy offer id/,
    }),
  ).toBeNull()
})

test('with more than three clusters the list scrolls at 240 px, and can be scrolled by keyboard', async () => {
  const list = async (...names: string[]) =>
    within(await show(...names.map((name) => cluster(name)))).getByRole('list', {
      name: 'Clusters',
    })
  expect((await list('a', 'b', 'c')).hasAttribute('tabindex')).toBe(false)
  cleanup()
  const long = await list('a', 'b', 'c', 'd')
  expect(long.getAttribute('tabindex')).toBe('0')
  expect(long.className).toContain('scrolls')
  expect(readFileSync('console/src/features/clusters/ShowClusterKey.module.css', 'utf8')).toMatch(
    /\.scrolls \{[^}]*max-height: 240px;[^}]*overflow-y: auto;/,
  )
})

test('a cluster whose own key was kept shows no address, and says what that means', async () => {
  const dialog = await show(
    cluster('web', { chainAddress: null, kept: [{ object: 'cluster_key', address }] }),
  )
  expect(within(dialog).getByText('Kept key of others')).toBeTruthy()
  expect(dialog.textContent).toContain(
    `The cluster has the key of another Steelyard or of an earlier management, ${address}, which was kept.`,
  )
  expect(within(dialog).queryByRole('button', { name: /Copy address/ })).toBeNull()
})
