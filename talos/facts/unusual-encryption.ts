/** Encryption of objects in etcd that the secrets of a cluster don't tell. */
import { plain, rootsOf } from '../config/whole.ts'
import { nodeAt, rootOf } from './home.ts'

type Plain = { readonly [key: string]: unknown }
const isMap = (value: unknown): value is Plain =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const keysIn = (value: unknown): string => (isMap(value) ? Object.keys(value).join(', ') : '')

/** The providers that a cluster's secrets tell, in their order, each with the name of its key. */
const usual = [
  ['secretbox', 'key2'],
  ['aescbc', 'key1'],
  ['identity', null],
] as const

/**
 * Why the secrets of a cluster don't tell how this control plane encrypts objects in etcd, so that
 * one which is generated from them couldn't read all of them; null if they do. The name of a key is
 * stored with each object. @throws ConfigError for invalid YAML
 */
export function encryptionProblem(config: string): string | null {
  const root = rootOf(rootsOf(config), 'KubeEtcdEncryptionConfig')
  const node = nodeAt(root, 'config')
  if (node === undefined) return null
  const { resources } = plain(node) as Plain
  if (!Array.isArray(resources) || resources.length !== 1)
    return 'it encrypts several groups of resources, each in its own way'
  const [{ resources: which, providers }] = resources as [Plain]
  if (!Array.isArray(which) || which.length !== 1 || which[0] !== 'secrets')
    return `it encrypts ${Array.isArray(which) ? which.join(', ') : 'no resources'}, not only secrets`
  let next = 0
  for (const provider of Array.isArray(providers) ? (providers as unknown[]) : []) {
    const kind = keysIn(provider)
    const at = usual.findIndex(([name]) => name === kind)
    if (at < 0) return `it has the provider ${kind || 'nothing'}`
    if (at < next) return `the provider ${kind} is there twice, or not in the usual order`
    next = at + 1
    const name = usual[at]![1]
    const { keys } = (provider as Record<string, Plain | null>)[kind] ?? {}
    if (name === null) continue
    if (!Array.isArray(keys) || keys.length !== 1) return `the provider ${kind} has several keys`
    const { name: own } = keys[0] as Plain
    if (own !== name) return `the key of ${kind} has another name than ${name}`
  }
  return next === 0 ? 'it has no providers' : null
}
