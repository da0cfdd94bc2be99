/** Screens of images, join tokens and servers in trouble, with the data that they show. */
import { imageCreate, imageFactoryGet } from '#contract/images.ts'
import { joinTokenArrivals, joinTokenCreate, joinTokenRevoke } from '#contract/join-tokens.ts'
import type { Server } from '#contract/servers/servers.ts'
import { type Installation, until } from '../installation.ts'
import { dialog, press, rowAction, table } from './acts.ts'
import type { JoiningWorld, Screen } from './screen.ts'

/** `twin`: a free server. `worker`: a worker of the ready cluster. */
export async function furnishJoining(
  { call, simulator }: Installation,
  twin: Server,
  worker: Server,
): Promise<JoiningWorld> {
  const [factory, token, spent] = await Promise.all([
    call(imageFactoryGet, {}),
    call(joinTokenCreate, {
      body: { name: 'rack-7', datacenter_id: twin.datacenter!.id, max_uses: 10 },
    }),
    call(joinTokenCreate, { body: { name: 'rack-6', lifetime_hours: null } }),
  ])
  const image = await call(imageCreate, {
    body: {
      talos_version: factory.versions[0]!,
      extensions: ['siderolabs/amd-ucode', 'siderolabs/iscsi-tools'],
      kernel_args: ['console=ttyS0'],
      datacenter_id: twin.datacenter!.id,
      token_id: token.id,
    },
  })
  await simulator('/boot', { kernel_command_line: image.kernel_command_line })
  await call(joinTokenRevoke, { params: { id: spent.id } })
  await until('one has joined', async () =>
    (await call(joinTokenArrivals, { params: { id: token.id }, query: {} })).items.some(
      (a) => a.result === 'joined',
    ),
  )
  return { image: { id: image.id, tokenName: token.name }, worker }
}

