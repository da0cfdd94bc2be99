/** Like `cases.ts`, for documents of Talos 1.14. */
import type { Cases } from './case.ts'

const document = (kind: string, fields: string): string =>
  `apiVersion: v1alpha1\nkind: ${kind}\n${fields}\n`
const both = (main: string, kind: string, fields: string): string =>
  `${main}\n---\n${document(kind, fields)}`
const key = (bytes: number): string => Buffer.alloc(bytes, 1).toString('base64')
const encryption = (providers: string): string =>
  document(
    'KubeEtcdEncryptionConfig',
    `config: {resources: [{resources: [secrets], providers: [${providers}]}]}`,
  )
const secretbox = `{secretbox: {keys: [{name: key2, secret: "${key(32)}"}]}}`
const apiServer = document('KubeAPIServerConfig', 'image: registry.k8s.io/kube-apiserver:v1.37.0')
const authorizer = (type: string): string =>
  document('KubeAuthorizerConfig', `name: ${type.toLowerCase()}\ntype: ${type}`)
/** The base has the API server in the main document. */
const alone = 'cluster: {apiServer: {$patch: delete}}\n---\n'
const authentication = document('KubeAuthenticationConfig', 'configuration: {jwt: []}')
const install = (provisioning: string): string =>
  document('UnattendedInstallConfig', `installer: {image: a/b:v1}\nprovisioning: ${provisioning}`)

const jwt = (
  issuer: string,
  more = 'claimMappings: {username: {claim: email, prefix: ""}}',
): string =>
  document('KubeAuthenticationConfig', `configuration: {jwt: [{issuer: {${issuer}}, ${more}}]}`)
const issuer = 'url: "https://id.example.org", audiences: [k8s]'

