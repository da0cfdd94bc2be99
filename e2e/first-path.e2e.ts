/**
 * The main journey in the browser: from free servers to a running cluster and its kubeconfig, then
 * a restart that loses nothing.
 */
import { spawn } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type Server, serverGet, serverList } from '#contract/servers/servers.ts'
import { longTest } from '../tools/testing/long-test.ts'
import { closePages, inOneStory, launch, open, signIn, write } from './browser.ts'
import { admin, type Installation, startInstallation } from './installation.ts'

const name = 'poz-first-01'
let installation: Installation
let browser: Browser
let page: Page
let errors: string[]
/** Addresses of the five servers of the cluster. */
let servers: Server[]

beforeAll(async () => {
  ;[installation, browser] = await Promise.all([startInstallation(), launch()])
  const { items } = await installation.call(serverList, { query: {} })
  const free = items.filter(
    (s) => s.datacenter?.code === 'PL-POZ-1' && s.eligibility.every((e) => e.ok),
  )
  const octet = (s: Server) => Number(s.nodeAddresses[0]?.split('.').at(-1))
  servers = free.toSorted((a, b) => octet(a) - octet(b)).slice(0, 5)
  const watched = await open(browser, installation.url)
  ;({ page, errors } = watched)
  await watched.context.grantPermissions(['clipboard-read', 'clipboard-write'])
}, 120_000)
afterAll(async () => {
  await closePages()
  await installation?.stop()
})
inOneStory(() => ({ page, errors }))

const go = (to: string) =>
  page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: to }).click()
const patches = () => page.getByRole('table', { name: 'Patches' })
const body = () => page.getByRole('textbox', { name: 'Patch body, YAML' })
/** The status beside the cluster's name. */
const status = (word: string) =>
  page.getByRole('heading', { level: 1, name }).locator('../..').getByText(word, { exact: true })
const difference = () => page.getByRole('group', { name: 'Merged configuration before and after' })

