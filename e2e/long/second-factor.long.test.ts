import { expect, test } from 'vitest'
import { totpBegin, totpConfirm } from '#contract/people/second-factor.ts'
import { authorize } from '#contract/sessions.ts'
import { apiClient } from '../../tools/api-client.ts'
import { codeOf } from '../../tools/identity-provider.ts'
import { admin, demoProcess, isUp } from '../testing/demo-process.ts'

const { start } = await demoProcess()

test('the demo starts, and keeps running, after its admin has got a second factor, and where its role requires one', async () => {
  const required = await start({ STEELYARD_SECOND_FACTOR_ROLES: 'admin' })
  expect(required.line).toContain(
    "and a second factor. Without it, the demo can't act as admin@example.com",
  )
  expect([await isUp(required.url), await required.stop()]).toEqual([true, 0])

  const first = await start()
  expect(first.line).toBe(`Sign in as ${admin.email} with the password ${admin.password}`)
  const { call } = apiClient(
    first.url,
    (await apiClient(first.url).call(authorize, { body: admin })).accessToken,
  )
  const { secret } = await call(totpBegin, {})
  await call(totpConfirm, { body: { code: codeOf(secret, Date.now()) } })
  expect(await first.stop()).toBe(0)

  const second = await start()
  expect(second.line).toContain(
    "and a second factor. Without it, the demo can't act as admin@example.com, and adds no simulated server",
  )
  // The demo ends with 1 if it can't continue.
  expect([await isUp(second.url), await second.stop()]).toEqual([true, 0])
}, 240_000)
