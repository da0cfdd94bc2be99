/**
 * Devices from which an account has signed in before, proved by a cookie that is signed for one
 * device and one account. A known device isn't slowed down by failed sign-ins of others; the cookie
 * grants nothing else.
 */
import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { deviceCookie } from '#contract/sessions.ts'
import type { CallContext } from '../../http/serve.ts'
import { cookie } from './cookies.ts'

export type Devices = ReturnType<typeof devices>

/** Maximum number of accounts that remember one browser. */
const mostAccounts = 5
const keptSeconds = 180 * 86_400
const entryPattern = /^[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}$/

type From = Pick<CallContext, 'cookies' | 'isEncrypted'>

/** @param installationKey 32 secret bytes of this installation */
export function devices(
  installationKey: () => Promise<Uint8Array>,
  { publicUrl }: { readonly publicUrl: string },
) {
  const own = cookie(deviceCookie, keptSeconds, publicUrl)
  const key = async () =>
    new Uint8Array(
      hkdfSync(
        'sha256',
        await installationKey(),
        new Uint8Array(),
        'devices that signed in before',
        32,
      ),
    )
  const signatureOf = (secret: Uint8Array, id: string, email: string) =>
    createHmac('sha256', secret)
      .update(JSON.stringify([id, email]))
      .digest()
  const entriesOf = (from: From): string[] =>
    (own.read(from, { orPlain: true }) ?? '')
      .split('~')
      .filter((entry) => entryPattern.test(entry))
      .slice(0, mostAccounts)
  const isFor = (secret: Uint8Array, entry: string, email: string): boolean => {
    const [id, signature] = entry.split('.') as [string, string]
    const given = Buffer.from(signature, 'base64url')
    const right = signatureOf(secret, id, email)
    return given.length === right.length && timingSafeEqual(given, right)
  }
  return {
    /** Id of the account's known device in the `Cookie` header, or undefined. */
    async known(from: From, email: string): Promise<string | undefined> {
      const entries = entriesOf(from)
      if (entries.length === 0) return undefined
      const secret = await key()
      return entries.find((entry) => isFor(secret, entry, email))?.split('.')[0]
    },
    /**
     * `Set-Cookie` that makes the device known to the account, in addition to the accounts that
     * know it already.
     */
    async remember(from: From, email: string): Promise<string> {
      const secret = await key()
      const entries = entriesOf(from)
      const mine = entries.find((entry) => isFor(secret, entry, email))
      const id = randomBytes(16).toString('base64url')
      const first = mine ?? `${id}.${signatureOf(secret, id, email).toString('base64url')}`
      const value = [first, ...entries.filter((entry) => entry !== mine)]
        .slice(0, mostAccounts)
        .join('~')
      return own.write(value, from)
    },
  }
}
