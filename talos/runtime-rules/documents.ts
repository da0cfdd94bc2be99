/**
 * Documents of Talos 1.14 that Talos accepts and that don't work, and values that are in a document
 * and in the main document although Talos uses one of them.
 */
import type { Report } from '../config/report.ts'
import { textOf } from '../config/report.ts'
import { at } from '../config/tree.ts'
import type { Configuration, Hit, RuntimeRule } from './rule.ts'

const isDown = 'the API server does not start'

interface Both {
  readonly kind: string
  readonly path: readonly string[]
  /** What is in both, by the path in the document. */
  readonly find: (document: Report, main: Report) => Iterable<Pick<Hit, 'path' | 'sentence'>>
}

const ofKeys = (kind: string, ...path: string[]): Both => ({
  kind,
  path,
  *find(document, main) {
    for (const { path: where, key, node } of document.entries('params'))
      if (main.has(...path, key) && main.text(...path, key) !== textOf(node))
        yield {
          path: where,
          sentence: `${path.join('.')} has another value of ${key}, which has no effect: Talos takes the one of ${kind}`,
        }
  },
})

const podName = (document: Report, ...path: string[]): string =>
  ['namespace', 'name'].map((key) => document.text(...path, 'metadata', key) || 'default').join('/')

/** What Talos merges or ignores without a word (`config/container/container.go`). */
const boths: readonly Both[] = [
  ofKeys('SysctlConfig', 'machine', 'sysctls'),
  ofKeys('SysfsConfig', 'machine', 'sysfs'),
  {
    kind: 'KernelModuleConfig',
    path: ['machine', 'kernel', 'modules'],
    *find(document, main) {
      const name = document.text('name')
      if (main.items(...this.path).some(({ path }) => main.text(...path, 'name') === name))
        yield {
          path: ['name'],
          sentence: `machine.kernel.modules has the module ${name} too, with parameters that have no effect: Talos takes those of KernelModuleConfig`,
        }
    },
  },
  {
    kind: 'UdevRulesConfig',
    path: ['machine', 'udev', 'rules'],
    *find(_, main) {
      if (main.has(...this.path))
        yield {
          path: ['rules'],
          sentence: 'machine.udev.rules has no effect beside UdevRulesConfig: move its rules',
        }
    },
  },
  {
    kind: 'KubeAuthorizerConfig',
    path: ['cluster', 'apiServer', 'authorizationConfig'],
    *find(_, main) {
      if (main.has(...this.path))
        yield {
          path: ['name'],
          sentence:
            'cluster.apiServer.authorizationConfig has no effect beside KubeAuthorizerConfig: move its authorizers',
        }
    },
  },
  {
    kind: 'KubeStaticPodConfig',
    path: ['machine', 'pods'],
    *find(document, main) {
      const name = podName(document, 'pod')
      if (main.items(...this.path).some(({ path }) => podName(main, ...path) === name))
        yield {
          path: ['pod'],
          sentence: `machine.pods has the pod ${name} too, and Talos runs only one of them: remove one`,
        }
    },
  },
  {
    kind: 'KubeInlineManifestConfig',
    path: ['cluster', 'inlineManifests'],
    *find(document, main) {
      const name = document.text('name')
      if (main.items(...this.path).some(({ path }) => main.text(...path, 'name') === name))
        yield {
          path: ['name'],
          sentence: `cluster.inlineManifests has a manifest ${name} too, and Talos applies both: remove one`,
        }
    },
  },
  {
    kind: 'KubeExternalManifestConfig',
    path: ['cluster', 'extraManifests'],
    *find(document, main) {
      const url = document.text('url')
      if (main.texts(...this.path).some(({ text }) => text === url))
        yield {
          path: ['url'],
          sentence: `cluster.extraManifests has ${url} too, and Talos fetches it twice: remove one`,
        }
    },
  },
]

/** The keys' lengths in bytes (Kubernetes `encryptionconfig` and its validation). */
const keyBytes: Readonly<Record<string, readonly number[]>> = {
  aescbc: [16, 24, 32],
  aesgcm: [16, 24, 32],
  secretbox: [32],
}

/** What a provider of the kind kms lacks (`validateKMSConfiguration`), as the begin of a sentence. */
function kmsProblem(document: Report, path: readonly string[]): string | null {
  const text = (field: string): string => document.text(...path, field)
  if (text('name') === '') return 'A provider kms needs a name'
  if (text('apiVersion') !== 'v2')
    return 'A provider kms needs apiVersion: v2, because Kubernetes has v1 switched off'
  if (text('name').includes(':')) return `The name ${text('name')} of a provider kms has no colon`
  if (!/^unix:\/\/\S/.test(text('endpoint')))
    return 'The endpoint of a provider kms is a socket such as unix:///var/run/kms/kms.sock'
  if (document.has(...path, 'cachesize')) return 'A provider kms of v2 has no cachesize'
  return null
}

