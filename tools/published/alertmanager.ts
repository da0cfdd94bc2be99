/**
 * Tests what Steelyard sends to an Alertmanager against the real one (prometheus/alertmanager).
 * Needs Go and its module proxy (`conformance/go.ts`). `npm test` tests the bodies against a server
 * of its own.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseCidr } from '#contract/network/addresses.ts'
import { type Item, testContent } from '../../backend/src/domains/alerts/message.ts'
import { send } from '../../backend/src/domains/alerts/sending.ts'
import { endpointPolicy } from '../../backend/src/endpoints/policy.ts'
import { buildWithGo } from '../../conformance/go.ts'

const version = 'v0.28.1'
const say = (text: string) => process.stdout.write(`${text}\n`)
const folder = mkdtempSync(join(tmpdir(), 'alertmanager-'))

/** Builds the program and returns its path; null if it can't be built. */
function build(): string | null {
  const isBuilt = buildWithGo(
    'what Steelyard sends to an Alertmanager',
    ['install', `github.com/prometheus/alertmanager/cmd/alertmanager@${version}`],
    { env: { GOBIN: folder, GOFLAGS: '' } },
  )
  return isBuilt ? join(folder, 'alertmanager') : null
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

interface Alert {
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly startsAt: string
  readonly status: { readonly state: string }
}

const now = () => new Date()
const began = new Date(Date.now() - 60_000).toISOString()
const item: Item = {
  event: 'began',
  id: randomUUID(),
  kind: 'server_unreachable',
  severity: 'down',
  object: { kind: 'server', id: randomUUID(), name: 'web-1' },
  cluster: { id: randomUUID(), name: 'web' },
  datacenter: { id: randomUUID(), code: 'DE-FRA-1' },
  since: began,
  reason: 'No answer since 03:00 UTC.',
  remedies: [],
  affected: null,
  caused_by: null,
  ended_at: null,
  count: 1,
}

/** Returns what is wrong; empty if all is well. */
async function check(url: string): Promise<string[]> {
  const wrong: string[] = []
  const policy = endpointPolicy([parseCidr('127.0.0.0/8')!], {
    setting: 'STEELYARD_ALERT_NETWORKS',
    encrypted: 'the connection must be encrypted',
  })
  const signal = AbortSignal.timeout(120_000)
  const post = async (items: readonly Item[] | 'test') => {
    const content = items === 'test' ? testContent : { test: false, items, more: 0 }
    const { problem } = await send(
      { kind: 'alertmanager', url, user: null, secret: null },
      { id: randomUUID(), at: now(), content },
      { policy, origin: 'https://steelyard.example.com', now: now(), signal },
    )
    if (problem !== null) wrong.push(problem)
  }
  const active = async (): Promise<Alert[]> =>
    (await (await fetch(`${url}/api/v2/alerts?active=true`, { signal })).json()) as Alert[]
  const until = async (what: string, is: (alerts: Alert[]) => boolean) => {
    for (const end = Date.now() + 60_000; Date.now() < end; await wait(200))
      if (is(await active())) return
    wrong.push(`${what}: ${JSON.stringify(await active())}`)
  }
  const of = (name: string) => (alerts: Alert[]) =>
    alerts.filter((one) => one.labels['alertname'] === name)

  await post([item])
  await until('the open finding is active', (all) => of('server_unreachable')(all).length === 1)
  const [alert] = of('server_unreachable')(await active())
  const { severity, server, cluster, datacenter } = alert?.labels ?? {}
  if (`${severity} ${server} ${cluster} ${datacenter}` !== 'critical web-1 web DE-FRA-1')
    wrong.push(`labels ${JSON.stringify(alert?.labels)}`)
  if (alert?.annotations['description'] !== item.reason) wrong.push('the sentence is missing')
  if (Date.parse(alert?.startsAt ?? '') !== Date.parse(began)) wrong.push('another start')
  // Sent again, as the refresh does, it is still one alert; a changed sentence replaces the old one.
  await post([{ ...item, reason: 'It began 3 times within an hour.', count: 3 }])
  await until('it is one alert', (all) => {
    const mine = of('server_unreachable')(all)
    return mine.length === 1 && mine[0]!.annotations['description']!.startsWith('It began 3')
  })
  await post([{ ...item, event: 'ended', ended_at: now().toISOString() }])
  await until('the ended finding is resolved', (all) => of('server_unreachable')(all).length === 0)
  await post('test')
  await until('the test is active', (all) => of('steelyard_test')(all).length === 1)
  return wrong
}

const program = build()
if (program !== null) {
  const port = await freePort()
  writeFileSync(join(folder, 'config.yml'), 'route: {receiver: none}\nreceivers: [{name: none}]\n')
  const child = spawn(
    program,
    [
      `--config.file=${join(folder, 'config.yml')}`,
      `--storage.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--cluster.listen-address=',
    ],
    { stdio: 'ignore' },
  )
  const url = `http://127.0.0.1:${port}`
  try {
    for (const end = Date.now() + 60_000; ; await wait(100)) {
      const isReady = await fetch(`${url}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      )
      if (isReady) break
      if (Date.now() > end || child.exitCode !== null) throw new Error('Alertmanager did not start')
    }
    const wrong = await check(url)
    for (const one of wrong) say(`wrong: ${one}`)
    if (wrong.length > 0) process.exitCode = 1
    else say(`Alertmanager ${version} takes what Steelyard sends.`)
  } finally {
    child.kill()
  }
}
rmSync(folder, { recursive: true, force: true })