export const joiningScreens: readonly Screen[] = [
  {
    name: 'datacenters-row-open',
    path: '/infra/datacenters',
    async ready(page) {
      await press(page, 'Details of PL-POZ-1')
      await page.getByText('Facility', { exact: true }).waitFor()
    },
  },
  {
    name: 'datacenter-edit',
    path: '/infra/datacenters',
    async ready(page) {
      await rowAction(page, 'PL-POZ-1', 'Edit')
      await dialog(page, 'Edit PL-POZ-1')
    },
  },
  {
    name: 'datacenter-problems',
    path: '/infra/datacenters',
    async ready(page) {
      await press(page, 'Add datacenter')
      await page.getByLabel('Latitude').fill('91')
      await page.getByRole('dialog').getByRole('button', { name: 'Add datacenter' }).click()
      await page.getByText('Enter the name of the city').waitFor()
    },
  },
  {
    name: 'prepare-image',
    path: '/infra/servers/prepare-image',
    async ready(page) {
      await page.getByText('Simulated image factory: these files boot no real machine').waitFor()
      await page.getByRole('list', { name: /^Extensions for v/ }).waitFor()
      await table(page, 'Earlier images')
    },
  },
  {
    name: 'prepare-image-problems',
    path: '/infra/servers/prepare-image',
    async ready(page) {
      await page.getByRole('list', { name: /^Extensions for v/ }).waitFor()
      // A saved draft may have a token already. Empty the form.
      await press(page, 'Start over')
      await page.getByLabel('Extra kernel arguments').fill('two words')
      await press(page, 'Generate')
      await page.getByText('Choose a join token, or none', { exact: true }).waitFor()
      await page.getByText(/^Line 1: /).waitFor()
      // The page has scrolled to the first error, which has the focus. Scroll back to the top, so
      // that the header doesn't partly cover an element.
      await page.evaluate('scrollTo(0, 0)')
    },
  },
  {
    name: 'prepare-image-generated',
    path: (w) => `/infra/servers/prepare-image?image=${w.image.id}`,
    ready: (page) =>
      page
        .getByRole('region', { name: 'Generated image' })
        .getByText('Confirmed by the image factory')
        .waitFor(),
  },
  {
    name: 'prepare-image-used-again',
    path: '/infra/servers/prepare-image',
    async ready(page) {
      await press(page, /^Details of the image of/)
      await page.getByRole('region', { name: 'PXE script' }).waitFor()
      await rowAction(page, 'the image of', 'Use again')
      await page.getByRole('list', { name: 'Chosen extensions' }).waitFor()
    },
  },
  {
    name: 'prepare-image-command',
    path: '/infra/servers/prepare-image',
    anew: true,
    async ready(page) {
      await rowAction(page, 'the image of', 'Use again')
      await page.getByRole('list', { name: 'Chosen extensions' }).waitFor()
      await press(page, 'Command')
      await page
        .getByRole('dialog', { name: 'As a command' })
        .getByText(/^steelyard image create/)
        .waitFor()
    },
  },
  {
    name: 'join-tokens',
    path: '/infra/servers/join-tokens',
    ready: (page) => table(page, 'Join tokens'),
  },
  {
    name: 'join-tokens-row-open',
    path: '/infra/servers/join-tokens',
    async ready(page, { image }) {
      await press(page, `Details of ${image.tokenName}`)
      await page
        .getByRole('table', { name: `Servers announced with ${image.tokenName}` })
        .getByText('Joined', { exact: true })
        .waitFor()
    },
  },
  {
    name: 'join-tokens-no-match',
    path: '/infra/servers/join-tokens?q=nothing-is-called-so',
    ready: (page) => page.getByText('No join token matches these filters.').waitFor(),
  },
  {
    name: 'join-token-create',
    path: '/infra/servers/join-tokens',
    async ready(page) {
      await press(page, 'Create token')
      await page.getByRole('dialog').getByLabel('Lifetime').selectOption('other')
      await page.getByRole('dialog').getByRole('button', { name: 'Create token' }).click()
      await page.getByText('Lifetime must be a whole number of hours').waitFor()
    },
  },
  {
    name: 'join-token-created',
    path: '/infra/servers/join-tokens',
    async ready(page) {
      await press(page, 'Create token')
      await page
        .getByRole('dialog')
        .getByLabel('Name')
        .fill(`shown-once-${Date.now() % 1_000_000_000}`)
      await page.getByRole('dialog').getByRole('button', { name: 'Create token' }).click()
      await page.getByText('Copy the token now: it is not shown again.').waitFor()
    },
  },
  {
    name: 'join-token-revoke',
    path: '/infra/servers/join-tokens',
    async ready(page, { image }) {
      await rowAction(page, image.tokenName, 'Revoke')
      await dialog(page, `Revoke ${image.tokenName}?`)
    },
  },
  {
    name: 'bmcs',
    path: '/infra/servers/bmcs',
    ready: (page) => page.getByRole('heading', { name: 'No BMCs yet' }).waitFor(),
  },
  {
    name: 'bmcs-add',
    path: '/infra/servers/bmcs',
    async ready(page) {
      await press(page, 'Add BMCs')
      await page.getByRole('dialog').getByRole('button', { name: 'Look at them' }).click()
      await page.getByText('Enter at least one address').waitFor()
    },
  },
  {
    name: 'bmc-credential-add',
    path: '/infra/servers/bmcs',
    async ready(page) {
      await press(page, 'Add credential')
      await page.getByRole('dialog').getByRole('button', { name: 'Add credential' }).click()
      await page.getByText('Enter a name', { exact: true }).waitFor()
    },
  },
  {
    name: 'server-reset',
    path: (w) => `/infra/servers?cluster=${w.ready.name}`,
    async ready(page, { worker }) {
      await rowAction(page, worker.name, 'Reset to maintenance')
      await dialog(page, `Reset ${worker.name} to maintenance?`)
    },
  },
  {
    name: 'servers-assign-some',
    path: '/infra/servers',
    async ready(page, { server, worker }) {
      for (const { name } of [server, worker])
        await page.getByRole('checkbox', { name: `Select ${name}` }).check()
      // On narrow screens this action is in the menu of the selection.
      const assign = page
        .getByRole('region', { name: 'Selection' })
        .getByRole('button', { name: 'Assign datacenter' })
      if (await assign.isVisible()) await assign.click()
      else {
        await press(page, 'More for the selection')
        await page.getByRole('menuitem', { name: 'Assign datacenter' }).click()
      }
      await page.getByText(/can’t be moved, and stays selected/).waitFor()
    },
  },
]
