import { expect, test } from 'vitest'
import { silenceCreate, silenceRemove } from '#contract/alerts/silences.ts'
import { findingAcknowledge, findingList } from '#contract/findings/findings.ts'
import { overviewGet } from '#contract/overview.ts'
import { startBackend } from '../../testing/backend.ts'
import type { ChannelCondition } from '../alerts/api.ts'
import type { SnapshotCondition } from '../snapshots/api.ts'
import type { HaltedOperation } from '../operations/api.ts'
import { judgeInstallation } from './judge-installation.ts'
import { at, now } from './testing/conditions.ts'

const object = { kind: 'installation', id: 'own', name: 'Steelyard' } as const
const judged = (
  backups: Partial<SnapshotCondition> = {},
  failing: ChannelCondition['failing'] = [],
  halted: readonly HaltedOperation[] = [],
) =>
  judgeInstallation(
    {
      object,
      backups: { newest_at: null, schedule: null, failure: null, ...backups },
      channels: { total: 3, failing },
      halted,
    },
    now,
  ).map(({ kind, since, reason }) => [kind, since?.toISOString().slice(11, 16), reason])
const daysAgo = (days: number) => new Date(now - days * 86_400_000)
const daily = { every_hours: 24, paused: false, created_at: daysAgo(9), updated_at: daysAgo(9) }

test('a backup of Steelyard that failed is a finding with the newest one', () => {
  expect(judged()).toEqual([])
  expect(judged({ newest_at: daysAgo(3) })).toEqual([])
  expect(judged({ failure: { at: at('21:00:00'), reason: 'The store is full.' } })).toEqual([
    [
      'installation_backup_failed',
      '21:00',
      'No backup in a store can be restored. The last one failed: The store is full.',
    ],
  ])
})

test('an operation whose work ends Steelyard is a finding that leads to it', () => {
  const one = { operation_id: 'o-1', title: 'Create cluster web' }
  expect(judged({}, [], [one])).toEqual([
    [
      'installation_operation_halted',
      undefined,
      '"Create cluster web" ended Steelyard three times in a row while nothing else ran. Steelyard tries again by itself, at most once an hour; its log may say why.',
    ],
  ])
  const two = judged({}, [], [one, { operation_id: 'o-2', title: 'Reset rack-1' }])
  expect(two.map(([, , reason]) => reason)).toEqual([
    expect.stringContaining('"Create cluster web" and 1 other operation ended Steelyard'),
  ])
})

test('a schedule that should have taken newer backups is a finding, also while it is paused', () => {
  const newest_at = daysAgo(3)
  const newest = 'The newest backup in a store is of 2026-11-24 22:00 UTC'
  expect(judged({ schedule: daily, newest_at: daysAgo(1) })).toEqual([])
  expect(judged({ schedule: daily, newest_at })).toEqual([
    [
      'installation_backup_overdue',
      '23:00',
      `${newest}. The schedule should have taken newer ones.`,
    ],
  ])
  // It takes the next one at its next time.
  expect(judged({ schedule: { ...daily, updated_at: daysAgo(1) }, newest_at })).toEqual([])
  const paused = { ...daily, paused: true, updated_at: daysAgo(1) }
  expect(judged({ schedule: paused, newest_at: daysAgo(1) })).toEqual([])
  expect(judged({ schedule: paused, newest_at })).toEqual([
    ['installation_backup_overdue', '23:00', `${newest}. The schedule is paused.`],
  ])
})

test('a channel that has not delivered for more than fifteen minutes is a finding of its own', () => {
  const failing = (name: string, since: string, isGone = false) => ({
    id: name,
    name,
    problem: 'mail.example.com does not answer',
    since: at(since),
    isGone,
  })
  expect(judged({}, [failing('brief', '21:59:00', true)])).toEqual([
    [
      'channel_gone',
      '21:59',
      'mail.example.com does not answer, so it gets nothing more. Change the URL of the channel, or remove it.',
    ],
  ])
  expect(judged({}, [failing('brief', '21:46:00')])).toEqual([])
  expect(judged({}, [failing('office', '21:44:00'), failing('on-call', '21:40:00')])).toEqual([
    ['channel_fails', '21:44', 'mail.example.com does not answer.'],
    ['channel_fails', '21:40', 'mail.example.com does not answer.'],
  ])
})

