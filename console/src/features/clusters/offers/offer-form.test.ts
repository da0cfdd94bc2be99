import { expect, test } from 'vitest'
import { blank, fieldsOfPrice, readPrice, typedOf } from './offer-form.ts'

test('a new offer may have no price, an existing one needs it', () => {
  expect(readPrice(blank, true)).toEqual({ ok: true, body: null })
  expect(readPrice(blank, false)).toMatchObject({
    ok: false,
    fields: { amount: expect.any(String) as string, currency: expect.any(String) as string },
  })
  expect(readPrice({ ...blank, amount: '5' }, true)).toMatchObject({
    ok: false,
    fields: { currency: expect.any(String) as string },
  })
})

test('a price is read as exact text, with the currency in capital letters', () => {
  expect(readPrice({ amount: ' 0.050 ', currency: 'eur', basis: 'server' }, false)).toEqual({
    ok: true,
    body: { amount: '0.05', currency: 'EUR', basis: 'server' },
  })
  expect(typedOf({ amount: '0.05', currency: 'EUR', basis: 'server' })).toEqual({
    amount: '0.05',
    currency: 'EUR',
    basis: 'server',
  })
})

test.each(['-1', '1e400', '0.30000000000000004', '1,5'])(
  'the amount %s is refused at its field',
  (amount) => {
    expect(readPrice({ ...blank, amount, currency: 'EUR' }, true)).toMatchObject({
      ok: false,
      fields: { amount: expect.stringContaining('decimal number') as string },
    })
  },
)

test("the API's errors about the price are shown at the fields of the form", () => {
  expect(fieldsOfPrice({ 'price.amount': 'too much', cluster_id: 'gone' })).toEqual({
    amount: 'too much',
    cluster_id: 'gone',
  })
})
