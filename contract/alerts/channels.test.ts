import { expect, test } from 'vitest'
import { canKeepSecret, type Channel } from './channels.ts'

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