describe('the first path', () => {
  test('signing in opens the overview', async () => {
    await page.goto('/')
    await page.getByRole('main').getByRole('link', { name: 'Sign in' }).click()
    await signIn(page)
    expect(new URL(page.url()).pathname).toBe('/')
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await page.getByRole('button', { name: 'Profile' }).click()
    await page.getByRole('menu', { name: 'Profile' }).getByText(admin.email).waitFor()
    await page.keyboard.press('Escape')
  })

  test('an expanded row shows the hardware of the server', async () => {
    await go('Servers')
    await page.getByRole('heading', { level: 1, name: /^Servers\s*12$/ }).waitFor()
    const [first] = servers
    const table = page.getByRole('table', { name: 'Servers', exact: true })
    await table.getByRole('button', { name: `Details of ${first!.name}` }).click()
    for (const what of ['Server info', 'Storage', 'Platform'])
      await table.getByRole('heading', { name: what }).waitFor()
    const detail = table
      .getByRole('row')
      .filter({ has: page.getByRole('heading', { name: 'Server info' }) })
    const { resources, identity } = await installation.call(serverGet, {
      params: { id: first!.id },
    })
    const model = /\b\w*\d{4}\w*/.exec(resources.processors[0]!.product_name!)![0]
    const shown = await detail.innerText()
    for (const what of [
      model,
      identity.serial!,
      first!.nodeAddresses[0]!,
      ...resources.disks.map((d) => d.id),
      ...resources.interfaces.map((i) => i.id),
    ])
      expect(shown).toContain(what)
    await table.getByRole('link', { name: 'Open server' }).click()
    await page.getByRole('heading', { level: 1, name: first!.name }).waitFor()
  })

  test('the preview is shown beside the patch editor, and a patch can be saved, edited and deleted', async () => {
    await page.getByRole('link', { name: 'Create patch' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('kernel-tuning')
    await write(page, 'machine:\n  sysctls:\n    net.core.somaxconn: "4096"\n')
    await difference().getByText('net.core.somaxconn').waitFor()
    expect(await difference().getByTitle('kernel-tuning 500').count()).toBe(2)
    await page.getByText('Applied at install').waitFor()
    await page.getByText(/^Valid for Talos/).waitFor()
    await page.getByRole('button', { name: 'Create patch' }).click()
    await patches()
      .getByRole('row', { name: /kernel-tuning/ })
      .waitFor()

    await patches().getByRole('link', { name: 'Edit kernel-tuning' }).click()
    await expect.poll(() => body().innerText()).toContain('net.core.somaxconn')
    await write(page, 'machine:\n  sysctls:\n    net.core.somaxconn: "8192"\n')
    await page.getByRole('textbox', { name: /^Weight/ }).fill('520')
    await difference().getByText('"8192"').waitFor()
    await page.getByRole('button', { name: 'Save patch' }).click()
    await patches()
      .getByRole('row', { name: /kernel-tuning 520/ })
      .waitFor()

    await page.getByRole('link', { name: 'Create patch' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('mistake')
    await write(page, 'machine:\n  no_such_field: 1\n')
    await page.getByText("This patch can't be merged").waitFor()
    await page.getByRole('button', { name: 'Line 2' }).waitFor()
    await write(page, 'machine:\n  sysctls:\n    vm.swappiness: "1"\n')
    await difference().getByText('vm.swappiness').waitFor()
    await page.getByRole('button', { name: 'Create patch' }).click()
    await patches().getByRole('button', { name: 'Delete mistake' }).click()
    await page
      .getByRole('dialog', { name: 'Delete mistake?' })
      .getByRole('button', { name: 'Delete' })
      .click()
    await page.getByText('mistake was deleted').waitFor()
    await patches()
      .getByRole('row', { name: /mistake/ })
      .waitFor({ state: 'detached' })
    await patches()
      .getByRole('row', { name: /kernel-tuning/ })
      .waitFor()
  })

  test('a cluster of three control planes and two workers is created in three steps, and the timeline shows when it is ready', async () => {
    await go('Clusters')
    await page.getByRole('heading', { name: 'No clusters yet' }).waitFor()
    await page.getByRole('button', { name: 'Create cluster' }).first().click()

    await page.getByLabel('Name', { exact: true }).fill(name)
    await page
      .getByRole('combobox', { name: 'Datacenter' })
      .selectOption({ label: 'PL-POZ-1, Poznań  8 servers' })
    await page.getByRole('button', { name: 'Choose servers' }).click()

    for (const server of servers) await page.getByRole('checkbox', { name: server.name }).check()
    // The form proposes three control planes; the test chooses different servers.
    await page
      .getByText(
        /^Proposed as control planes: .* \(the smallest of the chosen servers by compute units/,
      )
      .waitFor()
    expect(
      await page
        .getByRole('group', { name: /^Role of / })
        .getByRole('button', { name: 'Control plane', pressed: true })
        .count(),
    ).toBe(3)
    for (const [i, server] of servers.entries()) {
      const role = page
        .getByRole('group', { name: `Role of ${server.name}` })
        .getByRole('button', { name: i < 3 ? 'Control plane' : 'Worker' })
      await role.click()
      expect(await role.getAttribute('aria-pressed')).toBe('true')
    }
    await page
      .getByRole('group', { name: servers[0]!.name, exact: true })
      .getByRole('link', { name: 'kernel-tuning' })
      .waitFor()
    await page
      .getByText('4 servers without a patch. You will be asked to confirm their networking.')
      .waitFor()
    await page.getByRole('button', { name: 'Review 5 servers' }).click()

    const configuration = page.getByLabel(`Configuration of ${servers[0]!.name}`)
    await page.getByRole('button', { name: new RegExp(`^${servers[0]!.name}`) }).click()
    const shown = await configuration.innerText()
    expect(shown).toContain('net.core.somaxconn')
    const secrets = shown.match(/^ *(key|token|secret|secretboxEncryptionSecret): .*/gm) ?? []
    expect(secrets.length).toBeGreaterThan(5)
    for (const secret of secrets) expect(secret).toMatch(/: ••••••••$/)
    await page.getByRole('button', { name: 'Create cluster' }).click()

    const question = page.getByRole('dialog', {
      name: 'Custom Talos Patches have not been created for these servers',
    })
    const listed = question
      .getByRole('list', { name: 'Servers without a patch' })
      .getByRole('listitem')
    await listed.first().waitFor()
    expect(await listed.count()).toBe(4)
    for (const server of servers.slice(1))
      expect(await listed.filter({ hasText: server.name }).innerText()).toContain('Warning')
    const documentation = await question
      .getByRole('link', { name: 'official documentation' })
      .getAttribute('href')
    expect(documentation).toBe('/docs/connecting-servers')
    expect(await (await page.request.get(documentation!)).text()).toContain(
      'Connecting servers with Kubernetes',
    )

    await question.getByRole('button', { name: 'Proceed' }).click()
    await page.waitForURL('**/infra/clusters/*?tab=timeline')
    const timeline = page.getByRole('list', { name: `Create cluster ${name}` })
    await timeline.locator('[aria-current="step"]').first().waitFor()
    await page
      .getByRole('table', { name: 'Every server, every step' })
      .getByRole('link', { name: servers[4]!.name })
      .waitFor()
    // The steps were seen while they ran.
    await installation.hurry(20)
    await status('Ready').waitFor({ timeout: 90_000 })
    await page.getByText(/^done in /).waitFor()
    const steps = await timeline.getByRole('listitem').allInnerTexts()
    expect(steps.length).toBeGreaterThan(5)
    for (const step of steps) expect(step).toMatch(/, (done|skipped)/)
  })

  test('the key dialog shows the address of the cluster, and a click copies the full address', async () => {
    // At the end of the creation.
    await page.getByRole('main').getByRole('button', { name: 'Show cluster key' }).click()
    const dialog = page.getByRole('dialog', { name: "List of newly generated clusters' addresses" })
    const address = dialog.getByRole('button', { name: `Copy address of ${name}` })
    const whole = await address.getAttribute('title')
    expect(whole).toMatch(/^0x[0-9a-fA-F]{40}$/)
    expect(await address.innerText()).toContain(`${whole!.slice(0, 5)}…${whole!.slice(-4)}`)
    await address.click()
    await dialog.getByText('Copied').waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(whole)
    await dialog.getByText('Looking for Offers').waitFor()
    await dialog.getByRole('button', { name: 'OK' }).click()
    await dialog.waitFor({ state: 'detached' })
  })

  test('the downloaded kubeconfig opens the cluster', async () => {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Kubeconfig', exact: true }).click(),
    ])
    expect(download.suggestedFilename()).toBe(`${name}-kubeconfig.yaml`)
    kubeconfig = parse(await readFile(await download.path(), 'utf8')) as Kubeconfig
    expect(kubeconfig.clusters[0]!.cluster.server).toBe(
      `https://${servers[0]!.nodeAddresses[0]}:6443`,
    )
    const nodes = JSON.parse(await askKubernetes('GET', '/api/v1/nodes')) as Nodes
    const ready = nodes.items.filter((n) =>
      n.status.conditions.some((c) => c.type === 'Ready' && c.status === 'True'),
    )
    expect(ready.map((n) => n.metadata.name).toSorted()).toEqual(
      servers.map((s) => s.name).toSorted(),
    )
  })

  longTest(
    'the commands of the key dialog, copied into a shell, do what they say, and the dialog shows each change without a reload',
    async () => {
      await page
        .getByRole('navigation', { name: 'Cluster' })
        .getByRole('link', { name: 'Settings' })
        .click()
      await page.getByRole('button', { name: 'Make an offer' }).click()
      const making = page.getByRole('dialog', { name: `Make an offer of ${name}` })
      await making.getByRole('textbox', { name: 'Price' }).fill('0.05')
      await making.getByRole('textbox', { name: 'Currency' }).fill('EUR')
      await making.getByRole('button', { name: 'Make offer' }).click()
      await page
        .getByRole('region', { name: 'Offer' })
        .getByText('0.05 EUR per CU and hour')
        .waitFor()

      const shell = await shellWithClient()
      await shell.run(
        `steelyard login ${admin.email} --url ${installation.url} --password-stdin`,
        `${admin.password}\n`,
      )
      await page.getByRole('button', { name: 'More actions' }).click()
      await page.getByRole('menuitem', { name: 'Show cluster key' }).click()
      const dialog = page.getByRole('dialog', {
        name: "List of newly generated clusters' addresses",
      })
      await dialog.getByText('Use steelyard version').waitFor()
      const copied = async (what: string) => {
        const copy = dialog.getByRole('button', { name: what })
        await copy.click()
        // "Copied" of an earlier click may still be shown elsewhere in the dialog.
        await copy.locator('..').getByText('Copied').waitFor()
        return page.evaluate<string>('navigator.clipboard.readText()')
      }
      expect(
        await shell.run(await copied('Copy the command that updates existing offers')),
      ).toContain('no change')
      await dialog.getByRole('button', { name: `Set access address of ${name}` }).waitFor()
      const command = await copied(`Copy the command that sets the access address of ${name}`)
      expect(command).toMatch(
        /^steelyard offer set-access-address --offer-id 0x[0-9a-f]{64} --address 0x[0-9a-fA-F]{40}$/,
      )
      expect(await shell.run(command)).toContain(`The access address of the offer of ${name} is 0x`)
      await dialog.getByText('Not in use').waitFor()

      // The cluster proves that it holds the key, by the manifest of the documentation.
      const [offerId] = /0x[0-9a-f]{64}/.exec(command)!
      const manifest = /^```yaml\n([\s\S]*?)^```/m.exec(
        await readFile('docs/offers.md', 'utf8'),
      )![1]!
      const filled = manifest
        .replace('https://steelyard.example.com', installation.url)
        .replace(/0x[0-9a-f]{64}/, offerId)
      const data = { 'prove-offer.mjs': await readFile('docs/prove-offer.mjs', 'utf8') }
      const configMap = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'steelyard-proof' },
        data,
      }
      await askKubernetes(
        'PATCH',
        '/api/v1/namespaces/kube-system/configmaps/steelyard-proof',
        JSON.stringify(configMap),
      )
      await askKubernetes(
        'PATCH',
        '/apis/apps/v1/namespaces/kube-system/deployments/steelyard-proof',
        filled,
      )
      await dialog.getByText('In use', { exact: true }).waitFor()
      await dialog.getByRole('button', { name: 'OK' }).click()
      await dialog.waitFor({ state: 'detached' })
      await page
        .getByRole('region', { name: 'Offer' })
        .getByText('In use', { exact: true })
        .waitFor()
      await page.keyboard.press('Control+k')
      await page
        .getByRole('dialog', { name: 'Search and commands' })
        .getByRole('combobox')
        .fill('list offer')
      await page.getByRole('option', { name: /List offer/ }).click()
      await page
        .getByRole('region', { name: 'Offer' })
        .getByText('Listed', { exact: true })
        .waitFor()
      await shell.remove()
      await page
        .getByRole('navigation', { name: 'Cluster' })
        .getByRole('link', { name: 'Changes' })
        .click()
      await page.getByText(/^done in /).waitFor()
    },
  )

  longTest('all data is still there after a restart', async () => {
    await installation.restart()
    errors.splice(0)
    await page.reload()
    await page.getByRole('heading', { level: 1, name }).waitFor()
    await status('Ready').waitFor({ timeout: 60_000 })
    await page.getByText(/^done in /).waitFor()

    await go('Servers')
    for (const server of servers) {
      const row = page.getByRole('row', { name: new RegExp(server.name) })
      await row.getByText('Ready', { exact: true }).waitFor()
      await row.getByRole('link', { name, exact: true }).waitFor()
    }
    await page.getByRole('link', { name: servers[0]!.name, exact: true }).click()
    await page
      .getByRole('navigation', { name: 'Server' })
      .getByRole('link', { name: /^Configuration/ })
      .click()
    await patches()
      .getByRole('row', { name: /kernel-tuning 520/ })
      .waitFor()
    expect(
      await patches()
        .getByRole('row', { name: /mistake/ })
        .count(),
    ).toBe(0)
    await patches().getByRole('link', { name: 'Edit kernel-tuning' }).click()
    await expect.poll(() => body().innerText()).toContain('net.core.somaxconn: "8192"')
  })
})

interface Kubeconfig {
  clusters: { cluster: { server: string; 'certificate-authority-data': string } }[]
  users: { user: { 'client-certificate-data': string; 'client-key-data': string } }[]
}
interface Nodes {
  items: {
    metadata: { name: string }
    status: { conditions: { type: string; status: string }[] }
  }[]
}

const decoded = (base64: string) => Buffer.from(base64, 'base64').toString('utf8')

/** The downloaded kubeconfig of the cluster. */
let kubeconfig: Kubeconfig

/**
 * Calls the cluster's Kubernetes API with the downloaded kubeconfig. A body is applied as
 * server-side apply does.
 */
function askKubernetes(method: 'GET' | 'PATCH', path: string, body = ''): Promise<string> {
  const [cluster, user] = [kubeconfig.clusters[0]!.cluster, kubeconfig.users[0]!.user]
  const tls = {
    ca: decoded(cluster['certificate-authority-data']),
    cert: decoded(user['client-certificate-data']),
    key: decoded(user['client-key-data']),
  }
  const url = `${cluster.server}${path}${method === 'PATCH' ? '?fieldManager=e2e&force=true' : ''}`
  return new Promise((resolve, reject) => {
    const asked = request(
      url,
      { ...tls, method, headers: { 'content-type': 'application/apply-patch+yaml' } },
      (response) => {
        let answer = ''
        response.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk))
        response.on('end', () =>
          response.statusCode! < 300
            ? resolve(answer)
            : reject(new Error(`${response.statusCode} ${answer}`)),
        )
      },
    )
    asked.on('error', reject).end(body)
  })
}

/** A shell in which `steelyard` is the file that the installation serves at /cli. */
async function shellWithClient() {
  const folder = await mkdtemp(join(tmpdir(), 'sy-e2e-shell-'))
  const file = join(folder, 'steelyard')
  const answer = await fetch(`${installation.url}/cli`)
  expect(answer.status).toBe(200)
  await writeFile(file, await answer.text())
  await chmod(file, 0o755)
  const PATH = [folder, dirname(process.execPath), process.env['PATH']].join(delimiter)
  return {
    /** Runs a command line and returns its output. */
    async run(line: string, input = ''): Promise<string> {
      const child = spawn('sh', ['-c', line], { env: { PATH, HOME: folder } })
      child.stdin.end(input)
      const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
      const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
      if (code !== 0) throw new Error(`${line} ended with ${code}: ${err}`)
      return out
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
