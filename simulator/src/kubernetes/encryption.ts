import { createHash } from 'node:crypto'
import type { StoredObject } from '../cluster/stored.ts'
import type { Machine } from '../machine/machine.ts'
import { Refusal } from './refusal.ts'

/**
 * The keys with which an API server encrypts Secrets. It writes with the first one and reads with
 * all, and it reads plain Secrets.
 */
export type Keys = readonly string[]

/**
 * Talos's configuration of the API server: secretbox before AES-CBC, one key each (Talos:
 * k8stemplates/apiserver.go, APIServerEncryptionConfig).
 */
export const keysOf = ({ config }: Machine): Keys => {
  const { secretboxSecret = '', aescbcSecret = '' } = config?.node?.cluster ?? {}
  const named = [
    { kind: 'secretbox', secret: secretboxSecret },
    { kind: 'aescbc', secret: aescbcSecret },
  ]
  return named
    .filter(({ secret }) => secret !== '')
    .map(
      ({ kind, secret }) =>
        `${kind}:${createHash('sha256').update(secret).digest('hex').slice(0, 16)}`,
    )
}

/**
 * Throws the error of the API server for a Secret that it can't decrypt (Kubernetes:
 * apiserver/pkg/storage/value/encrypt).
 */
export const decrypt = ({ body, key }: StoredObject, keys: Keys): void => {
  if (key === undefined || keys.includes(key)) return
  const { namespace, name } = body.metadata as { namespace: string; name: string }
  const [kind] = key.split(':')
  const problem = !keys.some((known) => known.startsWith(`${kind}:`))
    ? 'identity transformer tried to read encrypted data'
    : kind === 'secretbox'
      ? 'output array was not large enough for encryption'
      : 'invalid padding on input'
  throw new Refusal(
    500,
    'InternalError',
    `Internal error occurred: unable to transform key "/registry/secrets/${namespace}/${name}": ${problem}`,
  )
}