const admins = ['installation_backup_failed', 'channel_fails'] as const

test('backups of Steelyard are shown to admins only, and only they silence them; operators silence channels, each by itself', async () => {
  const backend = await startBackend()
  const { db } = backend.platform
  const made = new Date(backend.clock.now())
  const channel = {
    name: 'office',
    kind: 'alertmanager' as const,
    url: 'https://example.com',
    created_at: made,
    updated_at: made,
  }
  await db
    .insertInto('channel')
    .values({ ...channel, problem: 'It answered with status 503', problem_since: made })
    .execute()
  const store = await db
    .insertInto('store')
    .values({
      name: 'offsite',
      kind: 'folder',
      folder: '/backups',
      created_at: made,
      updated_at: made,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await db
    .insertInto('snapshot')
    .values({
      store_id: store.id,
      object_key: 'installation/1',
      made_by: 'schedule',
      status: 'failed',
      reason: 'The store is full',
      created_at: made,
      updated_at: made,
    })
    .execute()
  backend.clock.advance(16 * 60_000)
  await backend.domains.findings.judge()
  const admin = await backend.signIn()
  const operator = await backend.signIn({ role: 'operator' })
  const seenBy = async (person: typeof admin) =>
    (await person.call(findingList, { query: {} })).answer!.items
  const seen = await seenBy(admin)
  expect(seen.map(({ kind }) => kind)).toEqual(admins)
  expect(seen).toMatchObject([
    { object: { kind: 'installation', name: 'Steelyard' }, remedies: [{ action: 'backups' }] },
    { object: { kind: 'channel', name: 'office' }, remedies: [{ action: 'channels' }] },
  ])
  expect((await seenBy(operator)).map(({ kind }) => kind)).toEqual(['channel_fails'])
  const acknowledge = async (person: typeof admin, id: string) =>
    (await person.call(findingAcknowledge, { params: { id }, body: {} })).status
  expect(await acknowledge(operator, seen[0]!.id)).toBe(404)
  const viewer = await backend.signIn({ role: 'viewer' })
  expect(await acknowledge(viewer, seen[1]!.id)).toBe(403)

  const silence = (person: typeof admin, more: object) =>
    person.call(silenceCreate, {
      body: {
        note: 'The mail server moves',
        ends_at: new Date(backend.clock.now() + 3_600_000).toISOString(),
        ...more,
      },
    })
  const attention = async () => (await admin.call(overviewGet)).answer!.attention!
  await silence(operator, { kinds: admins, severities: ['attention'] })
  expect(await attention()).toMatchObject({ total: 2, silenced: 0 })
  for (const { object } of seen) {
    const own = { object: { kind: object.kind, id: object.id } }
    const isChannel = object.kind === 'channel'
    const by = isChannel ? operator : admin
    const other = isChannel ? viewer : operator
    expect((await silence(other, own)).problem).toMatchObject({ code: 'forbidden' })
    const { answer } = await silence(by, own)
    expect(answer!.object).toEqual(object)
    const params = { id: answer!.id }
    expect((await other.call(silenceRemove, { params })).problem).toMatchObject({
      code: 'forbidden',
    })
  }
  expect(await attention()).toMatchObject({ total: 0, silenced: 2 })
  const unknown = { object: { kind: 'channel', id: seen[0]!.object.id } }
  expect((await silence(admin, unknown)).problem).toMatchObject({ code: 'invalid' })
  expect(await acknowledge(operator, seen[1]!.id)).toBe(200)
})