export const casesOfDocuments: Cases = {
  'flannel-backend': {
    bad: ['hostgw', 'vxlan2', 'wire-guard'].map((type) =>
      document('KubeFlannelCNIConfig', `backendType: ${type}`),
    ),
    good: ['vxlan', 'host-gw', 'WireGuard'].map((type) =>
      document('KubeFlannelCNIConfig', `backendType: ${type}`),
    ),
  },
  'proxy-config-mode': {
    bad: ['nft', 'userspace', 'IPVS'].map((mode) =>
      document('KubeProxyConfig', `config: {mode: ${mode}}`),
    ),
    good: ['config: {mode: ipvs}', 'config: {metricsBindAddress: "0.0.0.0:10249"}'].map((fields) =>
      document('KubeProxyConfig', fields),
    ),
  },
  authentication: {
    bad: [
      jwt('url: "http://id.example.org", audiences: [k8s]'),
      jwt('url: "https://a:b@id.example.org", audiences: [k8s]'),
      jwt('url: "https://id.example.org?a=b", audiences: [k8s]'),
      jwt('audiences: [k8s]'),
      jwt('url: "https://id.example.org"'),
      jwt('url: "https://id.example.org", audiences: [a, b]'),
      jwt('url: "https://id.example.org", audiences: [a, a], audienceMatchPolicy: MatchAny'),
      jwt(`${issuer}, discoveryURL: "https://id.example.org/"`),
      jwt(`${issuer}, certificateAuthority: none`),
      jwt(issuer, 'claimMappings: {username: {claim: email}}'),
      jwt(issuer, 'claimMappings: {username: {claim: email, expression: claims.email}}'),
      jwt(issuer, 'claimMappings: {}'),
      jwt(issuer, 'claimMappings: {username: {expression: claims.sub, prefix: a}}'),
      jwt(issuer, 'claimMappings: {username: {claim: sub, prefix: ""}, groups: {claim: groups}}'),
      jwt(
        issuer,
        'claimMappings: {username: {claim: sub, prefix: ""}, extra: [{key: team, valueExpression: claims.team}]}',
      ),
      jwt(
        issuer,
        'claimMappings: {username: {claim: sub, prefix: ""}}, claimValidationRules: [{claim: hd, message: no}]',
      ),
      document(
        'KubeAuthenticationConfig',
        'configuration: {anonymous: {conditions: [{path: /livez}]}}',
      ),
    ],
    good: [
      jwt(issuer),
      jwt('url: "https://id.example.org", audiences: [a, b], audienceMatchPolicy: MatchAny'),
      jwt(
        issuer,
        'claimMappings: {username: {expression: claims.sub}, groups: {claim: groups, prefix: "oidc:"}, extra: [{key: example.org/team, valueExpression: claims.team}]}, claimValidationRules: [{expression: "claims.hd == \'a\'", message: no}], userValidationRules: [{expression: "true"}]',
      ),
      document(
        'KubeAuthenticationConfig',
        'configuration: {anonymous: {enabled: true, conditions: [{path: /livez}]}}',
      ),
    ],
  },
  'both-forms': {
    bad: [
      both('machine: {sysctls: {a.b: "1"}}', 'SysctlConfig', 'params: {a.b: "2"}'),
      both('machine: {sysfs: {a.b: "1"}}', 'SysfsConfig', 'params: {a.b: "2"}'),
      both('machine: {kernel: {modules: [{name: zfs}]}}', 'KernelModuleConfig', 'name: zfs'),
      both('machine: {udev: {rules: [a]}}', 'UdevRulesConfig', 'rules: [b]'),
      both(
        'machine: {pods: [{metadata: {name: a}}]}',
        'KubeStaticPodConfig',
        'name: a\npod: {metadata: {name: a}}',
      ),
      both(
        'cluster: {inlineManifests: [{name: a, contents: "kind: Namespace"}]}',
        'KubeInlineManifestConfig',
        'name: a\nmanifest: "kind: Namespace"',
      ),
      both(
        'cluster: {extraManifests: ["https://a.example.org/b"]}',
        'KubeExternalManifestConfig',
        'name: a\nurl: https://a.example.org/b',
      ),
      both(
        'cluster: {apiServer: {authorizationConfig: [{type: Webhook, name: a}]}}',
        'KubeAuthorizerConfig',
        'name: node\ntype: Node',
      ),
    ],
    good: [
      both('machine: {sysctls: {a.b: "1"}}', 'SysctlConfig', 'params: {c.d: "2"}'),
      both('machine: {kernel: {modules: [{name: zfs}]}}', 'KernelModuleConfig', 'name: nvme'),
    ],
  },
  'install-wipes': {
    bad: [
      '{diskSelector: {match: disk.dev_path == "/dev/sda"}}',
      '{}',
      '{diskSelector: {match: disk.size > 0u}}',
    ].map(install),
    good: ['{wipe: false}', '{wipe: true}'].map(install),
  },
  'api-server-authentication': {
    bad: [
      `${alone}${apiServer}`,
      `${alone}${apiServer}---\n${authorizer('Node')}`,
      `${alone}${apiServer}---\n${authorizer('Node')}---\n${authorizer('RBAC')}`,
    ],
    good: [`${alone}${apiServer}---\n${authentication}`],
  },
  'api-server-authorizers': {
    bad: [
      `${alone}${apiServer}`,
      `${alone}${apiServer}---\n${authorizer('Node')}`,
      `${alone}${apiServer}---\n${authorizer('RBAC')}`,
    ],
    good: [`${alone}${apiServer}---\n${authorizer('Node')}---\n${authorizer('RBAC')}`],
  },
  'encryption-configuration': {
    bad: [
      `{secretbox: {keys: [{name: a, secret: "${key(16)}"}]}}`,
      '{aescbc: {keys: [{name: a, secret: no base64}]}}',
      '{aescbc: {keys: []}}',
      '{rot13: {}}',
      '{kms: {name: a, apiVersion: v2, endpoint: "/var/run/kms.sock"}}',
      '{kms: {name: a, endpoint: "unix:///var/run/kms.sock"}}',
      '{kms: {apiVersion: v2, endpoint: "unix:///var/run/kms.sock"}}',
      '',
    ]
      .map(encryption)
      .concat(document('KubeEtcdEncryptionConfig', 'config: {kind: EncryptionConfiguration}')),
    good: [
      `${secretbox}, {aescbc: {keys: [{name: key1, secret: "${key(32)}"}]}}, {identity: {}}`,
      '{kms: {name: a, apiVersion: v2, endpoint: "unix:///var/run/kms.sock"}}, {identity: {}}',
    ].map(encryption),
  },
  'encryption-off': {
    bad: ['{identity: {}}', `{identity: {}}, ${secretbox}`, `{identity: null}, ${secretbox}`].map(
      encryption,
    ),
    good: [`${secretbox}, {identity: {}}`].map(encryption),
  },
  'network-missing': {
    bad: [
      'cluster: {network: {$patch: delete}}',
      'cluster: {network: {$patch: delete}, clusterName: a}',
      'machine: {certSANs: [a]}\ncluster: {network: {$patch: delete}}',
    ],
    good: [
      both(
        'cluster: {network: {$patch: delete}}',
        'KubeNetworkConfig',
        'podSubnets: [10.244.0.0/16]\nserviceSubnets: [10.96.0.0/12]',
      ),
    ],
  },
}
