/** Patches that violate the rules of `limits/cluster.ts`, `policies.ts`, `links.ts` and `subnets.ts`. */
import type { Cases } from './case.ts'

const cluster = (text: string): string => `cluster: {${text}}`
const apiServer = (text: string): string => cluster(`apiServer: {${text}}`)
const plugin = (name: string): string => `admissionControl: [{name: ${name}, configuration: {}}]`
const audit = (rule: string, more = ''): string =>
  apiServer(
    `auditPolicy: {apiVersion: audit.k8s.io/v1, kind: Policy, rules: [${rule}]${more === '' ? '' : `, ${more}`}}`,
  )
const scheduler = (text: string): string => cluster(`scheduler: {config: {${text}}}`)
const volume = (host: string, mount = '/a', section = 'apiServer'): string =>
  cluster(`${section}: {extraVolumes: [{hostPath: "${host}", mountPath: "${mount}"}]}`)
const interfaces = (text: string): string => `machine: {network: {interfaces: [${text}]}}`
const routes = (text: string, more = ''): string =>
  interfaces(`{interface: eno1, addresses: [10.8.0.5/24]${more}, routes: [${text}]}`)
const nodeIp = (list: string): string => `machine: {kubelet: {nodeIP: {validSubnets: [${list}]}}}`
const kubespan = (text: string): string => `machine: {network: {kubespan: {enabled: true${text}}}}`
const endpoints = (list: string): string => kubespan(`, filters: {endpoints: [${list}]}`)
const metrics = (urls: string): string =>
  cluster(`etcd: {extraArgs: {listen-metrics-urls: ${urls}}}`)
const onSubnets = (key: string, urls: string): string =>
  cluster(`etcd: {${key}: [10.8.0.0/24], extraArgs: {listen-metrics-urls: "${urls}"}}`)
const registries = (service: boolean, kubernetes: boolean): string =>
  cluster(
    `discovery: {registries: {service: {disabled: ${service}}, kubernetes: {disabled: ${kubernetes}}}}`,
  )

const mirror = (url: string): string => `mirrors: {docker.io: {endpoints: ["${url}"]}}`
const tls = (host: string): string => `config: {"${host}": {tls: {insecureSkipVerify: true}}}`
const registry = (...parts: readonly string[]): string =>
  `machine: {registries: {${parts.join(', ')}}}`

const rebind = (name: string): string =>
  `apiVersion: v1alpha1\nkind: PCIDriverRebindConfig\nname: ${name}\ntargetDriver: vfio-pci\n`

