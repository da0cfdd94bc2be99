import { expect, test } from 'vitest'
import { canKeepSecret, type Channel, NewChannel } from './channels.ts'

const mail = {
  kind: 'mail',
  host: 'mx.example.com',
  port: 587,
  security: 'starttls',
  url: null,
} as const
const place = (kind: Channel['kind'], url: string) => ({ ...mail, kind, url, host: null })
const keeps = (before: Parameters<typeof canKeepSecret>[1], change: Partial<Channel>) =>
  canKeepSecret({ ...before, has_secret: true }, { ...before, ...change }).ok

test('a stored secret goes to no other receiver, and over no weaker connection', () => {
  expect(keeps(mail, {})).toBe(true)
  for (const change of [{ host: 'mx.example.org' }, { port: 25 }, { security: 'tls' as const }])
    expect(keeps(mail, change)).toBe(false)
  const alertmanager = place('alertmanager', 'https://a.example.com/')
  expect(keeps(alertmanager, { url: 'http://a.example.com/' })).toBe(false)
  expect(keeps(alertmanager, { url: 'https://a.example.com/other' })).toBe(false)
  expect(canKeepSecret({ ...mail, has_secret: false }, { ...mail, host: 'b' }).ok).toBe(true)
})

test('the secret of a webhook signs and is not sent, so another address keeps it', () => {
  expect(keeps(place('webhook', 'https://a.example.com/'), { url: 'https://b.example.com/' })).toBe(
    true,
  )
})

const newMail = {
  name: 'mail',
  kind: 'mail',
  host: 'mail.example.com',
  from: 'a@example.com',
  to: ['ops@example.com'],
} as const

test('a recipient at a domain that nobody can have is refused', () => {
  const right = ['ops@example.com', 'o.p+s@a-b.example', 'ops@localhost', 'ops@1.example']
  for (const to of right) expect(NewChannel.safeParse({ ...newMail, to: [to] }).success).toBe(true)
  const wrong = ['ops@example..test', 'a@b.-c', 'a@b-.c', 'a@.b', 'a@b.', `a@${'b'.repeat(64)}.c`]
  for (const to of wrong)
    for (const body of [{ to: ['b@example.com', to] }, { from: to }])
      expect(NewChannel.safeParse({ ...newMail, ...body }).success).toBe(false)
})

test('a recipient that is there twice gets one mail, whatever the case', () => {
  const to = ['Ops@example.com', 'b@example.com', 'ops@EXAMPLE.com', 'b@example.com']
  expect(NewChannel.parse({ ...newMail, to }).to).toEqual(['Ops@example.com', 'b@example.com'])
})

test('a user name with a line break is refused, and one with a colon where it would be cut', () => {
  for (const user of ['a\nb', 'a\r\nX: y', 'a\tb'])
    expect(NewChannel.safeParse({ ...newMail, user, secret: 'x' }).success).toBe(false)
  expect(NewChannel.safeParse({ ...newMail, user: 'a:b', secret: 'x' }).success).toBe(true)
  const alertmanager = { name: 'a', kind: 'alertmanager', url: 'https://a.example', secret: 'x' }
  expect(NewChannel.safeParse({ ...alertmanager, user: 'a:b' }).success).toBe(false)
  expect(NewChannel.safeParse({ ...alertmanager, user: 'a b' }).success).toBe(true)
})
