import { expect, test } from 'vitest'
import { blankTerms } from '../../../layout/commitment/terms.ts'
import { readTerms } from './commit-terms.ts'

test('terms that are left empty are not sent, because they come from the drafts', () => {
  expect(readTerms(blankTerms)).toEqual({ ok: true, body: {} })
  const read = readTerms({
    ...blankTerms,
    price: '01.50',
    currency: 'eur',
    expires_at: '2027-02-14T08:30',
  })
  expect(read).toEqual({
    ok: true,
    body: {
      price: { amount: '1.5', currency: 'EUR', basis: 'server' },
      expires_at: new Date('2027-02-14T08:30').toISOString(),
    },
  })
})

test('what is wrong is said at its field', () => {
  const typed = {
    ...blankTerms,
    price: '1,5',
    expires_at: 'soon',
    offer_id: '0x1',
  }
  expect(readTerms(typed)).toEqual({
    ok: false,
    fields: {
      price: expect.stringContaining('decimal number') as string,
      currency: expect.stringContaining('capital letters') as string,
      expires_at: expect.stringContaining('ISO 8601') as string,
      offer_id: expect.stringContaining('64 hexadecimal digits') as string,
    },
  })
})
