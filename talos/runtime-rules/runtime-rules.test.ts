import { describe, expect, it } from 'vitest'
import { generateConfig } from '../config/generate.ts'
import { mergePatches } from '../config/merge.ts'
import { minors } from '../versions.ts'
import { broughtBy, runtimeFindings, runtimeRules } from './runtime-rules.ts'

const pair = { crt: 'eA==', key: 'eA==' }
const secrets = {
  cluster: { id: 'x', secret: 'x' },
  secrets: { bootstrapToken: 'x', secretboxEncryptionSecret: 'x' },
  trustdInfo: { token: 'x' },
  certs: { os: pair, etcd: pair, k8s: pair, k8sAggregator: pair, k8sServiceAccount: { key: 'x' } },
}
const [older, newer] = minors.map((minor) =>
  (['control_plane', 'worker'] as const).map((role) =>
    generateConfig({
      role,
      clusterName: 'c',
      endpoint: 'https://10.0.0.10:6443',
      talosVersion: minor.version,
      kubernetesVersion: minor.kubernetes,
      secrets,
      installDisk: '/dev/sda',
      installImage: 'factory.talos.dev/metal-installer/x:v1.13.9',
    }),
  ),
)

/** Findings of a patch on a generated configuration, by rule. */
function find(body: string, role: 'control plane' | 'worker' = 'control plane') {
  const base = newer![role === 'worker' ? 1 : 0]!
  return runtimeFindings(mergePatches(base, [{ name: 'mine', body }]).documents, {
    talosVersion: 'v1.13.9',
  })
}
const messages = (body: string, role?: 'worker') => find(body, role).map((one) => one.message)

/** For each rule: patches that violate it, and one that doesn't. */
const cases: Readonly<
  Record<string, { bad: readonly string[]; good: readonly string[]; on?: 'worker' }>
