/** How much work it takes to hash a password and to derive a key from a passphrase. */
import { keyCost } from '../backup/sealed.ts'
import { hashWork } from '../domains/sessions/password.ts'

const full = { hash: { ...hashWork }, key: { ...keyCost } }
const little: typeof full = {
  hash: { memoryCost: 64, timeCost: 1 },
  key: { log2N: 4, r: 8, p: 1 },
}

/** From now on, in this process, which runs many test files. `full`: as in production. */
export function setWork(amount: 'full' | 'little'): void {
  const { hash, key } = amount === 'full' ? full : little
  Object.assign(hashWork, hash)
  Object.assign(keyCost, key)
}
