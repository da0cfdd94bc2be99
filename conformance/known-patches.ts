import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { generateConfig } from '#talos/config/generate.ts'
import { readSecrets } from '#talos/secrets/bundle.ts'
/**
 * Patches written by hand: combinations that the model doesn't generate. Most of them once gave a
 * result different from Talos's.
 */
import type { PatchCase } from './compare.ts'

const main = (type: 'controlplane' | 'worker') => `version: v1alpha1
machine:
    type: ${type}
    token: abcdef.0123456789abcdef
    ca:
        crt: Zm9v
        key: ${type === 'worker' ? '""' : 'YmFy'}
    kubelet:
        image: ghcr.io/siderolabs/kubelet:v1.35.4
    network: {}
    install:
        disk: /dev/sda
        image: ghcr.io/siderolabs/installer:v1.12.0
        wipe: false
    sysctls:
        net.core.somaxconn: "65535"
    files:
        - content: one
          permissions: 0o644
          path: /var/one
          op: create
cluster:
    controlPlane:
        endpoint: https://10.0.0.10:6443
    clusterName: rack-1
    token: abcdef.0123456789abcdef
    network:
        dnsDomain: cluster.local
        podSubnets:
            - 10.244.0.0/16
        serviceSubnets:
            - 10.96.0.0/12
`

/** A `secrets.yaml` of talosctl that belongs to no cluster. */
export const secretsYaml = readFileSync(join(import.meta.dirname, 'secrets.yaml'), 'utf8')
const secrets = readSecrets(secretsYaml)

/** A configuration of 1.14, in which Kubernetes has documents of its own. */
const apart = (role: 'control_plane' | 'worker') =>
  generateConfig({
    role,
    clusterName: 'rack-1',
    endpoint: 'https://10.0.0.10:6443',
    talosVersion: '1.14',
    kubernetesVersion: '1.35.4',
    secrets,
    installDisk: '/dev/sda',
    installImage: 'ghcr.io/siderolabs/installer:v1.12.0',
  })

export const bases: Readonly<Record<string, string>> = {
  'controlplane of documents': apart('control_plane'),
  'worker of documents': apart('worker'),
  controlplane: main('controlplane'),
  worker: main('worker'),
  volumes: `${main('worker')}---
apiVersion: v1alpha1
kind: UserVolumeConfig
name: data
provisioning:
    diskSelector:
        match: disk.transport == "nvme"
    minSize: 10GiB
    maxSize: 100GiB
`,
  logs: `${main('worker')}---
apiVersion: v1alpha1
kind: KmsgLogConfig
name: remote
url: tcp://10.0.0.9:514/path?a=b
---
apiVersion: v1alpha1
kind: SideroLinkConfig
apiUrl: https://link.example:8090/?jointoken=secret
`,
  interfaces: main('worker').replace(
    'network: {}',
    'network:\n        interfaces:\n            - deviceSelector:\n                physical: true\n              dhcp: true',
  ),
  policy: main('controlplane').replace(
    'cluster:\n',
    'cluster:\n    apiServer:\n        image: registry.k8s.io/kube-apiserver:v1.35.4\n        auditPolicy:\n            apiVersion: audit.k8s.io/v1\n            kind: Policy\n            rules:\n                - level: Metadata\n        extraArgs:\n            v: "2"\n',
  ),
}

const volume = (body: string) => `apiVersion: v1alpha1\nkind: UserVolumeConfig\nname: data\n${body}`
const file = (content: string) =>
  `machine:\n  files:\n    - path: /var/two\n      permissions: 0o600\n      op: create\n      content: ${JSON.stringify(content)}\n`

