import { expect, test } from 'vitest'
import { blank, readForm } from './token-form.ts'

test('by default a token is valid for a week and any number of servers', () => {
  expect(readForm({ ...blank, name: 'rack-7' })).toEqual({
    ok: true,
    body: { name: 'rack-7', datacenter_id: null, labels: {}, lifetime_hours: 168, max_uses: null },
  })
})

test('a token can be valid forever or for a typed number of hours', () => {
  expect(readForm({ ...blank, name: 'a', lifetime: 'never' })).toMatchObject({
    ok: true,
    body: { lifetime_hours: null },
  })
  expect(
    readForm({ ...blank, name: 'a', lifetime: 'other', lifetime_hours: '36', max_uses: '4' }),
  ).toMatchObject({
    ok: true,
    body: { lifetime_hours: 36, max_uses: 4 },
  })
})

test('each invalid field shows the message of the API', () => {
  expect(
    readForm({
      ...blank,
      name: 'Rack 7',
      lifetime: 'other',
      lifetime_hours: 'soon',
      max_uses: '0',
    }),
  ).toEqual({
    ok: false,
    fields: {
      name: 'Join token name can only contain lowercase letters, numbers, and hyphens, and cannot start or end with a hyphen',
      lifetime_hours: 'Lifetime must be a whole number of hours',
      max_uses: 'Uses must be at least 1',
    },
  })
  expect(readForm({ ...blank, name: 'a', lifetime: 'other', lifetime_hours: '9000' })).toEqual({
    ok: false,
    fields: { lifetime_hours: 'Lifetime must be at most a year (8760 hours)' },
  })
})

test('a label that breaks a rule is refused at the labels, by its key', () => {
  expect(readForm({ ...blank, name: 'rack-7', labels: { rack: '7', '☃': '1' } })).toMatchObject({
    ok: false,
    fields: { labels: expect.stringMatching(/^☃: A label key has up to 63 letters/) as string },
  })
})
