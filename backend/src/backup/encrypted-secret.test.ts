import { createCipheriv, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { boxStream, opens, sampleOf } from './encrypted-secret.ts'

const hex = (text: string) => Buffer.from(text, 'hex')

test('the stream of a box is that of NaCl', () => {
  // NaCl `tests/secretbox.c`: key, nonce, and the first 16 bytes of message and box.
  const key = hex('1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389')
  const nonce = hex('69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37')
  const message = hex('be075fc53c81f2d5cf141316ebeb0c7b')
  const box = hex('8e993b9f48681273c29650ba32fc76ce')
  expect(Buffer.from(message.map((byte, i) => byte ^ boxStream(key, nonce)[i]!))).toEqual(box)
})

test.each(['secretbox', 'aescbc'])(
  'a Secret that %s encrypted is opened by its key only',
  (provider) => {
    const [key, other] = [randomBytes(32), randomBytes(32)]
    const object = Buffer.concat([Buffer.from('k8s\0\n\f\n\x02v1\x12\x06Secret'), randomBytes(40)])
    const nonce = randomBytes(24)
    const iv = randomBytes(16)
    const cipher = createCipheriv('aes-256-cbc', key, iv)
    const encrypted =
      provider === 'aescbc'
        ? Buffer.concat([iv, cipher.update(object), cipher.final()])
        : Buffer.concat([
            nonce,
            randomBytes(16),
            object.subarray(0, 32).map((byte, i) => byte ^ boxStream(key, nonce)[i]!),
          ])
    const sample = sampleOf(
      Buffer.concat([Buffer.from(`k8s:enc:${provider}:v1:key2:`), encrypted]),
    )!
    expect([key, other].map((one) => opens(sample, one.toString('base64')))).toEqual([true, false])
    expect(opens(sample, '')).toBe(false)
    expect(opens({ ...sample, bytes: sample.bytes.slice(0, 20) }, key.toString('base64'))).toBe(
      false,
    )
    expect(sampleOf(object)).toBeUndefined()
  },
)
