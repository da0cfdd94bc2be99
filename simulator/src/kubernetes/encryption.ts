import { createHash } from 'node:crypto'
import type { StoredObject } from '../cluster/stored.ts'
import type { Machine } from '../machine/machine.ts'
import { Refusal } from './refusal.ts'

/**
 * The keys with which an API server encrypts Secrets. It writes with the first one and reads with
 * all. `identity` doesn't encrypt.
 */
export type Keys = readonly string[]

/** Names of the keys in the providers that Talos makes of the main document. */
const NAMES: Readonly<Record<string, string>> = { secretbox: 'key2', aescbc: 'key1' }

/** A stored Secret names the kind and the name of its key, so both must be the same to read it. */
export const keysOf = ({ config }: Machine): Keys =>
  (config?.node?.cluster.encryption ?? []).map(({ kind, name, secret }) => {
    if (kind === 'identity') return kind
    const digest = createHash('sha256').update(secret).digest('hex').slice(0, 16)
    return [kind, digest, ...(name === NAMES[kind] ? [] : [name])].join(':')
  })

/**
 * Secrets without a key were written by the simulation itself, and every API server reads them.
 * Throws the error of the API server for a Secret that it can't decrypt (Kubernetes:
 * apiserver/pkg/storage/value/encrypt).
 */
export const decrypt = ({ body, key }: StoredObject, keys: Keys): void => {
  if (key === undefined || keys.includes(key)) return
  const { namespace, name } = body.metadata as { namespace: string; name: string }
  const [kind] = key.split(':')
  const problem = !keys.some((known) => known.startsWith(`${kind}:`))
    ? keys.includes('identity')
      ? 'identity transformer tried to read encrypted data'
      : 'no matching prefix found'
    : kind === 'secretbox'
      ? 'output array was not large enough for encryption'
      : 'invalid padding on input'
  throw new Refusal(
    500,
    'InternalError',
    `Internal error occurred: unable to transform key "/registry/secrets/${namespace}/${name}": ${problem}`,
  )
}