const byBase: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  volumes: {
    'a volume patched without its selector': [volume('provisioning:\n  grow: true\n')],
    'a volume patched without sizes': [
      volume('provisioning:\n  diskSelector:\n    match: system_disk\n'),
    ],
    'a volume merged and deleted in one patch': [
      `${volume('provisioning:\n  grow: true\n')}---\n${volume('$patch: delete\n')}`,
    ],
    'a volume deleted and made anew in one patch': [
      `${volume('$patch: delete\n')}---\n${volume('provisioning:\n  grow: true\n  diskSelector:\n    match: system_disk\n')}`,
    ],
    'a document that is not there is deleted': [
      'apiVersion: v1alpha1\nkind: UserVolumeConfig\nname: other\n$patch: delete\n',
    ],
    'a delete inside a document that is not there': [
      'apiVersion: v1alpha1\nkind: UserVolumeConfig\nname: other\nprovisioning:\n  $patch: delete\n',
    ],
    'a delete inside a document that is there': [volume('provisioning:\n  $patch: delete\n')],
    'maxSize in percent over 100': [volume('provisioning:\n  maxSize: 150%\n')],
    'maxSize in percent': [volume('provisioning:\n  maxSize: 50%\n')],
    'a negative size': [volume('provisioning:\n  minSize: "-5GiB"\n')],
    'maxSize under minSize': [volume('provisioning:\n  maxSize: 5GiB\n')],
    'an expression that cannot be parsed': [
      volume('provisioning:\n  diskSelector:\n    match: disk.size ==\n'),
    ],
    'an expression that is no condition': [
      volume('provisioning:\n  diskSelector:\n    match: disk.size\n'),
    ],
    'an expression with an unknown name': [
      volume('provisioning:\n  diskSelector:\n    match: disc.size > 1u\n'),
    ],
  },
  logs: {
    'a log address with another host': [
      'apiVersion: v1alpha1\nkind: KmsgLogConfig\nname: remote\nurl: udp://10.0.0.10:515\n',
    ],
    'a link address without its query': [
      'apiVersion: v1alpha1\nkind: SideroLinkConfig\napiUrl: https://other.example/\n',
    ],
    'an endpoint with another port': [
      'cluster:\n  controlPlane:\n    endpoint: https://10.0.0.11:443\n',
    ],
  },
  interfaces: {
    'a physical selector twice': [
      'machine:\n  network:\n    interfaces:\n      - deviceSelector:\n          physical: true\n        mtu: 9000\n',
    ],
    'an interface by name beside a selector': [
      'machine:\n  network:\n    interfaces:\n      - interface: eno1\n        dhcp: true\n',
    ],
    'an interface of a list deleted by its name': [
      'machine:\n  network:\n    interfaces:\n      - interface: eno1\n        $patch: delete\n',
    ],
    'an interface of a list deleted by a flag': [
      'machine:\n  network:\n    interfaces:\n      - dhcp: true\n        $patch: delete\n',
    ],
    'a route in a table': [
      'apiVersion: v1alpha1\nkind: LinkConfig\nname: eno1\nroutes:\n  - gateway: 10.0.0.1\n    table: main\n',
    ],
    'a route in a table that is not known': [
      'apiVersion: v1alpha1\nkind: LinkConfig\nname: eno1\nroutes:\n  - gateway: 10.0.0.1\n    table: x\n',
    ],
    'a routing rule, patched': [
      'apiVersion: v1alpha1\nkind: RoutingRuleConfig\nname: "1000"\nsrc: 10.0.0.0/8\ntable: 100\n',
      'apiVersion: v1alpha1\nkind: RoutingRuleConfig\nname: "1000"\nsrc: 10.1.0.0/16\n',
    ],
  },
  policy: {
    'an empty audit policy': ['cluster:\n  apiServer:\n    auditPolicy: {}\n'],
    'another audit policy': [
      'cluster:\n  apiServer:\n    auditPolicy:\n      apiVersion: audit.k8s.io/v1\n      kind: Policy\n      rules: []\n',
    ],
    'arguments that are empty': ['cluster:\n  apiServer:\n    extraArgs:\n      v: []\n'],
    'arguments that are null': ['cluster:\n  apiServer:\n    extraArgs:\n      v: null\n'],
    'arguments in a list': [
      'cluster:\n  apiServer:\n    extraArgs:\n      v: ["a", "b c", "d: e"]\n',
    ],
    'an argument deleted': [
      'cluster:\n  apiServer:\n    extraArgs:\n      v:\n        $patch: delete\n',
    ],
    'a subnet too long': ['cluster:\n  network:\n    podSubnets: [10.244.0.0/33]\n'],
    'an init node': ['machine:\n  type: init\n'],
  },
  worker: {
    'a file that begins with a line break': [file('\nx\n')],
    'a file that begins with a space': [file(' x\ny\n')],
    'a file that begins with two line breaks and spaces': [file('\n\n  x\n y\n')],
    'a file that begins with a tab': [file('\tx\ny\n')],
    'a file that ends without a line break': [file('a\nb')],
    'a file that ends with two line breaks': [file('a\n\n')],
    'a file of one space': [file(' ')],
    'a file of one line break': [file('\n')],
    'a file with trailing spaces': [file('a  \nb\n')],
    'a list item of several lines': ['machine:\n  udev:\n    rules: ["a\\nb\\n", "c"]\n'],
    'texts that YAML 1.1 reads otherwise': [
      'machine:\n  sysctls:\n    "on": "yes"\n    a: "<<"\n    b: "12:30:45"\n    c: "1.0"\n    d: "2020-01-01"\n',
    ],
    'a file with carriage returns': [file('a\r\nb\r\n')],
    'an install disk selector with a size': [
      'machine:\n  install:\n    diskSelector:\n      size: ">= 100GB"\n',
    ],
    'an install disk selector with a size, patched': [
      'machine:\n  install:\n    diskSelector:\n      size: ">= 100GB"\n',
      'machine:\n  install:\n    diskSelector:\n      size: "< 1TB"\n',
    ],
    'a list element deleted by number': [
      'machine:\n  files:\n    - permissions: 0o644\n      $patch: delete\n',
    ],
    'a sysctl deleted': ['machine:\n  sysctls:\n    net.core.somaxconn:\n      $patch: delete\n'],
    'a section deleted': ['machine:\n  sysctls:\n    $patch: delete\n'],
    'a kubelet setting deleted inside extraConfig': [
      'machine:\n  kubelet:\n    extraConfig:\n      a: 1\n      b: 2\n',
      'machine:\n  kubelet:\n    extraConfig:\n      a:\n        $patch: delete\n',
    ],
    'an unknown key': ['machine:\n  foo: bar\n'],
    'an unknown document': ['apiVersion: v1alpha1\nkind: FooConfig\nname: x\n'],
    'two documents of one name': [
      'apiVersion: v1alpha1\nkind: LinkConfig\nname: eno1\nup: true\n---\napiVersion: v1alpha1\nkind: LinkConfig\nname: eno1\nup: false\n',
    ],
    'a bond of 802.3ad without a rate': [
      'apiVersion: v1alpha1\nkind: BondConfig\nname: bond0\nlinks: [eno1, eno2]\nbondMode: 802.3ad\n',
    ],
    'a kubelet that is too new': [
      'machine:\n  kubelet:\n    image: ghcr.io/siderolabs/kubelet:v1.37.0\n',
    ],
    'a JSON patch': ['[{"op": "add", "path": "/machine/sysctls/a", "value": "b"}]'],
    'an empty patch': [''],
    'a patch of comments': ['# nothing\n'],
    'bad YAML': ['machine: [\n'],
  },
}

