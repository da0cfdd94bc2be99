import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import {
  invitationAccept,
  invitationCreate,
  invitationList,
  invitationLook,
  invitationRemove,
  waitlistInvite,
  waitlistJoin,
  waitlistList,
  waitlistRemove,
} from '#contract/people/invitations.ts'
import { authorize, passwordResetLook } from '#contract/sessions.ts'
import { userList, userRemove, userResetPassword, userUpdate } from '#contract/users.ts'
import { startBackend } from '../../testing/backend.ts'

const backend = await startBackend()
const admin = await backend.signIn()
const new_password = 'correct horse battery'

const tokenOf = (url: string): string => url.split('#')[1]!
const invite = async (email: string, role: 'viewer' | 'operator' = 'viewer') =>
  (await admin.call(invitationCreate, { body: { email, name: 'Invited', role } })).answer!
const accept = (token: string, more: object = {}) =>
  backend.call(invitationAccept, { body: { token, name: 'Ada', new_password, ...more } })

test('an invitation creates an account once, with the role that the admin chose', async () => {
  const made = await invite('Ada@Example.com', 'operator')
  expect(made.url).toMatch(/^http:\/\/127\.0\.0\.1:0\/auth\/invite#[\w-]{43}$/)
  const token = tokenOf(made.url)
  expect((await backend.call(invitationLook, { body: { token } })).answer).toEqual({
    email: 'ada@example.com',
    name: 'Invited',
    role: 'operator',
    expires_at: made.expires_at,
  })
  const both = await Promise.all([accept(token), accept(token)])
  expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([204, 409])
  expect((await accept(token)).problem?.code).toBe('link_over')
  const signed = await backend.call(authorize, {
    body: { email: 'ada@example.com', password: new_password },
  })
  expect(signed.answer!.userData.name).toBe('Ada')
  expect((await admin.call(userList, { query: { q: 'ada@' } })).answer!.items).toMatchObject([
    { role: 'operator', has_password: true },
  ])
  await backend.publish()
  const actions = (await admin.call(auditList, { query: { target: made.id } })).answer!.items.map(
    (e) => e.action,
  )
  expect(actions.toReversed()).toEqual(['invitation.created', 'invitation.accepted'])
})

test('neither list, audit log nor database holds the token of a link', async () => {
  const token = tokenOf((await invite('secret@example.com')).url)
  await backend.publish()
  const rows = await backend.platform.db.selectFrom('invitation').selectAll().execute()
  const texts = [
    await admin.call(invitationList),
    await admin.call(auditList, { query: { per_page: 200 } }),
  ].map((a) => a.text)
  expect([...texts, JSON.stringify(rows)].join('\n')).not.toContain(token)
})

test('a refused password does not use up the link', async () => {
  const token = tokenOf((await invite('careful@example.com')).url)
  expect((await accept(token, { new_password: 'short' })).status).toBe(422)
  expect(
    (await accept(token, { new_password: 'careful is my name' })).problem?.fields,
  ).toHaveProperty('new_password')
  expect((await accept(token)).status).toBe(204)
})

test('a link ends after a week, with a newer invitation of the same email, and when it is withdrawn', async () => {
  const first = tokenOf((await invite('again@example.com')).url)
  const second = await invite('again@example.com')
  expect((await accept(first)).problem?.code).toBe('link_over')
  expect((await admin.call(invitationList, { query: { q: 'again@' } })).answer!.total).toBe(1)
  expect((await admin.call(invitationRemove, { params: { id: second.id } })).status).toBe(204)
  expect(
    (await backend.call(invitationLook, { body: { token: tokenOf(second.url) } })).problem?.code,
  ).toBe('link_over')
  expect((await admin.call(invitationRemove, { params: { id: second.id } })).status).toBe(404)

  const own = await startBackend()
  const boss = await own.signIn()
  const late = (
    await boss.call(invitationCreate, {
      body: { email: 'late@example.com', name: 'Late', role: 'viewer' },
    })
  ).answer!
  own.clock.advance(7 * 86_400_000)
  expect(
    (
      await own.call(invitationAccept, {
        body: { token: tokenOf(late.url), name: 'Late', new_password },
      })
    ).problem?.code,
  ).toBe('link_over')
})

test.each([
  ['disabled', { disabled: true }],
  ['demoted', { role: 'operator' }],
  ['removed', undefined],
] as const)(
  'when an admin is %s, the invitations and password links that they made end, and no others',
  async (_what, change) => {
    const own = await startBackend()
    const [boss, leaving] = [await own.signIn(), await own.signIn()]
    const linked = await own.signIn({ role: 'viewer' })
    const waiting = async (n: number) => {
      await own.call(waitlistJoin, { body: { name: 'W', company: '', email: `w${n}@example.com` } })
      return (await boss.call(waitlistList, { query: { q: `w${n}@` } })).answer!.items[0]!.id
    }
    const made = async (by: typeof boss, n: number) => [
      (
        await by.call(invitationCreate, {
          body: { email: `i${n}@example.com`, name: 'I', role: 'admin' },
        })
      ).answer!.url,
      (await by.call(waitlistInvite, { params: { id: await waiting(n) }, body: { role: 'admin' } }))
        .answer!.url,
    ]
    const [theirs, others] = [await made(leaving, 1), await made(boss, 2)]
    const reset = (await leaving.call(userResetPassword, { params: { id: linked.userId } })).answer!
      .url
    const look = async (url: string) =>
      (await own.call(invitationLook, { body: { token: tokenOf(url) } })).status
    expect([
      await Promise.all([...theirs, ...others].map(look)),
      (await own.call(passwordResetLook, { body: { token: tokenOf(reset) } })).status,
    ]).toEqual([[200, 200, 200, 200], 200])

    const params = { id: leaving.userId }
    expect(
      (
        await (change
          ? boss.call(userUpdate, { params, body: change })
          : boss.call(userRemove, { params }))
      ).status,
    ).toBeLessThan(300)
    expect(await Promise.all([...theirs, ...others].map(look))).toEqual([409, 409, 200, 200])
    expect(
      (await own.call(passwordResetLook, { body: { token: tokenOf(reset) } })).problem?.code,
    ).toBe('link_over')
    expect(
      (
        await own.call(invitationAccept, {
          body: { token: tokenOf(theirs[0]!), name: 'I', new_password },
        })
      ).problem?.code,
    ).toBe('link_over')
    await own.publish()
    const actions = (await boss.call(auditList, { query: { per_page: 200 } }))
      .answer!.items.filter(({ actor }) => actor === boss.email)
      .map(({ action }) => action)
    expect(actions.filter((action) => action === 'invitation.removed')).toHaveLength(2)
    expect(actions.filter((action) => action === 'user.password_reset_withdrawn')).toHaveLength(1)
  },
)

test('an admin who is disabled at the same moment leaves no invitation behind', async () => {
  const own = await startBackend()
  const [boss, leaving] = [await own.signIn(), await own.signIn()]
  await Promise.all([
    ...Array.from({ length: 10 }, (_, n) =>
      leaving.call(invitationCreate, {
        body: { email: `late${n}@example.com`, name: 'L', role: 'admin' },
      }),
    ),
    boss.call(userUpdate, { params: { id: leaving.userId }, body: { disabled: true } }),
  ])
  expect((await boss.call(invitationList)).answer!.items).toEqual([])
})

test('nobody is invited who is a user already, and a user who was added meanwhile is not replaced', async () => {
  expect(
    (
      await admin.call(invitationCreate, {
        body: { email: admin.email, name: 'x', role: 'viewer' },
      })
    ).problem?.code,
  ).toBe('user_exists')
  const token = tokenOf((await invite('meanwhile@example.com')).url)
  await backend.domains.users.create(
    { kind: 'system', name: 'test' },
    { email: 'meanwhile@example.com', name: 'M', role: 'viewer' },
  )
  expect((await accept(token)).problem?.code).toBe('user_exists')
})

test('somebody on the waitlist is invited, joins, and is shown as joined', async () => {
  await backend.call(waitlistJoin, {
    body: { name: 'Wanda', company: 'Example Ltd', email: 'wanda@example.com' },
  })
  const entry = async () =>
    (await admin.call(waitlistList, { query: { q: 'wanda' } })).answer!.items[0]!
  const { id, status } = await entry()
  expect(status).toBe('waiting')
  const made = (await admin.call(waitlistInvite, { params: { id }, body: { role: 'viewer' } }))
    .answer!
  expect(made).toMatchObject({ email: 'wanda@example.com', name: 'Wanda', role: 'viewer' })
  expect(await entry()).toMatchObject({
    status: 'invited',
    invited_at: expect.any(String) as string,
  })
  expect((await accept(tokenOf(made.url))).status).toBe(204)
  expect(await entry()).toMatchObject({ status: 'joined' })
  expect((await admin.call(waitlistList, { query: { status: 'joined' } })).answer!.total).toBe(1)
  expect(
    (await admin.call(waitlistInvite, { params: { id }, body: { role: 'viewer' } })).problem?.code,
  ).toBe('user_exists')
  expect((await admin.call(waitlistRemove, { params: { id } })).status).toBe(204)
  expect((await admin.call(waitlistRemove, { params: { id } })).status).toBe(404)
  expect(
    (await admin.call(waitlistInvite, { params: { id }, body: { role: 'viewer' } })).status,
  ).toBe(404)
})

test('a viewer can neither invite nor read invitations and the waitlist', async () => {
  const viewer = await backend.signIn({ role: 'viewer' })
  expect((await viewer.call(invitationList)).status).toBe(403)
  expect((await viewer.call(waitlistList)).status).toBe(403)
  expect(
    (
      await viewer.call(invitationCreate, {
        body: { email: 'x@example.com', name: 'x', role: 'viewer' },
      })
    ).status,
  ).toBe(403)
})

test('more invitations at once than the pool has connections are all made', async () => {
  const emails = Array.from({ length: 24 }, (_, i) => `crowd-${i}@example.com`)
  const made = await Promise.all(
    emails.map((email) =>
      admin.call(invitationCreate, { body: { email, name: 'Invited', role: 'viewer' } }),
    ),
  )
  expect(made.map(({ status }) => status)).toEqual(emails.map(() => 201))
})
