/** The keys with which the API server encrypts Secrets in etcd. */
import { type MapNode, type TreeNode, treeOf } from '../config/tree.ts'
import { plain } from '../config/whole.ts'
import { text } from './forms.ts'
import { type Fact, nodeAt, put } from './home.ts'

export interface EncryptionKeys {
  readonly secretbox: string | null
  readonly aescbc: string | null
}

const secretboxPath = 'cluster.secretboxEncryptionSecret'
const aescbcPath = 'cluster.aescbcEncryptionSecret'

const itemsOf = (node: TreeNode | undefined): readonly MapNode[] =>
  node?.is === 'list' ? node.items.filter((item) => item.is === 'map') : []

/** The first key of the first provider of a kind, which is the one that encrypts. */
const keyOf = (root: MapNode | undefined, provider: 'secretbox' | 'aescbc'): string | null =>
  itemsOf(nodeAt(root, 'config.resources'))
    .flatMap((one) => itemsOf(nodeAt(one, 'providers')))
    .flatMap((one) => itemsOf(nodeAt(one, `${provider}.keys`)))
    .map((key) => text.read(nodeAt(key, 'secret')))
    .find((secret) => secret !== null) ?? null

const provider = (kind: 'secretbox' | 'aescbc', name: string, secret: string | null): object[] =>
  secret === null ? [] : [{ [kind]: { keys: [{ name, secret }] } }]

/** Kubernetes' EncryptionConfiguration for these providers. */
const configOf = (providers: readonly object[]) => ({
  resources: [{ providers, resources: ['secrets'] }],
})

const providersOf = ({ secretbox, aescbc }: EncryptionKeys): object[] => [
  ...provider('secretbox', 'key2', secretbox),
  ...provider('aescbc', 'key1', aescbc),
]

/**
 * How the document of a configuration encrypts Secrets: like the one that is generated for a new
 * cluster, like the one that a configuration gets when it is moved to documents, or in another way,
 * which can't be told by the two keys. Null without the document.
 */
export function encryptionForm(roots: readonly MapNode[]): 'generated' | 'moved' | 'other' | null {
  const root = roots.find((one) => text.read(nodeAt(one, 'kind')) === 'KubeEtcdEncryptionConfig')
  const config = nodeAt(root, 'config')
  if (config === undefined) return null
  const providers = providersOf(readDocument(root))
  const written = (node: TreeNode) => JSON.stringify(plain(node))
  const equals = (some: readonly object[]) =>
    written(config) === written(treeOf(configOf(some), 'compared'))
  // With an AES-CBC key both are the same.
  if (equals([...providers, { identity: {} }])) return 'moved'
  return equals(providers) ? 'generated' : 'other'
}

const readDocument = (root: MapNode | undefined): EncryptionKeys => ({
  secretbox: keyOf(root, 'secretbox'),
  aescbc: keyOf(root, 'aescbc'),
})

/**
 * The document has more than this value tells, so one that has these keys stays as it is. Providers
 * that are written are those that Talos makes of the main document, in its order, so that
 * everything stored before can be read (Talos `k8stemplates/apiserver.go`). Talos's own generator
 * writes another provider for the AES-CBC key, and leaves out `identity`.
 */
export const encryptionKeys: Fact<EncryptionKeys> = {
  main: {
    kind: '',
    paths: [secretboxPath, aescbcPath],
    read: (root) => ({
      secretbox: text.read(nodeAt(root, secretboxPath)),
      aescbc: text.read(nodeAt(root, aescbcPath)),
    }),
    write: (root, { secretbox, aescbc }) =>
      put(put(root, secretboxPath, secretbox ?? undefined), aescbcPath, aescbc ?? undefined),
  },
  document: {
    kind: 'KubeEtcdEncryptionConfig',
    paths: ['config'],
    read: readDocument,
    write(root, { secretbox, aescbc }) {
      const now = readDocument(root)
      if (now.secretbox === secretbox && now.aescbc === aescbc) return root
      return put(
        root,
        'config',
        configOf([...providersOf({ secretbox, aescbc }), { identity: {} }]),
      )
    },
  },
}