const since114: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'controlplane of documents': {
    'search domains, patched': [
      'apiVersion: v1alpha1\nkind: ResolverConfig\nsearchDomains:\n  domains: [a.example]\n',
      'apiVersion: v1alpha1\nkind: ResolverConfig\nsearchDomains:\n  domains: [b.example]\n',
    ],
    'no discovery identity': [
      'apiVersion: v1alpha1\nkind: DiscoveryIdentityConfig\n$patch: delete\n',
    ],
    'no discovery': [
      'apiVersion: v1alpha1\nkind: DiscoveryIdentityConfig\n$patch: delete\n---\napiVersion: v1alpha1\nkind: DiscoveryServiceConfig\nname: default\n$patch: delete\n',
    ],
    'KubeSpan without discovery': [
      'apiVersion: v1alpha1\nkind: DiscoveryServiceConfig\nname: default\n$patch: delete\n---\napiVersion: v1alpha1\nkind: KubeSpanConfig\nenabled: true\n',
    ],
    KubeSpan: ['apiVersion: v1alpha1\nkind: KubeSpanConfig\nenabled: true\n'],
    'no encryption of etcd': [
      'apiVersion: v1alpha1\nkind: KubeEtcdEncryptionConfig\n$patch: delete\n',
    ],
    'encryption of etcd in the old form': [
      'apiVersion: v1alpha1\nkind: KubeEtcdEncryptionConfig\n$patch: delete\n---\ncluster:\n  secretboxEncryptionSecret: z01mye6j16bspJYtTB/5SFX8j7Ph4JXxM2Xuu4vsBPM=\n',
    ],
    'no endpoint': ['apiVersion: v1alpha1\nkind: KubeClusterConfig\n$patch: delete\n'],
    'an endpoint in both forms': [
      'cluster:\n  controlPlane:\n    endpoint: https://10.0.0.11:6443\n',
    ],
    'a port of the API server in the old form': [
      'cluster:\n  controlPlane:\n    localAPIServerPort: 6444\n',
    ],
    'a node label in the old form': ['machine:\n  nodeLabels:\n    a: b\n'],
    'an accepted authority in the old form': ['cluster:\n  acceptedCAs:\n    - crt: Zm9v\n'],
    'encrypted name servers': [
      'apiVersion: v1alpha1\nkind: ResolverConfig\nnameservers:\n  - address: 9.9.9.9\n    protocol: DoT\n    tlsServerName: dns.quad9.net\n',
    ],
    'encrypted name servers without hostDNS': [
      'apiVersion: v1alpha1\nkind: ResolverConfig\nhostDNS:\n  enabled: false\n  forwardKubeDNSToHost: false\nnameservers:\n  - address: 9.9.9.9\n    protocol: DoT\n    tlsServerName: dns.quad9.net\n',
    ],
    'a server name without encryption': [
      'apiVersion: v1alpha1\nkind: ResolverConfig\nnameservers:\n  - address: 9.9.9.9\n    tlsServerName: dns.quad9.net\n',
    ],
    'a second encryption provider': [
      'apiVersion: v1alpha1\nkind: KubeEtcdEncryptionConfig\nconfig:\n  resources:\n    - resources: [configmaps]\n      providers:\n        - identity: {}\n',
    ],
    'an argument that has a document': [
      'apiVersion: v1alpha1\nkind: KubeAPIServerConfig\nextraArgs:\n  oidc-issuer-url: https://a.example\n',
    ],
    'dual-stack networks': [
      'apiVersion: v1alpha1\nkind: KubeNetworkConfig\npodSubnets: [10.12.0.0/16, "fd00:1::/56"]\nserviceSubnets: [10.13.0.0/16, "fd00:2::/112"]\n',
    ],
    'two networks of one family': [
      'apiVersion: v1alpha1\nkind: KubeNetworkConfig\npodSubnets: [10.12.0.0/16, 10.14.0.0/16]\nserviceSubnets: [10.13.0.0/16, 10.15.0.0/16]\n',
    ],
    'a pod network that is too small': [
      'apiVersion: v1alpha1\nkind: KubeNetworkConfig\npodSubnets: [10.12.0.0/25]\n',
    ],
    'a pod network that is too large': [
      'apiVersion: v1alpha1\nkind: KubeNetworkConfig\npodSubnets: [10.0.0.0/7]\n',
    ],
    'a service network that is too large': [
      'apiVersion: v1alpha1\nkind: KubeNetworkConfig\nserviceSubnets: ["fd00:2::/64"]\npodSubnets: ["fd00:1::/56"]\n',
    ],
    'a network that is no network address': [
      'apiVersion: v1alpha1\nkind: KubeNetworkConfig\npodSubnets: [10.12.0.1/16]\n',
    ],
    'a veth pair whose peer is another link': [
      'apiVersion: v1alpha1\nkind: LinkConfig\nname: b\n---\napiVersion: v1alpha1\nkind: VethConfig\nname: a\npeer:\n  name: b\n',
    ],
    'containers that wait for each other': [
      'apiVersion: v1alpha1\nkind: ContainerConfig\nname: a\nimage: a\ndependsOn:\n  containers: [b]\n---\napiVersion: v1alpha1\nkind: ContainerConfig\nname: b\nimage: b\ndependsOn:\n  containers: [a]\n',
    ],
    'a container that waits for none that is there': [
      'apiVersion: v1alpha1\nkind: ContainerConfig\nname: a\nimage: a\ndependsOn:\n  containers: [b]\n',
    ],
    'a disk in both forms': ['machine:\n  install:\n    disk: /dev/sda\n'],
    'no installation': ['apiVersion: v1alpha1\nkind: UnattendedInstallConfig\n$patch: delete\n'],
    'a null entry': ['machine:\n  files:\n    - null\n'],
    'two documents of one name': [
      'apiVersion: v1alpha1\nkind: SysctlConfig\nparams: {a: "1"}\n---\napiVersion: v1alpha1\nkind: SysctlConfig\nparams: {b: "2"}\n',
    ],
    'a document that is not there is deleted': [
      'apiVersion: v1alpha1\nkind: KernelModuleConfig\nname: other\n$patch: delete\n',
    ],
  },
  'worker of documents': {
    'a document of control planes': [
      'apiVersion: v1alpha1\nkind: KubeCoreDNSConfig\nenabled: true\n',
    ],
    'etcd in the main document': ['cluster:\n  etcd:\n    ca:\n      crt: Zm9v\n      key: YmFy\n'],
    'a volume of Talos on a partition of its own': [
      'apiVersion: v1alpha1\nkind: VolumeConfig\nname: ETCD\nprovisioning:\n  minSize: 10GiB\n',
    ],
    'a file system of Btrfs': [
      `${volume('provisioning:\n  minSize: 10GiB\n  diskSelector:\n    match: system_disk\n')}filesystem:\n  type: btrfs\n`,
    ],
    'a secure directory': [volume('volumeType: directory\nmount:\n  secure: true\n')],
    'network time with addresses and NTS': [
      'apiVersion: v1alpha1\nkind: TimeSyncConfig\nntp:\n  servers: [10.0.0.1]\n  useNTS: true\n',
    ],
  },
  worker: {
    'a kubelet in both forms': [
      'apiVersion: v1alpha1\nkind: KubeletConfig\nimage: ghcr.io/siderolabs/kubelet:v1.35.4\n',
    ],
    'a static pod beside the old form': [
      'machine:\n  pods:\n    - apiVersion: v1\n      kind: Pod\n---\napiVersion: v1alpha1\nkind: KubeStaticPodConfig\nname: a\npod:\n  apiVersion: v1\n  kind: Pod\n',
    ],
  },
}

const casesOf = (patches: typeof byBase, since?: PatchCase['since']): PatchCase[] =>
  Object.entries(patches).flatMap(([base, all]) =>
    Object.entries(all).map(([title, bodies]) => ({
      id: `${base}: ${title}`,
      base,
      patches: [...bodies],
      ...(since === undefined ? {} : { since }),
    })),
  )

export const knownPatches = (): PatchCase[] => [...casesOf(byBase), ...casesOf(since114, '1.14')]
