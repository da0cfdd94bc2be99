import { expect, test } from 'vitest'
import { readChange, type Typed } from './store-form.ts'

const initial: Typed = {
  name: 'offsite',
  endpoint: 'https://s3.example.com',
  region: 'us-east-1',
  bucket: 'steelyard',
  prefix: 'prod',
  path_style: true,
  access_key_id: 'AKIA0',
  secret_access_key: '',
}

test('an edited store is sent only what was changed; an empty secret access key keeps the present one', () => {
  expect(
    readChange(initial, { ...initial, endpoint: 'https://s3.example.org/', prefix: '' }),
  ).toEqual({
    ok: true,
    body: { endpoint: 'https://s3.example.org', prefix: '' },
  })
  expect(readChange(initial, { ...initial, secret_access_key: 'new' })).toEqual({
    ok: true,
    body: { secret_access_key: 'new' },
  })
  expect(readChange(initial, { ...initial, bucket: 'No Bucket' })).toMatchObject({
    ok: false,
    fields: { bucket: expect.stringContaining('A bucket name has') as string },
  })
})