> = {
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
    ],
    good: ['machine: {files: [{path: /var/lib/a, op: create, content: x}]}'],
  },
  'file-must-exist': {
    bad: [
      'machine: {files: [{path: /var/a, op: append, content: x}]}',
      'machine: {files: [{path: /var/a, op: overwrite, content: x}]}',
      'machine: {files: [{path: /var/lib/b/c, op: append, content: x}]}',
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
    bad: ['10.0.0.1:5000', 'mirror.example.org', 'http:/mirror'].map(
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
    bad: ['o/r/blob/main/a.yaml', 'o/r/tree/main/dir', 'a/b/blob/v1/c/d.yaml'].map(
      (rest) => `cluster: {extraManifests: ["https://github.com/${rest}"]}`,
    ),
    good: [
      'cluster: {extraManifests: ["https://github.com/o/r/releases/download/v1/a.yaml", "https://raw.githubusercontent.com/o/r/main/a.yaml"]}',
    ],
  },
  'inline-manifest': {
    bad: [
      'cluster: {inlineManifests: [{name: a, contents: "kind: ConfigMap"}]}',
      'cluster: {inlineManifests: [{name: a, contents: "a: b: c"}]}',
      'cluster: {inlineManifests: [{name: a, contents: "apiVersion: v1\\nkind: Secret\\nmetadata: {}"}]}',
    ],
    good: [
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
}

describe('rules that apply when running', () => {
  it('has cases for every rule', () => {
    expect(Object.keys(cases).toSorted()).toEqual(runtimeRules.map(({ id }) => id).toSorted())
    expect(runtimeRules.every(({ source }) => source.length > 10)).toBe(true)
    for (const { bad } of Object.values(cases)) expect(bad.length).toBeGreaterThanOrEqual(3)
  })

  it.each(Object.entries(cases))('finds what violates %s', (rule, { bad, good, on }) => {
    const { level } = runtimeRules.find(({ id }) => id === rule)!
    const found = (body: string) => find(body, on).filter((one) => one.rule === rule)
    expect(
      bad.filter((body) => !found(body).some((one) => one.level === level && one.layer === 'mine')),
    ).toEqual([])
    expect(good.flatMap(found)).toEqual([])
  })

  it('finds nothing in what Steelyard generates, in each version', () => {
    for (const [i, bases] of [older!, newer!].entries())
      for (const base of bases)
        expect(
          runtimeFindings(mergePatches(base, []).documents, { talosVersion: minors[i]!.version }),
        ).toEqual([])
  })

  it('names the line of the patch', () => {
    const body =
      'machine:\n  time:\n    servers:\n      - time.example.org\n      - ""\n  network:\n    nameservers: [1.1.1.1, dns]\n'
    expect(find(body).map(({ line, path }) => ({ line, path }))).toEqual([
      { line: 7, path: 'machine.network.nameservers.1' },
      { line: 5, path: 'machine.time.servers.1' },
    ])
  })

  it('leaves out what was there before', () => {
    const before = find('machine: {network: {nameservers: [a]}}')
    const after = find('machine: {network: {nameservers: [a, b]}}')
    expect(broughtBy(after, before).map(({ path }) => path)).toEqual([
      'machine.network.nameservers.1',
    ])
  })
})

describe('cases that were reported', () => {
  it('01 podsecurity-namespace-twice: says that kube-system is exempt already', () => {
    expect(
      messages(
        'cluster: {apiServer: {admissionControl: [{name: PodSecurity, configuration: {exemptions: {namespaces: [kube-system, rook-ceph]}}}]}}',
      ),
    ).toEqual([expect.stringContaining('kube-system is exempt from PodSecurity already')])
  })

  it('09 files-without-op: names the operations and what happens', () => {
    expect(
      messages(
        'machine:\n  files:\n    - path: /etc/nfsmount.conf\n      permissions: 420\n      content: |\n        [ NFSMount_Global_Options ]\n        nfsvers=4.2',
      ),
    ).toEqual([expect.stringMatching(/create, overwrite or append.*restarts again/)])
  })

  it('15 role-label-and-taint-on-a-worker: says what works', () => {
    const said = messages(
      'machine:\n  nodeLabels:\n    node-role.kubernetes.io/worker: ""\n    topology.kubernetes.io/zone: r3\n  nodeTaints:\n    dedicated: storage:NoSchedule',
      'worker',
    )
    expect(said).toEqual([
      expect.stringMatching(/node-role.kubernetes.io\/worker.*none of its labels.*kubectl/),
      expect.stringMatching(/register-with-taints: dedicated=storage:NoSchedule/),
    ])
    expect(find('machine: {nodeLabels: {node-role.kubernetes.io/a: ""}}')).toEqual([])
  })

  it('16 name-server-by-name: refuses each value', () => {
    const said = messages(
      'machine:\n  network:\n    nameservers: [dns.example.org, "8.8.8.8:53", " 9.9.9.9"]\n    extraHostEntries: [{ip: 10.0.0.300, aliases: [a]}]\n  time:\n    servers: ["time.example.org ", ""]',
    )
    expect(said).toHaveLength(6)
    expect(said[2]).toContain('write "9.9.9.9"')
  })

  it('17 vlan-ids-out-of-range-and-twice: refuses each id', () => {
    const found = find(
      'machine:\n  network:\n    interfaces:\n      - interface: enp129s0f0np0\n        dhcp: true\n        vlans: [{vlanId: 0, dhcp: true}, {vlanId: 4095, dhcp: true}, {vlanId: 100, dhcp: true}, {vlanId: 100, addresses: [10.1.1.1/24]}]',
    )
    expect(found.map(({ message }) => message)).toEqual([
      'The VLAN id 0 must be from 1 to 4094',
      'The VLAN id 4095 must be from 1 to 4094',
      'The VLAN id 100 is there twice on the same link, enp129s0f0np0',
    ])
  })

  it('18 link-name-of-18-characters: names the limit', () => {
    expect(
      messages(
        'apiVersion: v1alpha1\nkind: VLANConfig\nname: enp129s0f0np0.4000\nparent: enp129s0f0np0\nvlanID: 4000\naddresses: [{address: 10.1.0.1/24}]\n---\napiVersion: v1alpha1\nkind: DHCPv4Config\nname: enp129s0f0np0',
      ),
    ).toEqual([expect.stringContaining('18 characters; Linux allows 15')])
  })
})
