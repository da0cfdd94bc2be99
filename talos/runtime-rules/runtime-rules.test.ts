import { describe, expect, it } from 'vitest'
import { generateConfig } from '../config/generate.ts'
import { mergePatches } from '../config/merge.ts'
import { minors } from '../versions.ts'
import { cases } from './testing/cases.ts'
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
function find(
  body: string,
  role: 'control plane' | 'worker' = 'control plane',
  talosVersion = 'v1.13.9',
) {
  const base = newer![role === 'worker' ? 1 : 0]!
  return runtimeFindings(mergePatches(base, [{ name: 'mine', body }]).documents, { talosVersion })
}
/** What a patch deletes has no line in it. */
const isDeleted = (body: string): boolean => body.includes('{$patch: delete}')

describe('rules that apply when running', () => {
  it('has cases for every rule', () => {
    expect(Object.keys(cases).toSorted()).toEqual(runtimeRules.map(({ id }) => id).toSorted())
    expect(runtimeRules.every(({ source }) => source.length > 10)).toBe(true)
    for (const { bad } of Object.values(cases)) expect(bad.length).toBeGreaterThanOrEqual(3)
  })

  it.each(Object.entries(cases))('finds what violates %s', (rule, { bad, good, on }) => {
    const { level, minors: those } = runtimeRules.find(({ id }) => id === rule)!
    const found = (body: string) => find(body, on, those?.at(-1)).filter((one) => one.rule === rule)
    expect(
      bad.filter(
        (body) =>
          !found(body).some(
            (one) => one.level === level && (one.layer === 'mine' || isDeleted(body)),
          ),
      ),
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

  it('says nothing of components that a worker does not run', () => {
    const body =
      'cluster: {apiServer: {auditPolicy: {apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None}], rule: []}, extraVolumes: [{hostPath: /data}], admissionControl: [{name: EventRateLimit}]}, scheduler: {config: {profile: []}}, etcd: {advertisedSubnets: ["!10.0.0.0/8"], extraArgs: {listen-metrics-urls: "http://0.0.0.0:2379", data-dir: /x}}}'
    expect(find(body).map(({ rule }) => rule)).toEqual([
      'kubernetes-config',
      'kubernetes-config',
      'component-argument',
      'volume-of-pod',
      'etcd-metrics-port',
      'admission-not-enabled',
      'subnets-only-excluded',
    ])
    expect(find(body, 'worker')).toEqual([])
  })

  it('names the line of the patch', () => {
    const body =
      'machine:\n  time:\n    servers:\n      - time.example.org\n      - ""\n  network:\n    nameservers: [1.1.1.1, dns]\n'
    expect(find(body).map(({ line, path }) => ({ line, path }))).toEqual([
      { line: 7, path: 'machine.network.nameservers.1' },
      { line: 5, path: 'machine.time.servers.1' },
    ])
  })

  it('holds the kubelet of a worker against the cluster’s version', () => {
    const found = (kubernetesVersion: string | undefined, tag: string) =>
      runtimeFindings(
        mergePatches(newer![1]!, [
          {
            name: 'mine',
            body: `machine: {kubelet: {image: "ghcr.io/siderolabs/kubelet:${tag}"}}`,
          },
        ]).documents,
        { talosVersion: 'v1.13.9', kubernetesVersion },
      ).map(({ rule, level }) => ({ rule, level }))
    const warned = [{ rule: 'version-skew', level: 'warn' }]
    expect(found('1.35.8', 'v1.36.0')).toEqual(warned)
    expect(found('1.36.3', 'v1.32.9')).toEqual(warned)
    expect(found('1.36.3', 'v1.33.9')).toEqual([])
    expect(found('1.36.3', 'v1.36.1-slim')).toEqual([])
    expect(found(undefined, 'v1.30.0')).toEqual([])
  })

  it('knows which Kubernetes brought a field of the scheduler', () => {
    const found = (tag: string, point: string) =>
      find(
        `cluster: {scheduler: {image: "registry.k8s.io/kube-scheduler:${tag}", config: {profiles: [{plugins: {${point}: {}}}]}}}`,
      )
        .filter(({ rule }) => rule === 'kubernetes-config')
        .map(({ message }) => message)
    expect(found('v1.35.8', 'placementScore')).toEqual([
      'The scheduler’s configuration has no field profiles.plugins.placementScore, and with an unknown one the scheduler does not start. Kubernetes has it since 1.36',
    ])
    expect(found('v1.37.2', 'podGroupPostFilter')).toEqual([])
    expect(found('latest', 'podGroupPostFilter')).toEqual([])
  })

  it('leaves out what was there before', () => {
    const before = find('machine: {network: {nameservers: [a]}}')
    const after = find('machine: {network: {nameservers: [a, b]}}')
    expect(broughtBy(after, before).map(({ path }) => path)).toEqual([
      'machine.network.nameservers.1',
    ])
  })
})

describe.each(['v1.13.9', 'v1.14.1'])('cases that were reported, on Talos %s', (version) => {
  const messages = (body: string, role?: 'worker') =>
    find(body, role, version).map((one) => one.message)

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
    expect(messages('machine: {nodeLabels: {node-role.kubernetes.io/a: ""}}')).toEqual([])
  })

  it('16 name-server-by-name: refuses each value', () => {
    const said = messages(
      'machine:\n  network:\n    nameservers: [dns.example.org, "8.8.8.8:53", " 9.9.9.9"]\n    extraHostEntries: [{ip: 10.0.0.300, aliases: [a]}]\n  time:\n    servers: ["time.example.org ", ""]',
    )
    expect(said).toHaveLength(6)
    expect(said[2]).toContain('write "9.9.9.9"')
  })

  it('17 vlan-ids-out-of-range-and-twice: refuses each id', () => {
    const found = messages(
      'machine:\n  network:\n    interfaces:\n      - interface: enp129s0f0np0\n        dhcp: true\n        vlans: [{vlanId: 0, dhcp: true}, {vlanId: 4095, dhcp: true}, {vlanId: 100, dhcp: true}, {vlanId: 100, addresses: [10.1.1.1/24]}]',
    )
    expect(found).toEqual([
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
