/** Patches that violate the rules of `component-names.ts` and `certificates.ts`. */
import type { Cases } from './case.ts'

const apiServer = (args: string): string => `cluster: {apiServer: {extraArgs: {${args}}}}`
const range = (text: string): string => apiServer(`service-node-port-range: "${text}"`)

/** A DER sequence of five bytes, in PEM. */
const whole = `-----BEGIN CERTIFICATE-----\n${Buffer.from([0x30, 3, 2, 1, 0]).toString('base64')}\n-----END CERTIFICATE-----\n`
const cut = whole.replace('MAMCAQA=', 'MAMCAQ==')
const indented = (text: string): string => text.trimEnd().replaceAll(/^/gm, '  ')
const root = (text: string): string =>
  `apiVersion: v1alpha1\nkind: TrustedRootsConfig\nname: corp\ncertificates: |\n${indented(text)}\n`
const registry = (text: string): string =>
  `machine: {registries: {config: {a.example.org: {tls: {ca: ${Buffer.from(text).toString('base64')}}}}}}`

const mirror = 'machine: {registries: {mirrors: {docker.io: {endpoints: ["https://m"]}}}}\n---\n'
const documentOf = (kind: string, name: string, more: string): string =>
  `apiVersion: v1alpha1\nkind: ${kind}\nname: ${name}\n${more}\n`
const endpoints = 'endpoints: [{url: "https://n"}]'

export const casesOfNames: Cases = {
  'node-port-range': {
    bad: ['30000:32767', '30000-70000', '32767-30000', 'all', '30000-32767-33000'].map(range),
    good: ['30000-32767', '80+3', '30000'].map(range),
  },
  'node-port-taken': {
    bad: ['1-65535', '6443-6500', '10000-32767'].map(range),
    good: ['30000-32767', '20000-22767'].map(range),
  },
  'admission-plugin-removed': {
    bad: [
      'enable-admission-plugins: "NodeRestriction,PodSecurityPolicy"',
      'disable-admission-plugins: NodeRestriction',
      'enable-admission-plugins: AlwaysPullImages, disable-admission-plugins: AlwaysPullImages',
      'enable-admission-plugins: SecurityContextDeny',
    ].map(apiServer),
    good: ['enable-admission-plugins: "AlwaysPullImages, EventRateLimit"'].map(apiServer),
  },
  'admission-plugin': {
    bad: ['AlwaysPullImage', 'podsecurity', 'MyPlugin'].map((name) =>
      apiServer(`enable-admission-plugins: ${name}`),
    ),
    good: [apiServer('disable-admission-plugins: DefaultStorageClass')],
  },
  'component-argument-elsewhere': {
    bad: [
      'apiServer: {extraArgs: {max-pods: "250"}}',
      'apiServer: {extraArgs: {node-monitor-grace-period: 20s}}',
      'apiServer: {extraArgs: {insecure-port: "8080"}}',
      'controllerManager: {extraArgs: {pod-eviction-timeout: 30s}}',
      'controllerManager: {extraArgs: {oidc-issuer-url: "https://a.example.org"}}',
      'scheduler: {extraArgs: {node-cidr-mask-size: "25"}}',
    ].map((one) => `cluster: {${one}}`),
    good: [
      'apiServer: {extraArgs: {event-ttl: 1h, goaway-chance: "0.01"}}',
      'controllerManager: {extraArgs: {secure-port: "10257", node-monitor-period: 2s}}',
      'scheduler: {extraArgs: {kube-api-qps: "100"}}',
    ].map((one) => `cluster: {${one}}`),
  },
  'version-skew': {
    bad: [
      'machine: {kubelet: {image: "ghcr.io/siderolabs/kubelet:v1.99.0"}}',
      'machine: {kubelet: {image: "ghcr.io/siderolabs/kubelet:v1.30.1"}}',
      'cluster: {scheduler: {image: "registry.k8s.io/kube-scheduler:v1.30.0"}}',
    ],
    good: [
      'machine: {kubelet: {image: "ghcr.io/siderolabs/kubelet:v1.35.0-slim"}}',
      'machine: {kubelet: {image: "ghcr.io/siderolabs/kubelet:latest"}}',
    ],
  },
  'certificate-broken': {
    bad: [registry(cut), root(cut), root(whole + cut), registry(whole.split('-----END')[0]!)],
    good: [registry(whole), root(whole), root(`Corp\n${whole}${whole}`)],
  },
  'registry-in-both-forms': {
    bad: [
      mirror + documentOf('RegistryMirrorConfig', 'docker.io', endpoints),
      `machine: {registries: {config: {a.b: {auth: {username: u, password: p}}}}}\n---\n${documentOf('RegistryAuthConfig', 'a.b', 'username: u\npassword: p')}`,
      `machine: {registries: {config: {a.b: {tls: {insecureSkipVerify: true}}}}}\n---\n${documentOf('RegistryTLSConfig', 'a.b', 'insecureSkipVerify: true')}`,
    ],
    good: [mirror + documentOf('RegistryMirrorConfig', 'ghcr.io', endpoints)],
  },
  'virtual-address': {
    bad: [
      '{ip: 0.0.0.0}}]}}',
      '{ip: 10.244.0.5}}]}}',
      '{ip: 10.0.0.5}, addresses: [10.0.0.5/24]}]}}',
    ]
      .map((rest) => `machine: {network: {interfaces: [{interface: eth0, vip: ${rest}`)
      .concat('apiVersion: v1alpha1\nkind: Layer2VIPConfig\nname: 224.0.0.1\nlink: eth0'),
    good: [
      'machine: {network: {interfaces: [{interface: eth0, addresses: [10.0.0.5/24], vip: {ip: 10.0.0.6}}]}}',
    ],
  },
  'address-in-pod-network': {
    bad: ['10.244.3.4/24', '10.96.0.9/16', '10.111.0.1/32'].map(
      (address) => `machine: {network: {interfaces: [{interface: eth0, addresses: [${address}]}]}}`,
    ),
    good: ['machine: {network: {interfaces: [{interface: eth0, addresses: [10.0.0.5/24]}]}}'],
  },
  'link-in-two': {
    bad: [
      'apiVersion: v1alpha1\nkind: BondConfig\nname: bond0\nlinks: [eth0, eth1]\nbondMode: active-backup\n---\napiVersion: v1alpha1\nkind: BondConfig\nname: bond1\nlinks: [eth1]\nbondMode: active-backup',
      'machine: {network: {interfaces: [{interface: br0, bridge: {interfaces: [eth0]}}]}}\n---\napiVersion: v1alpha1\nkind: BondConfig\nname: bond0\nlinks: [eth0]\nbondMode: active-backup',
      'machine: {network: {interfaces: [{interface: bond0, bond: {mode: active-backup, interfaces: [bond0]}}]}}',
      'apiVersion: v1alpha1\nkind: VLANConfig\nname: v\nparent: v\nvlanID: 8',
    ],
    good: [
      'apiVersion: v1alpha1\nkind: BondConfig\nname: bond0\nlinks: [eth0]\nbondMode: active-backup\n---\napiVersion: v1alpha1\nkind: BridgeConfig\nname: br0\nlinks: [bond0]',
    ],
  },
}
