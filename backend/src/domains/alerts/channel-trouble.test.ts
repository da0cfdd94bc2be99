import { expect, test } from 'vitest'
import { startBackend } from '../../testing/backend.ts'
import { channelCondition, channelsSaid } from './api.ts'

const backend = await startBackend()
const { db } = backend.platform
const at = new Date('2026-11-20T14:02:30Z')

test('channels whose last message did not arrive are counted and named, without those that are paused', async () => {
  const said = async () => channelsSaid(await channelCondition(db))
  const metric = async () => (await backend.app.inject({ url: '/metrics' })).body
  expect(await said()).toBeNull()
  const add = (name: string, more: object = {}) =>
    db
      .insertInto('channel')
      .values({
        name,
        kind: 'alertmanager',
        url: 'https://example.com',
        created_at: at,
        updated_at: at,
        ...more,
      })
      .execute()
  const problem = { problem: 'example.com answered with status 503.', problem_since: at }
  await add('on-call')
  await add('asleep', { ...problem, paused: true })
  expect(await said()).toEqual({ isWell: true, text: '1 channel, none failing' })
  expect(await metric()).toContain('\nsteelyard_channels_failing 0\n')
  await add('office', problem)
  expect(await said()).toEqual({
    isWell: false,
    text: '1 of 2 channels does not deliver: office. office since 2026-11-20 14:02 UTC: example.com answered with status 503',
  })
  expect(await metric()).toContain('\nsteelyard_channels_failing 1\n')
})