/** Where and why the API server refuses an encryption configuration. */
function* encryptionProblems(document: Report): Generator<Pick<Hit, 'path' | 'sentence'>> {
  const resources = document.items('config', 'resources')
  if (resources.length === 0)
    yield {
      path: ['config'],
      sentence: `The encryption configuration needs resources, or ${isDown}`,
    }
  for (const { path } of resources) {
    if (document.items(...path, 'resources').length === 0)
      yield { path, sentence: `Say which resources are encrypted, such as secrets, or ${isDown}` }
    const providers = document.items(...path, 'providers')
    if (providers.length === 0)
      yield { path, sentence: `The resources need providers, or ${isDown}` }
    for (const { path: where, node } of providers) {
      const kinds = node.is === 'map' ? [...node.entries.keys()] : []
      const [kind = ''] = kinds
      if (kinds.length !== 1 || ![...Object.keys(keyBytes), 'identity', 'kms'].includes(kind)) {
        yield {
          path: where,
          sentence: `A provider is one of secretbox, aescbc, aesgcm, kms and identity, not ${kinds.join(' and ') || 'nothing'}: ${isDown}`,
        }
        continue
      }
      if (kind === 'kms') {
        const problem = kmsProblem(document, [...where, kind])
        if (problem !== null) yield { path: where, sentence: `${problem}, or ${isDown}` }
      }
      const lengths = keyBytes[kind]
      if (lengths === undefined) continue
      const keys = document.items(...where, kind, 'keys')
      if (keys.length === 0)
        yield { path: where, sentence: `The provider ${kind} needs keys, or ${isDown}` }
      for (const { path: key } of keys) {
        const secret = document.text(...key, 'secret')
        const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(secret) && secret.length % 4 === 0
        if (!isBase64 || !lengths.includes(Buffer.from(secret, 'base64').length))
          yield {
            path: [...key, 'secret'],
            sentence: `A key of ${kind} is base64 of ${lengths.join(' or ')} bytes, or ${isDown}`,
          }
      }
    }
  }
}

const inTheClear = (document: Report): string[] | undefined =>
  document
    .items('config', 'resources')
    .map(({ path }) => [...path, 'providers', '0'])
    .find((path) => document.has(...path, 'identity') || at(document.nearest(path), 'identity'))

const runsApiServer = (config: Configuration): boolean =>
  config.of('KubeAPIServerConfig').length > 0

export const documentRules: readonly RuntimeRule[] = [
  {
    id: 'both-forms',
    source: 'Talos pkg/machinery/config/container/container.go (v1.14.1), the getters',
    level: 'warn',
    *find(config) {
      for (const both of boths)
        for (const document of config.of(both.kind))
          for (const found of both.find(document, config.mainAlone)) yield { document, ...found }
    },
  },
  {
    id: 'install-wipes',
    source: 'Talos pkg/machinery/config/types/runtime/unattended_install.go (v1.14.1)',
    level: 'warn',
    *find(config) {
      for (const document of config.of('UnattendedInstallConfig'))
        if (!document.has('provisioning', 'wipe'))
          yield {
            document,
            path: ['provisioning'],
            sentence:
              'The disk is wiped before the installation, because provisioning.wipe is true unless it is set: write wipe: false to keep it',
          }
    },
  },
  {
    id: 'api-server-authentication',
    source:
      'Talos internal/app/machined/pkg/controllers/k8s/render_config_static_pods.go (v1.14.0-rc.1): without the document the file of --authentication-config is empty',
    level: 'refuse',
    *find(config) {
      if (config.of('KubeAuthenticationConfig').length === 0)
        for (const document of config.of('KubeAPIServerConfig'))
          yield {
            document,
            path: ['image'],
            sentence: `KubeAPIServerConfig needs KubeAuthenticationConfig beside it: without it ${isDown}`,
          }
    },
  },
  {
    id: 'api-server-authorizers',
    source:
      'Kubernetes apiserver/pkg/apis/apiserver/validation, ValidateAuthorizationConfiguration: at least one authorizer; Talos control_plane.go adds Node and RBAC to the older form only',
    level: 'refuse',
    *find(config) {
      if (!runsApiServer(config) || config.mainAlone.has('cluster', 'apiServer')) return
      const types = new Set(
        config.of('KubeAuthorizerConfig').map((document) => document.text('type')),
      )
      const missing = ['Node', 'RBAC'].filter((type) => !types.has(type))
      const [document] = config.of('KubeAPIServerConfig')
      if (missing.length > 0)
        yield {
          document: document!,
          path: ['image'],
          sentence:
            types.size === 0
              ? `KubeAPIServerConfig needs KubeAuthorizerConfig documents beside it, of the types Node and RBAC: without them ${isDown}`
              : `No KubeAuthorizerConfig has the type ${missing.join(' or ')}, which Kubernetes’s own components need`,
        }
    },
  },
  {
    id: 'encryption-configuration',
    source:
      'Kubernetes apiserver/pkg/apis/apiserver/validation/validation_encryption.go; Talos checks only that there is a configuration',
    level: 'refuse',
    *find(config) {
      for (const document of config.of('KubeEtcdEncryptionConfig'))
        for (const found of encryptionProblems(document)) yield { document, ...found }
    },
  },
  {
    id: 'encryption-off',
    source: 'Kubernetes docs, "Encrypting Confidential Data at Rest": the first provider encrypts',
    level: 'warn',
    *find(config) {
      for (const document of config.of('KubeEtcdEncryptionConfig')) {
        const path = inTheClear(document)
        if (path !== undefined)
          yield {
            document,
            path,
            sentence: 'identity is the first provider, so new objects are stored unencrypted',
          }
      }
    },
  },
  {
    id: 'network-missing',
    minors: ['1.14'],
    source:
      'Talos pkg/machinery/config/types/v1alpha1/v1alpha1_k8s_bridge.go (v1.14.1), K8sNetworkConfig: nil without the section; controllers/k8s/control_plane.go makes no control plane then',
    level: 'refuse',
    *find(config) {
      const { mainAlone: main } = config
      if (
        !config.isWorker &&
        main.text('machine', 'type') !== '' &&
        !main.has('cluster', 'network') &&
        config.of('KubeNetworkConfig').length === 0
      )
        yield {
          document: main,
          path: ['cluster'],
          sentence:
            'cluster.network is missing, and so is KubeNetworkConfig: Talos 1.14 has no defaults for it, and runs no API server',
        }
    },
  },
]
