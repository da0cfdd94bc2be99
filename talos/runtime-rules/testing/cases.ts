/** Patches that violate the rules, from public reports and guides. */
import type { Cases } from './case.ts'
import { casesOfClusters } from './cases-of-clusters.ts'
import { casesOfConfigs } from './cases-of-configs.ts'
import { casesOfFlags } from './cases-of-flags.ts'
import { casesOfKubernetesConfigs } from './cases-of-kubernetes-configs.ts'
import { casesOfPrograms } from './cases-of-programs.ts'
import { casesOfLimits } from './cases-of-limits.ts'
import { casesOfNames } from './cases-of-names.ts'
import { casesOfNetworkLimits } from './cases-of-network-limits.ts'
import { casesOfDocuments } from './cases-of-documents.ts'
import { casesOfSystem } from './cases-of-system.ts'
import { casesOfValues } from './cases-of-values.ts'

/** For each rule: patches that violate it, and one that doesn't. */
export const cases: Cases = {
  ...casesOfClusters,
  ...casesOfConfigs,
  ...casesOfFlags,
  ...casesOfKubernetesConfigs,
  ...casesOfPrograms,
  ...casesOfLimits,
  ...casesOfNames,
  ...casesOfNetworkLimits,
  ...casesOfValues,
  ...casesOfDocuments,
  ...casesOfSystem,
  'file-operation': {
    bad: [
      'machine: {files: [{path: /etc/nfsmount.conf, permissions: 420, content: x}]}',
      'machine: {files: [{path: /var/a, permissions: 0o644, op: "", content: x}]}',
      'machine: {files: [{path: /var/a, op: create, content: x}, {path: /var/b, content: y}]}',
    ],
    good: [
      'machine: {files: [{path: /var/a, permissions: 0o644, op: create, content: x}]}',
      'machine: {files: [{path: /etc/hosts, op: append, content: x}]}',
    ],
  },
  'file-created-outside-var': {
    bad: [
      'machine: {files: [{path: /etc/a, op: create, content: x}]}',
      'machine: {files: [{path: /opt/cni/a, op: create, content: x}]}',
      'machine: {files: [{path: /variable/a, op: create, content: x}]}',
    ],
    good: [
      'machine: {files: [{path: /etc/cri/conf.d/20-customization.part, op: create, content: x}]}',
      'machine: {files: [{path: /etc/kubernetes/manifests/a.yaml, op: create, content: x}]}',
      'machine: {files: [{path: /var/lib/a, op: create, content: x}]}',
    ],
  },
  'file-path': {
    bad: [
      'machine: {files: [{path: "", op: create, content: x}]}',
      'machine: {files: [{path: /var/lib/, op: create, content: x}]}',
      'machine: {files: [{path: "/var/lib/a ", op: create, content: x}]}',
      'machine: {files: [{path: /var/../etc/passwd, op: create, content: x}]}',
      'machine: {files: [{path: /var/lib, op: create, content: x}]}',
    ],
    good: ['machine: {files: [{path: /var/lib/a, op: create, content: x}]}'],
  },
  'file-must-exist': {
    bad: [
      'machine: {files: [{path: /var/a, op: append, content: x}]}',
      'machine: {files: [{path: /var/a, op: overwrite, content: x}]}',
      'machine: {files: [{path: /var/lib/b/c, op: append, content: x}]}',
      'machine: {files: [{path: /etc/multipath.conf, op: overwrite, content: x}]}',
      'machine: {files: [{path: /etc/kubernetes/manifests/a.yaml, op: append, content: x}]}',
    ],
    good: ['machine: {files: [{path: /etc/hosts, op: append, content: x}]}'],
  },
  'file-permissions': {
    bad: ['644', '600', '755'].map(
      (mode) => `machine: {files: [{path: /var/a, permissions: ${mode}, op: create, content: x}]}`,
    ),
    good: ['0o644', '420'].map(
      (mode) => `machine: {files: [{path: /var/a, permissions: ${mode}, op: create, content: x}]}`,
    ),
  },
  'name-server-address': {
    bad: ['dns.example.org', '8.8.8.8:53', ' 9.9.9.9'].map(
      (one) => `machine: {network: {nameservers: ["${one}"]}}`,
    ),
    good: ['9.9.9.9', '2620:fe::fe', 'fe80::1%eth0'].map(
      (one) => `machine: {network: {nameservers: ["${one}"]}}`,
    ),
  },
  'name-servers-at-most-three': {
    bad: [
      'machine: {network: {nameservers: [1.1.1.1, 1.0.0.1, 9.9.9.9, 8.8.8.8]}}',
      'apiVersion: v1alpha1\nkind: ResolverConfig\nnameservers: [{address: 1.1.1.1}, {address: 1.0.0.1}, {address: 9.9.9.9}, {address: 8.8.8.8}]',
      'machine: {network: {nameservers: ["::1", "::2", "::3", "::4", "::5"]}}',
    ],
    good: ['machine: {network: {nameservers: [1.1.1.1, 1.0.0.1, 9.9.9.9]}}'],
  },
  'search-domain': {
    bad: ['a b', 'https://example.org', '-x'].map(
      (one) => `machine: {network: {searchDomains: ["${one}"]}}`,
    ),
    good: ['machine: {network: {searchDomains: [example.org, "."]}}'],
  },
  'host-entry-address': {
    bad: ['10.0.0.300', 'host.example.org', '10.0.0.1/24'].map(
      (ip) => `machine: {network: {extraHostEntries: [{ip: ${ip}, aliases: [a]}]}}`,
    ),
    good: ['machine: {network: {extraHostEntries: [{ip: "fd00::1", aliases: [a]}]}}'],
  },
  'host-entry-names': {
    bad: [
      'machine: {network: {extraHostEntries: [{ip: 10.0.0.3, aliases: []}]}}',
      'machine: {network: {extraHostEntries: [{ip: 10.0.0.3, aliases: ["a b"]}]}}',
      'apiVersion: v1alpha1\nkind: StaticHostConfig\nname: 10.0.0.3\nhostnames: ["https://a"]',
    ],
    good: ['machine: {network: {extraHostEntries: [{ip: 10.0.0.3, aliases: [a.example.org]}]}}'],
  },
  'time-server-name': {
    bad: [
      'machine: {time: {servers: ["time.example.org "]}}',
      'machine: {time: {servers: ["time.example.org:123"]}}',
      'apiVersion: v1alpha1\nkind: TimeSyncConfig\nntp: {servers: ["ntp://time.example.org"]}',
    ],
    good: ['machine: {time: {servers: [time.example.org, 10.0.0.1, /dev/ptp0]}}'],
  },
  'certificate-name': {
    bad: ['https://k8s.example.org', 'k8s.example.org:6443', 'a b'].map(
      (name) => `machine: {certSANs: ["${name}"]}`,
    ),
    good: ['cluster: {apiServer: {certSANs: [k8s.example.org, "*.example.org", "fd00::1"]}}'],
  },
  'link-name': {
    bad: [
      'apiVersion: v1alpha1\nkind: VLANConfig\nname: enp129s0f0np0.4000\nparent: enp129s0f0np0\nvlanID: 4000',
      'machine: {network: {interfaces: [{interface: bond-of-two-ports, bond: {interfaces: [a, b]}}]}}',
      'apiVersion: v1alpha1\nkind: DummyLinkConfig\nname: "a/b"',
    ],
    good: [
      'machine: {network: {interfaces: [{interface: enp129s0f0np0, vlans: [{vlanId: 4000}]}]}}',
      'apiVersion: v1alpha1\nkind: VLANConfig\nname: enp129s0f0.4000\nparent: enp129s0f0\nvlanID: 4000',
    ],
  },
  'vlan-id': {
    bad: ['0', '4095', '70000'].map(
      (id) => `machine: {network: {interfaces: [{interface: eth0, vlans: [{vlanId: ${id}}]}]}}`,
    ),
    good: [
      'machine: {network: {interfaces: [{interface: eth0, vlans: [{vlanId: 1}, {vlanId: 4094}]}]}}',
    ],
  },
  'vlan-twice': {
    bad: [
      'machine: {network: {interfaces: [{interface: eth0, vlans: [{vlanId: 100, dhcp: true}, {vlanId: 100}]}]}}',
      'apiVersion: v1alpha1\nkind: VLANConfig\nname: a\nparent: eth0\nvlanID: 7\n---\napiVersion: v1alpha1\nkind: VLANConfig\nname: b\nparent: eth0\nvlanID: 7',
      'machine: {network: {interfaces: [{interface: eth0, vlans: [{vlanId: 7}]}]}}\n---\napiVersion: v1alpha1\nkind: VLANConfig\nname: b\nparent: eth0\nvlanID: 7',
    ],
    good: [
      'machine: {network: {interfaces: [{interface: eth0, vlans: [{vlanId: 7}]}, {interface: eth1, vlans: [{vlanId: 7}]}]}}',
    ],
  },
  mtu: {
    bad: [
      'machine: {network: {interfaces: [{interface: eth0, mtu: 67}]}}',
      'machine: {network: {interfaces: [{interface: eth0, vlans: [{vlanId: 7, mtu: 65536}]}]}}',
      'apiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\nmtu: 90000',
    ],
    good: ['apiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\nmtu: 9000'],
  },
  'mtu-of-vlan': {
    bad: [
      'machine: {network: {interfaces: [{interface: eth0, mtu: 1500, vlans: [{vlanId: 7, mtu: 9000}]}]}}',
      'apiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\nmtu: 1500\n---\napiVersion: v1alpha1\nkind: VLANConfig\nname: v\nparent: eth0\nvlanID: 7\nmtu: 1501',
      'apiVersion: v1alpha1\nkind: BondConfig\nname: bond0\nlinks: [eth0]\nbondMode: active-backup\nmtu: 2000\n---\napiVersion: v1alpha1\nkind: VLANConfig\nname: v\nparent: bond0\nvlanID: 7\nmtu: 9000',
    ],
    good: [
      'machine: {network: {interfaces: [{interface: eth0, mtu: 9000, vlans: [{vlanId: 7, mtu: 9000}]}]}}',
    ],
  },
  'mtu-of-vlan-alone': {
    bad: [
      'machine: {network: {interfaces: [{interface: eth0, vlans: [{vlanId: 7, mtu: 9000}]}]}}',
      'machine: {network: {interfaces: [{deviceSelector: {driver: mlx5_core}, vlans: [{vlanId: 7, mtu: 9000}]}]}}',
      'apiVersion: v1alpha1\nkind: VLANConfig\nname: v\nparent: eth0\nvlanID: 7\nmtu: 1504',
    ],
    good: [
      'machine: {network: {interfaces: [{deviceSelector: {driver: mlx5_core}, mtu: 9000, vlans: [{vlanId: 7, mtu: 9000}]}]}}',
      'machine: {network: {interfaces: [{interface: eth0, mtu: 9000}]}}\n---\napiVersion: v1alpha1\nkind: VLANConfig\nname: v\nparent: eth0\nvlanID: 7\nmtu: 9000',
      'apiVersion: v1alpha1\nkind: VLANConfig\nname: v\nparent: eth0\nvlanID: 7\nmtu: 1500',
    ],
  },
  'mtu-without-ipv6': {
    bad: ['68', '1279', '576'].map(
      (mtu) => `apiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\nmtu: ${mtu}`,
    ),
    good: ['apiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\nmtu: 1280'],
  },
  'sysctl-name': {
    bad: ['"vm nr_hugepages"', '"net.ipv4.ip_forward=1"', '".vm"'].map(
      (name) => `machine: {sysctls: {${name}: "1"}}`,
    ),
    good: ['machine: {sysctls: {net/ipv4/conf/eth0.7/rp_filter: "0", vm.max_map_count: "1"}}'],
  },
  'sysctl-of-kubelet': {
    bad: ['vm.overcommit_memory: "0"', 'kernel.panic: "0"', 'vm/panic_on_oom: "1"'].map(
      (one) => `machine: {sysctls: {${one}}}`,
    ),
    good: ['machine: {sysctls: {vm.overcommit_memory: "1", kernel.panic: "10"}}'],
  },
  'sysctl-forwarding': {
    bad: [
      'net.ipv4.ip_forward',
      'net.ipv6.conf.all.forwarding',
      'net.ipv4.conf.all.forwarding',
    ].map((name) => `machine: {sysctls: {${name}: "0"}}`),
    good: ['machine: {sysctls: {net.ipv4.ip_forward: "1"}}'],
  },
  'sysctl-unknown': {
    bad: ['a.b', 'nett.ipv4.ip_forward', 'proc.sys.vm.x', 'vm'].map(
      (name) => `machine: {sysctls: {${name}: "1"}}`,
    ),
    good: ['machine: {sysctls: {fs.inotify.max_user_watches: "1"}}'],
  },
  'registry-endpoint': {
    bad: ['10.0.0.1:5000', 'mirror.example.org', 'http:/mirror', 'https://m:99999'].map(
      (url) => `machine: {registries: {mirrors: {docker.io: {endpoints: ["${url}"]}}}}`,
    ),
    good: [
      'machine: {registries: {mirrors: {docker.io: {endpoints: ["http://10.0.0.1:5000", "https://m.example.org/p"]}}}}',
    ],
  },
  'registry-name': {
    bad: [
      'machine: {registries: {mirrors: {"https://docker.io": {endpoints: ["https://m"]}}}}',
      'machine: {registries: {config: {ghcr.io/org: {auth: {username: a, password: b}}}}}',
      'apiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: https://ghcr.io\nendpoints: [{url: "https://m"}]',
    ],
    good: [
      'machine: {registries: {mirrors: {"*": {endpoints: ["https://m"]}, "10.0.0.1:5000": {endpoints: ["https://m"]}}}}',
    ],
  },
  'registry-tls-of-all': {
    bad: [
      'machine: {registries: {config: {"*": {tls: {insecureSkipVerify: true}}}}}',
      'apiVersion: v1alpha1\nkind: RegistryTLSConfig\nname: "*"\ninsecureSkipVerify: true',
      'machine: {registries: {mirrors: {a.io: {endpoints: ["https://m"]}}, config: {"*": {tls: {insecureSkipVerify: true}}}}}',
    ],
    good: [
      'machine: {registries: {mirrors: {"*": {endpoints: ["https://m"]}}, config: {"*": {tls: {insecureSkipVerify: true}}}}}',
    ],
  },
  'registry-path': {
    bad: ['https://m/v2', 'https://m/v2/proxy', 'http://m:5000/api/v2/'].map(
      (url) => `machine: {registries: {mirrors: {docker.io: {endpoints: ["${url}"]}}}}`,
    ),
    good: [
      'machine: {registries: {mirrors: {docker.io: {endpoints: ["https://m/v2/p"], overridePath: true}}}}',
    ],
  },
  'pod-security-unique': {
    bad: ['namespaces: [kube-system]', 'namespaces: [a, a]', 'usernames: [x, y, x]'].map(
      (list) =>
        `cluster: {apiServer: {admissionControl: [{name: PodSecurity, configuration: {exemptions: {${list}}}}]}}`,
    ),
    good: [
      'cluster: {apiServer: {admissionControl: [{name: PodSecurity, configuration: {exemptions: {namespaces: [rook-ceph]}}}]}}',
    ],
  },
  'pod-security-level': {
    bad: ['enforce: strict', 'audit: Baseline', 'enforce-version: "1.36"'].map(
      (one) =>
        `cluster: {apiServer: {admissionControl: [{name: PodSecurity, configuration: {defaults: {${one}}}}]}}`,
    ),
    good: [
      'cluster: {apiServer: {admissionControl: [{name: PodSecurity, configuration: {defaults: {enforce: privileged, enforce-version: v1.36}}}]}}',
    ],
  },
  'authorizers-unique': {
    bad: [
      '{type: Node, name: a}, {type: Node, name: b}',
      '{type: Webhook, name: a}, {type: Webhook, name: a}',
      '{type: RBAC, name: r}, {type: RBAC, name: s}',
    ].map((list) => `cluster: {apiServer: {authorizationConfig: [${list}]}}`),
    good: [
      'cluster: {apiServer: {authorizationConfig: [{type: Node, name: n}, {type: RBAC, name: r}]}}',
    ],
  },
  'audit-policy': {
    bad: [
      '{rules: [{level: Metadata}]}',
      '{apiVersion: audit.k8s.io/v1, kind: Policy}',
      '{apiVersion: audit.k8s.io/v1beta1, kind: Policy, rules: [{level: None}]}',
    ].map((policy) => `cluster: {apiServer: {auditPolicy: ${policy}}}`),
    good: [
      'cluster: {apiServer: {auditPolicy: {apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None}]}}}',
    ],
  },
  'component-argument': {
    bad: [
      'machine: {kubelet: {extraArgs: {kubeconfig: /x}}}',
      'cluster: {apiServer: {extraArgs: {etcd-servers: "https://x"}}}',
      'cluster: {scheduler: {extraArgs: {--v: "4"}}}',
    ],
    good: ['cluster: {etcd: {extraArgs: {election-timeout: "5000"}}}'],
  },
  'manifest-address': {
    bad: ['git::https://a/b', 'file:///var/a.yaml', 'a.yaml'].map(
      (url) => `cluster: {extraManifests: ["${url}"]}`,
    ),
    good: ['cluster: {extraManifests: ["https://a.example.org/b.yaml?ref=1"]}'],
  },
  'manifest-page': {
    bad: [
      'github.com/o/r/blob/main/a.yaml',
      'github.com/o/r/tree/main/dir',
      'gist.github.com/o/0a1b2c3d',
      'gitlab.example.org/o/r/-/blob/main/a.yaml',
    ].map((rest) => `cluster: {extraManifests: ["https://${rest}"]}`),
    good: [
      'cluster: {extraManifests: ["https://github.com/o/r/releases/download/v1/a.yaml", "https://raw.githubusercontent.com/o/r/main/a.yaml"]}',
    ],
  },
  'inline-manifest': {
    bad: [
      'cluster: {inlineManifests: [{name: a, contents: "kind: ConfigMap"}]}',
      'cluster: {inlineManifests: [{name: a, contents: "a: b: c"}]}',
      'cluster: {inlineManifests: [{name: a, contents: "apiVersion: v1\\nkind: ConfigMap\\nmetadata:\\n  name: {{ .Release.Name }}"}]}',
      'cluster: {inlineManifests: [{name: a, contents: "apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: \\"{{ .Release.Name }}\\"}"}]}',
      'cluster: {inlineManifests: [{name: a, contents: "apiVersion: v1\\nkind: Secret\\nmetadata: {}"}]}',
      'cluster: {inlineManifests: [{name: a, contents: "apiVersion: v1\\nkind: Namespace\\nmetadata: {name: a, labels: {gpu: true}}"}]}',
      'cluster: {inlineManifests: [{name: a, contents: "apiVersion: v1\\nkind: Namespace\\nmetadata:\\n  name: a\\n  labels:\\n    enforce=privileged"}]}',
    ],
    good: [
      'cluster: {inlineManifests: [{name: a, contents: "apiVersion: v1\\nkind: Namespace\\nmetadata: {name: a, labels: {gpu: \\"true\\"}}"}]}',
      'cluster: {inlineManifests: [{name: a, contents: "apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: a}\\n---\\n# nothing\\n"}]}',
      // Talos takes anchors and equal keys, and a text that our reader can't take isn't judged.
      'cluster: {inlineManifests: [{name: a, contents: "apiVersion: v1\\nkind: &k ConfigMap\\nmetadata: {name: a, name: b}"}]}',
      `cluster: {inlineManifests: [{name: a, contents: "${'['.repeat(5_000)}"}]}`,
    ],
  },
  'kubelet-label': {
    bad: [
      'node-role.kubernetes.io/x=',
      'a=b,x.k8s.io/y=z',
      'node-restriction.kubernetes.io/a=b',
    ].map((labels) => `machine: {kubelet: {extraArgs: {node-labels: "${labels}"}}}`),
    good: [
      'machine: {kubelet: {extraArgs: {node-labels: "a=b,topology.kubernetes.io/zone=r3,node.kubernetes.io/x=y"}}}',
    ],
  },
  'label-of-worker': {
    on: 'worker',
    bad: [
      'node-role.kubernetes.io/worker',
      'node-restriction.kubernetes.io/a',
      'storage.k8s.io/fast',
    ].map((label) => `machine: {nodeLabels: {${label}: ""}}`),
    good: ['machine: {nodeLabels: {topology.kubernetes.io/zone: r3, team: x}}'],
  },
  'taint-of-worker': {
    on: 'worker',
    bad: ['storage:NoSchedule', 'NoExecute', ':PreferNoSchedule'].map(
      (taint) => `machine: {nodeTaints: {dedicated: "${taint}"}}`,
    ),
    good: [
      'machine: {kubelet: {extraArgs: {register-with-taints: "dedicated=storage:NoSchedule"}}}',
    ],
  },
  'cluster-domain': {
    bad: ['Cluster.local', 'K8S.example.org', 'a.B'].map(
      (domain) => `cluster: {network: {dnsDomain: ${domain}}}`,
    ),
    good: ['cluster: {network: {dnsDomain: k8s.example.org}}'],
  },
  'kubeprism-port': {
    bad: ['6443', '50000', '10250'].map(
      (port) => `machine: {features: {kubePrism: {port: ${port}}}}`,
    ),
    good: ['machine: {features: {kubePrism: {port: 7446}}}'],
  },
  'sysfs-name': {
    bad: ['/sys/block/sda/queue/scheduler', 'sys.block.sda.queue.scheduler', '"block sda"'].map(
      (name) => `machine: {sysfs: {${name}: none}}`,
    ),
    good: ['machine: {sysfs: {block.sda.queue.scheduler: none}}'],
  },
  'file-customization-twice': {
    bad: ['create, op: create', 'create, op: overwrite', 'create, op: append'].map((ops) => {
      const [one, other] = ops.split(', op: ')
      const file = (op: string) =>
        `{path: /etc/cri/conf.d/20-customization.part, op: ${op}, content: x}`
      return `machine: {files: [${file(one!)}, ${file(other!)}]}`
    }),
    good: [
      'machine: {files: [{path: /etc/cri/conf.d/20-customization.part, op: create, content: x}]}',
    ],
  },
  'registry-of-docker': {
    bad: [
      'machine: {registries: {mirrors: {index.docker.io: {endpoints: ["https://m"]}}}}',
      'machine: {registries: {config: {registry-1.docker.io: {auth: {username: a, password: b}}}}}',
      'apiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: index.docker.io\nendpoints: [{url: "https://m"}]',
    ],
    good: ['machine: {registries: {mirrors: {docker.io: {endpoints: ["https://m"]}}}}'],
  },
  'registry-of-endpoint': {
    bad: [
      'machine: {registries: {mirrors: {docker.io: {endpoints: ["https://m:5000"]}}, config: {m: {tls: {insecureSkipVerify: true}}}}}',
      'machine: {registries: {mirrors: {"*": {endpoints: ["http://10.0.0.1:5000"]}}, config: {10.0.0.1: {auth: {username: a, password: b}}}}}',
      'machine: {registries: {mirrors: {docker.io: {endpoints: ["https://m:5000"]}}}}\n---\napiVersion: v1alpha1\nkind: RegistryTLSConfig\nname: m\ninsecureSkipVerify: true',
    ],
    good: [
      'machine: {registries: {mirrors: {docker.io: {endpoints: ["https://m:5000"]}}, config: {"m:5000": {tls: {insecureSkipVerify: true}}}}}',
      'machine: {registries: {mirrors: {docker.io: {endpoints: ["https://m"]}}, config: {m: {tls: {insecureSkipVerify: true}}}}}',
    ],
  },
  'kubelet-taint': {
    bad: ['a=b', 'a=b:NoRun', 'a=b:NoSchedule,c:Nope', 'a=b=c:NoSchedule'].map(
      (taints) => `machine: {kubelet: {extraArgs: {register-with-taints: "${taints}"}}}`,
    ),
    good: [
      'machine: {kubelet: {extraArgs: {register-with-taints: "a=b:NoSchedule,example.org/c:NoExecute"}}}',
    ],
  },
  'kubelet-label-form': {
    bad: ['a b=c', 'team', 'a=b c'].map(
      (labels) => `machine: {kubelet: {extraArgs: {node-labels: "${labels}"}}}`,
    ),
    good: ['machine: {kubelet: {extraArgs: {node-labels: "a=b,example.org/c="}}}'],
  },
  'feature-gates': {
    bad: [
      'machine: {kubelet: {extraArgs: {feature-gates: GracefulNodeShutdown}}}',
      'cluster: {apiServer: {extraArgs: {feature-gates: "A=true,B=yes"}}}',
      'cluster: {scheduler: {extraArgs: {feature-gates: "A:true"}}}',
    ],
    good: ['cluster: {controllerManager: {extraArgs: {feature-gates: "A=true,B=False,C=1"}}}'],
  },
  'oidc-issuer': {
    bad: ['http://dex.example.org', 'dex.example.org', 'https://'].map(
      (url) => `cluster: {apiServer: {extraArgs: {oidc-issuer-url: "${url}"}}}`,
    ),
    good: ['"https://dex.example.org/dex"', '["https://dex.example.org"]'].map(
      (url) => `cluster: {apiServer: {extraArgs: {oidc-issuer-url: ${url}}}}`,
    ),
  },
  'volume-mounted-twice': {
    bad: ['apiServer', 'controllerManager', 'scheduler'].map(
      (name) =>
        `cluster: {${name}: {extraVolumes: [{hostPath: /var/a, mountPath: /a}, {hostPath: /var/b, mountPath: /a}]}}`,
    ),
    good: [
      'cluster: {apiServer: {extraVolumes: [{hostPath: /var/a, mountPath: /a}, {hostPath: /var/a, mountPath: /b}]}}',
    ],
  },
  'address-without-length': {
    bad: ['10.0.0.5', '"fd00::5"', '10.0.0.5/24, 10.0.0.6'].map(
      (list) =>
        `machine: {network: {interfaces: [{interface: eth0, vlans: [{vlanId: 5, addresses: [${list}]}]}]}}`,
    ),
    good: [
      'machine: {network: {interfaces: [{interface: eth0, vlans: [{vlanId: 5, addresses: [10.0.0.5/24]}]}]}}',
    ],
  },
  'address-alone': {
    bad: ['10.0.0.5', '"fd00::5"', '10.0.0.5/24, 10.0.0.6'].map(
      (list) => `machine: {network: {interfaces: [{interface: eth0, addresses: [${list}]}]}}`,
    ),
    good: ['machine: {network: {interfaces: [{interface: eth0, addresses: [10.0.0.5/32]}]}}'],
  },
  'address-of-network': {
    bad: ['10.0.0.0/24', '10.0.0.255/24', '172.31.255.255/12'].map(
      (address) =>
        `apiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\naddresses: [{address: ${address}}]`,
    ),
    good: ['10.0.1.0/23', '10.0.0.255/16', '10.0.0.0/31', '10.0.0.5/32'].map(
      (address) =>
        `apiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\naddresses: [{address: ${address}}]`,
    ),
  },
  'address-twice': {
    bad: [
      'machine: {network: {interfaces: [{interface: eth0, addresses: [10.0.0.5/24]}, {interface: eth1, addresses: [10.0.0.5/24]}]}}',
      'machine: {network: {interfaces: [{interface: eth0, addresses: ["fd00::5/64"], vlans: [{vlanId: 5, addresses: ["fd00:0::5/64"]}]}]}}',
      'apiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\naddresses: [{address: 10.0.0.5/24}]\n---\napiVersion: v1alpha1\nkind: LinkConfig\nname: eth1\naddresses: [{address: 10.0.0.5/16}]',
    ],
    good: [
      'machine: {network: {interfaces: [{interface: eth0, addresses: [10.0.0.5/24, 10.0.0.6/24]}]}}',
      'machine: {network: {interfaces: [{interface: eth0, addresses: [10.0.0.5/24, 10.0.0.5/24]}]}}',
    ],
  },
  'gateway-on-link': {
    bad: [
      'machine: {network: {interfaces: [{interface: eth0, addresses: [10.0.0.5/24], routes: [{network: 0.0.0.0/0, gateway: 10.9.0.1}]}]}}',
      'machine: {network: {interfaces: [{interface: eth0, vlans: [{vlanId: 5, addresses: [10.0.0.5/28], routes: [{network: 10.0.0.0/8, gateway: 10.0.0.17}]}]}]}}',
      'apiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\naddresses: [{address: 10.0.0.5/32}]\nroutes: [{gateway: 10.0.0.1}]',
    ],
    good: [
      'apiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\naddresses: [{address: 10.0.0.5/32}]\nroutes: [{destination: 10.0.0.1/32}, {gateway: 10.0.0.1}]',
      'machine: {network: {interfaces: [{interface: eth0, dhcp: true, routes: [{network: 10.0.0.0/8, gateway: 10.9.0.1}]}]}}',
    ],
  },
}
