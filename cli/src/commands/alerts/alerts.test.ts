import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  type Channel,
  channelCreate,
  channelList,
  channelTest,
  channelUpdate,
  isSigningSecret,
} from '#contract/alerts/channels.ts'
import { type AlertRule, alertRuleCreate } from '#contract/alerts/rules.ts'
import { type Silence, silenceCreate } from '#contract/alerts/silences.ts'
import { startApi } from '../../testing/api.ts'
import { startCli } from '../../testing/cli.ts'
import { id, pageOf } from '../../testing/things.ts'

const at = '2026-11-20T08:00:00.000Z'
const onCall: Channel = {
  id: id(1),
  name: 'on-call',
  kind: 'webhook',
  url: 'https://hooks.example.com/in',
  host: null,
  port: null,
  security: null,
  from: null,
  to: null,
  user: null,
  has_secret: true,
  former_secret_until: null,
  paused: false,
  verified_at: null,
  problem: null,
  problem_since: null,
  gone_since: null,
  version: 3,
  created_at: at,
  updated_at: at,
}

const matchers = { severities: [], kinds: [], datacenters: [], clusters: [] }
const changed = { version: 1, created_at: at, updated_at: at }
const rule: AlertRule = {
  id: id(3),
  name: 'nights',
  ...matchers,
  channels: null,
  wait_minutes: 0,
  digest_at: null,
  remind_hours: null,
  paused: false,
  ...changed,
}
const silence: Silence = {
  id: id(4),
  note: 'tests',
  ...matchers,
  object: null,
  starts_at: at,
  ends_at: at,
  repeats: null,
  by: 'ada@example.com',
  state: 'active',
  ...changed,
}

async function ready() {
  const api = await startApi()
  api.on(channelList, () => pageOf([onCall]))
  api.on(channelCreate, () => onCall)
  api.on(channelUpdate, () => ({ ...onCall, former_secret_until: at }))
  api.on(alertRuleCreate, () => rule)
  api.on(silenceCreate, () => silence)
  return { api, cli: await startCli(api) }
}

test('a webhook gets a new signing secret, which is printed once, or the one of a file', async () => {
  const { api, cli } = await ready()
  const added = await cli.run('channel add on-call --endpoint https://hooks.example.com/in')
  expect(added.exit).toBe(0)
  const { secret } = api.callsOf(channelCreate)[0]!.body as { secret: string }
  expect(isSigningSecret(secret)).toBe(true)
  expect(added.out).toContain(secret)
  const file = join(cli.folder, 'secret')
  await writeFile(file, `whsec_${Buffer.alloc(32).toString('base64')}\n`)
  const edited = await cli.run(`channel edit on-call --secret-file ${file}`)
  expect(edited).toMatchObject({
    exit: 0,
    out: expect.stringContaining('the former secret signs too until') as string,
  })
  expect(edited.out + edited.err).not.toContain('whsec_')
  expect(await cli.run('channel edit on-call --pause --resume')).toMatchObject({ exit: 2 })
})

test('a test message that does not arrive exits with 1 and the reason', async () => {
  const { api, cli } = await ready()
  api.on(channelTest, () => ({
    ok: false,
    problem: 'hooks.example.com refuses connections',
    status: null,
    answer: '',
    took_ms: 3,
    delivery_id: id(2),
  }))
  expect(await cli.run('channel test on-call')).toMatchObject({
    exit: 1,
    out: expect.stringContaining('refuses connections') as string,
  })
})

test('mail, rules and silences are sent as their options say', async () => {
  const { api, cli } = await ready()
  await cli.run(
    'channel add ops --host smtp.example.com --from s@example.com --to a@example.com,b@example.com',
  )
  expect(api.callsOf(channelCreate)[0]!.body).toEqual({
    name: 'ops',
    kind: 'mail',
    host: 'smtp.example.com',
    from: 's@example.com',
    to: ['a@example.com', 'b@example.com'],
  })
  await cli.run('alert-rule add nights --severity down --channel on-call --remind-hours 0')
  expect(api.callsOf(alertRuleCreate)[0]!.body).toEqual({
    name: 'nights',
    severities: ['down'],
    channel_ids: [id(1)],
    remind_hours: null,
  })
  await cli.run(
    'silence add --severity degraded --until 2027-03-01T00:00:00Z --day sun --from 02:00 --minutes 120 --note tests',
  )
  expect(api.callsOf(silenceCreate)[0]!.body).toEqual({
    note: 'tests',
    severities: ['degraded'],
    ends_at: '2027-03-01T00:00:00.000Z',
    repeats: { days: ['sun'], from: '02:00', minutes: 120, time_zone: 'UTC' },
  })
  for (const wrong of [
    'silence add --severity down --hours 2',
    'silence add --severity down --note x',
    'silence add --severity down --note x --hours 2 --until 2027-03-01T00:00:00Z',
  ])
    expect(await cli.run(wrong)).toMatchObject({ exit: 2 })
})