export const casesOfClusters: Cases = {
  'registry-tls-without-https': {
    bad: [
      registry(mirror('http://harbor.example.org/v2/a'), tls('harbor.example.org')),
      registry(mirror('http://10.0.0.9:5000'), tls('10.0.0.9:5000')),
      `${registry(mirror('http://m.example.org'))}\n---\napiVersion: v1alpha1\nkind: RegistryTLSConfig\nname: m.example.org\ninsecureSkipVerify: true\n`,
    ],
    good: [
      registry(mirror('https://m.example.org'), tls('m.example.org')),
      registry(mirror('http://m.example.org:5000'), tls('m.example.org')),
    ],
  },
  'image-left-out': {
    bad: [
      'machine: {kubelet: {$patch: delete}}',
      'cluster: {controllerManager: {$patch: delete}}',
      'cluster: {scheduler: {$patch: delete}}',
    ],
    good: ['machine: {kubelet: {image: "ghcr.io/siderolabs/kubelet:v1.36.3"}}'],
  },
  'image-of-another-registry': {
    bad: [
      'machine: {kubelet: {image: "registry.k8s.io/kubelet:v1.36.3"}}',
      'machine: {kubelet: {image: "k8s.gcr.io/hyperkube:v1.36.3"}}',
      cluster('scheduler: {image: "k8s.gcr.io/kube-scheduler:v1.36.3"}'),
    ],
    good: [
      cluster('scheduler: {image: "registry.k8s.io/kube-scheduler:v1.36.3"}'),
      'machine: {kubelet: {image: "harbor.example.org/siderolabs/kubelet:v1.36.3"}}',
    ],
  },
  'pci-device': {
    bad: ['"04:00.0"', '"0000:0A:00.0"', '"pci0000:04:00.0"', 'enp4s0'].map(rebind),
    good: ['"0000:04:00.0"', '"10000:e1:00.0"'].map(rebind),
  },
  'proxy-off': {
    bad: [
      cluster('proxy: {disabled: true}'),
      cluster('proxy: {disabled: true}, network: {cni: {name: flannel}}'),
      cluster('proxy: {disabled: true, mode: nftables}'),
    ],
    good: [
      cluster('proxy: {disabled: true}, network: {cni: {name: none}}'),
      cluster('proxy: {disabled: false}'),
    ],
  },
  'discovery-by-kubernetes': {
    bad: [registries(true, false), registries(false, false), `${registries(true, false)}\n`],
    good: [
      registries(false, true),
      cluster(
        'discovery: {registries: {kubernetes: {disabled: false}}}, apiServer: {extraArgs: {feature-gates: AuthorizeNodeWithSelectors=false}}',
      ),
      cluster(
        'discovery: {registries: {kubernetes: {disabled: false}}}, apiServer: {extraArgs: {feature-gates: [AuthorizeNodeWithSelectors=false]}}',
      ),
    ],
  },
  'kubespan-without-registry': {
    bad: [
      `${kubespan('')}\n${registries(true, true)}`,
      `${kubespan(', mtu: 1380')}\n${registries(true, true)}`,
      `${registries(true, true)}\n---\napiVersion: v1alpha1\nkind: KubeSpanConfig\nenabled: true\n`,
    ],
    good: [`${kubespan('')}\n${registries(false, true)}`, registries(true, true)],
  },
  'volume-of-pod': {
    bad: [
      volume('/data/oidc'),
      volume('/srv', '/a', 'scheduler'),
      volume('/mnt/audit'),
      volume('/root/oidc'),
      volume('/boot/x', '/a', 'scheduler'),
      volume('/var/../etc'),
      volume('', '/a', 'controllerManager'),
    ],
    good: [
      volume('/var/oidc'),
      volume('/etc/kubernetes/audit', '/etc/kubernetes/audit'),
      volume('/usr/share/zoneinfo', '/usr/share/zoneinfo'),
      volume('/mnt'),
      volume('/var/oidc', '/a:/b'),
    ],
  },
  'volume-unknown': {
    bad: [
      volume('/etc/kube-webhook'),
      volume('/etc//hosts.d/', '/a', 'scheduler'),
      volume('/etc/ssl/own', '/a', 'controllerManager'),
      volume('/usr/share/oidc'),
      volume('/lib/x'),
    ],
    good: [
      ...['/etc', '/etc/ssl/certs/', '/etc/localtime', '/etc/pki', '/var/etc/a', '/srv'].map(
        (host) => volume(host),
      ),
      volume('/etc/kubernetes/audit'),
      volume('/usr/share/zoneinfo/Etc'),
      volume('/lib/modules/x'),
      volume('/etc/cni/net.d/own'),
    ],
  },
  'etcd-metrics-port': {
    bad: [
      '"http://0.0.0.0:2379"',
      '"http://0.0.0.0:2381,http://127.0.0.1:2380"',
      '["http://[::]:2379/"]',
      '"http://10.9.0.5:2379"',
    ].map(metrics),
    good: [
      ...['"http://0.0.0.0:2381"', '["http://0.0.0.0:12379"]'].map(metrics),
      cluster(
        'etcd: {listenSubnets: [10.8.0.0/24], extraArgs: {listen-metrics-urls: "http://10.9.0.5:2379"}}',
      ),
    ],
  },
  'etcd-metrics-loopback': {
    bad: [
      onSubnets('listenSubnets', 'http://127.0.0.1:2379'),
      onSubnets('advertisedSubnets', 'http://0.0.0.0:2381,http://[::1]:2379/'),
      onSubnets('listenSubnets', 'http://localhost:2379'),
    ],
    good: [
      onSubnets('listenSubnets', 'http://127.0.0.1:2380'),
      onSubnets('advertisedSubnets', 'http://127.0.0.1:2381'),
      // Refused by etcd-metrics-port.
      metrics('"http://127.0.0.1:2379"'),
    ],
  },
  'admission-not-enabled': {
    bad: [
      apiServer(plugin('EventRateLimit')),
      apiServer(plugin('PodSecurty')),
      apiServer(
        `${plugin('PodNodeSelector')}, extraArgs: {enable-admission-plugins: EventRateLimit}`,
      ),
    ],
    good: [
      apiServer(
        `${plugin('EventRateLimit')}, extraArgs: {enable-admission-plugins: "NodeRestriction, EventRateLimit"}`,
      ),
      apiServer(plugin('PodSecurity')),
      apiServer(plugin('ValidatingAdmissionWebhook')),
    ],
  },
  'audit-policy-value': {
    bad: [
      audit('{level: None, omitStages: [Received]}'),
      audit('{level: None, nonResourceURLs: [healthz]}'),
      audit('{level: None, nonResourceURLs: ["/api*/x"]}'),
      audit('{level: None, nonResourceURLs: [/healthz], namespaces: [a]}'),
      audit('{level: None, resources: [{group: "", resourceNames: [a]}]}'),
    ],
    good: [
      audit(
        '{level: None, users: [a], verbs: [watch], resources: [{group: "", resources: [endpoints], resourceNames: [b]}]}, {level: None, nonResourceURLs: ["/healthz*", /version, "*"]}, {level: Metadata, omitStages: [RequestReceived], omitManagedFields: true}',
        'omitStages: [RequestReceived, Panic], omitManagedFields: true',
      ),
    ],
  },
  'scheduler-value': {
    bad: [
      'profiles: [{schedulerName: a}, {schedulerName: a}]',
      'profiles: [{schedulerName: a}, {plugins: {}}]',
      'percentageOfNodesToScore: 101',
      'parallelism: 0',
    ].map(scheduler),
    good: [
      'profiles: [{schedulerName: default-scheduler, plugins: {score: {disabled: [{name: "*"}]}, multiPoint: {}}, pluginConfig: [{name: NodeResourcesFit, args: {}}]}]',
      'leaderElection: {leaderElect: true}, percentageOfNodesToScore: 0, parallelism: 16',
      'profiles: [{plugins: {placementGenerate: {}, placementScore: {}}}]',
    ].map(scheduler),
  },
  'bond-without-ports': {
    bad: ['', ', miimon: 100', ', interfaces: []'].map((more) =>
      interfaces(`{interface: bond0, dhcp: true, bond: {mode: active-backup${more}}}`),
    ),
    good: [
      interfaces('{interface: bond0, bond: {mode: active-backup, interfaces: [eno1]}}'),
      interfaces('{interface: bond0, bond: {mode: active-backup, deviceSelectors: [{driver: a}]}}'),
    ],
  },
  'bond-primary': {
    bad: ['eno3', 'bond0', 'eno'].map((primary) =>
      interfaces(
        `{interface: bond0, bond: {mode: active-backup, miimon: 100, primary: ${primary}, interfaces: [eno1, eno2]}}`,
      ),
    ),
    good: [
      interfaces(
        '{interface: bond0, bond: {mode: active-backup, miimon: 100, primary: eno2, interfaces: [eno1, eno2]}}',
      ),
      `${interfaces('{interface: bond0, bond: {mode: active-backup, miimon: 100, primary: eno1, interfaces: [net0, net1]}}')}\n---\napiVersion: v1alpha1\nkind: LinkAliasConfig\nname: net0\nselector: {match: link.driver == 'virtio_net'}`,
    ],
  },
  'dhcp-of-no-family': {
    bad: [
      interfaces('{interface: eno1, dhcp: true, dhcpOptions: {ipv4: false}}'),
      interfaces('{interface: eno1, dhcp: true, dhcpOptions: {ipv4: false, ipv6: false}}'),
      interfaces('{interface: eno1, vlans: [{vlanId: 7, dhcp: true, dhcpOptions: {ipv4: false}}]}'),
    ],
    good: [
      interfaces('{interface: eno1, dhcp: true, dhcpOptions: {ipv4: false, ipv6: true}}'),
      interfaces('{interface: eno1, dhcp: true, dhcpOptions: {routeMetric: 100}}'),
      interfaces('{interface: eno1, dhcpOptions: {ipv4: false}}'),
    ],
  },
  'gateway-of-own': {
    bad: [
      routes('{network: 0.0.0.0/0, gateway: 10.8.0.5}'),
      'apiVersion: v1alpha1\nkind: LinkConfig\nname: eno1\naddresses: [{address: "fd00::5/64"}]\nroutes: [{gateway: "fd00:0::5"}]',
      interfaces(
        '{interface: eno1, vlans: [{vlanId: 7, addresses: [10.7.0.5/24], routes: [{gateway: 10.7.0.5}]}]}',
      ),
    ],
    good: [
      routes('{network: 0.0.0.0/0, gateway: 10.8.0.1}'),
      routes('{network: 10.9.0.0/16, gateway: 10.8.0.9}', ', vip: {ip: 10.8.0.9}'),
      'apiVersion: v1alpha1\nkind: LinkConfig\nname: eno1\naddresses: [{address: "fe80::1/64"}]\n---\napiVersion: v1alpha1\nkind: LinkConfig\nname: eno2\nroutes: [{gateway: "fe80::1"}]',
    ],
  },
  'route-source': {
    bad: ['10.8.0.6', '10.7.0.5', '10.8.0.50'].map((from) =>
      routes(`{network: 0.0.0.0/0, gateway: 10.8.0.1, source: ${from}}`),
    ),
    good: [
      routes('{network: 0.0.0.0/0, gateway: 10.8.0.1, source: 10.8.0.5}'),
      routes('{network: 0.0.0.0/0, gateway: 10.8.0.1, source: 10.8.0.6}', ', dhcp: true'),
    ],
  },
  'subnets-only-excluded': {
    bad: [
      nodeIp('"!10.0.0.0/8"'),
      nodeIp('"!10.0.0.0/8", "!fd00::/8"'),
      cluster('etcd: {advertisedSubnets: ["!10.1.0.0/16"]}'),
      cluster('etcd: {listenSubnets: ["!10.1.0.0/16"]}'),
    ],
    good: [nodeIp('0.0.0.0/0, "!10.1.0.0/16"'), nodeIp('')],
  },
  'endpoints-only-excluded': {
    bad: [
      endpoints('"!10.0.0.0/8"'),
      endpoints('"!0.0.0.0/0", "!::/0"'),
      'apiVersion: v1alpha1\nkind: KubeSpanConfig\nenabled: true\nfilters: {endpoints: ["!10.0.0.0/8"]}',
    ],
    good: [
      endpoints('0.0.0.0/0, "!192.168.0.0/16", "::/0"'),
      endpoints('10.0.0.0/8'),
      `${endpoints('"!0.0.0.0/0", "!::/0"')}\n---\napiVersion: v1alpha1\nkind: KubeSpanEndpointsConfig\nextraAnnouncedEndpoints: ["192.0.2.5:51820"]`,
    ],
  },
  'subnet-excluded-first': {
    bad: [
      nodeIp('"!10.1.0.0/16", 0.0.0.0/0'),
      endpoints('"!192.168.0.0/16", 0.0.0.0/0, "::/0"'),
      cluster('etcd: {advertisedSubnets: ["!10.1.0.7", 10.1.0.0/16]}'),
    ],
    good: [
      nodeIp('0.0.0.0/0, "!10.1.0.0/16"'),
      nodeIp('10.0.0.0/8, "!10.1.0.0/16", 10.1.2.0/24'),
      nodeIp('"!fd00::/8", 0.0.0.0/0'),
      nodeIp('"!10.0.0.0/8", 10.1.0.0/16, 192.168.0.0/16'),
      nodeIp('"!10.0.0.0/8", 10.0.0.0/16'),
    ],
  },
}
