import { expect, test } from 'vitest'
import { blank, readForm } from './token-form.ts'

test('a token needs a name and at least one scope', () => {
  expect(readForm(blank)).toEqual({
    ok: false,
    fields: { name: 'Enter a name', scopes: 'Choose at least one scope' },
  })
  expect(readForm({ ...blank, name: 'monitoring', scopes: ['servers:read'] })).toEqual({
    ok: true,
    body: { name: 'monitoring', scopes: ['servers:read'], lifetime_days: 90 },
  })
})

test.each(['', '0', '366', '1.5', '-1', '1e2'])(
  'a lifetime of %j days is refused',
  (lifetime_days) => {
    const read = readForm({
      ...blank,
      name: 'monitoring',
      scopes: ['servers:read'],
      lifetime: 'other',
      lifetime_days,
    })
    expect(read).toEqual({ ok: false, fields: { lifetime_days: 'Lifetime must be 1 to 365 days' } })
  },
)
