import { assert, dictionary, property, string, stringMatching } from 'fast-check'
import { parseAllDocuments } from 'yaml'
import { beforeAll, describe, expect, test } from 'vitest'
import { generateSecrets } from '../secrets/bundle.ts'
import { readyKeys } from '../testing/keys.ts'
import { generateConfig } from './generate.ts'
import { mergePatches } from './merge.ts'
import { ConfigError } from './tree.ts'

/** A main document with nothing but what a test is about. */
const main = (machine: string, cluster = 'null') => `version: v1alpha1\nmachine: ${machine}\ncluster: ${cluster}\n`

/** The merged documents as plain values, without the empty fields that Talos always writes. */
function merged(base: string, ...bodies: string[]): unknown[] {
  const { yaml } = mergePatches(
    base,
    bodies.map((body, i) => ({ name: `layer-${i}`, body })),
  )
  return parseAllDocuments(yaml).map((document) => pruned(document.toJS() as unknown))
}

function pruned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pruned)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
    .map(([key, v]) => [key, pruned(v)] as const)
    .filter(([, v]) => v !== null && v !== '' && !(Array.isArray(v) && v.length === 0) && !(typeof v === 'object' && Object.keys(v).length === 0))
  return Object.fromEntries(entries)
}

function machineOf(base: string, ...bodies: string[]): unknown {
  return (merged(base, ...bodies)[0] as { machine?: unknown }).machine
}

function problems(act: () => unknown): { layer: string | undefined; problems: readonly unknown[] } {
  try {
    act()
  } catch (error) {
    if (error instanceof ConfigError) return { layer: error.layer, problems: error.problems }
    throw error
  }
  throw new Error('Nothing was refused')
}

describe('documents', () => {
  test('match by kind and name; one that isn’t there is appended', () => {
    const base = `${main('{token: a}')}---\napiVersion: v1alpha1\nkind: LinkConfig\nname: eno1\nmtu: 9000\n`
    const patch = 'apiVersion: v1alpha1\nkind: LinkConfig\nname: eno1\nup: true\n---\napiVersion: v1alpha1\nkind: LinkConfig\nname: eno2\nup: false\n'
    expect(merged(base, patch).slice(1)).toEqual([
      { apiVersion: 'v1alpha1', kind: 'LinkConfig', name: 'eno1', up: true, mtu: 9000 },
      { apiVersion: 'v1alpha1', kind: 'LinkConfig', name: 'eno2', up: false },
    ])
  })

  test('without a kind are all the one main document', () => {
    expect(merged(main('{token: a}'), 'machine: {token: b}', 'debug: true\nmachine: {type: worker}')).toEqual([
      { version: 'v1alpha1', debug: true, machine: { type: 'worker', token: 'b' } },
    ])
  })

  test('of one identity twice in a patch are refused', () => {
    const twice = 'apiVersion: v1alpha1\nkind: LinkConfig\nname: a\n---\napiVersion: v1alpha1\nkind: LinkConfig\nname: a\n'
    expect(problems(() => merged(main('{}'), twice))).toEqual({ layer: 'layer-0', problems: [{ message: 'LinkConfig a is there twice', line: 5, column: 1 }] })
    expect(problems(() => merged(main('{}'), 'machine: {token: a}\n---\nmachine: {token: b}')).problems).toHaveLength(1)
  })

  test('that can’t be together are refused', () => {
    const bond = 'apiVersion: v1alpha1\nkind: BondConfig\nname: eno1\nlinks: [a]\nbondMode: 802.3ad\n'
    const base = `${main('{}')}---\napiVersion: v1alpha1\nkind: LinkConfig\nname: eno1\n`
    expect(problems(() => merged(base, bond)).problems).toMatchObject([{ message: expect.stringContaining("can't be together") as string }])
  })

  test('that Talos doesn’t know, and fields it doesn’t know, are refused with their place', () => {
    expect(problems(() => merged(main('{}'), 'apiVersion: v1alpha1\nkind: NoSuchConfig\n')).problems).toEqual([
      { message: 'Talos has no document NoSuchConfig of version v1alpha1', line: 1, column: 1 },
    ])
    expect(problems(() => merged(main('{}'), 'machine:\n  kubelet:\n    imgae: x\n')).problems).toEqual([
      { message: 'Talos has no field machine.kubelet.imgae', path: 'machine.kubelet.imgae', line: 3, column: 5 },
    ])
    expect(problems(() => merged(main('{}'), 'kind: LinkConfig\nname: a\n')).problems).toEqual([
      { message: 'The document has no apiVersion', line: 1, column: 1 },
    ])
    expect(problems(() => merged(main('{}'), 'apiVersion: v1\nname: a\n')).problems).toEqual([{ message: 'The document has no kind', line: 1, column: 1 }])
  })

  test('keys of objects’ prototypes are just unknown', () => {
    expect(problems(() => merged(main('{}'), 'machine:\n  constructor: {a: 1}\n')).problems).toHaveLength(1)
    expect(machineOf(main('{sysctls: {__proto__: a}}'), 'machine: {sysctls: {toString: b}}')).toEqual({
      sysctls: JSON.parse('{"__proto__":"a","toString":"b"}') as unknown,
    })
  })
})

describe('scalars', () => {
  test('the right one wins', () => {
    expect(machineOf(main('{token: a, kubelet: {image: x}}'), 'machine: {token: b}')).toEqual({ token: 'b', kubelet: { image: 'x' } })
  })

  test('an empty text and a zero can’t unset', () => {
    const base = main('{token: a, network: {interfaces: [{interface: e, mtu: 1500}]}}')
    expect(machineOf(base, 'machine: {token: "", network: {interfaces: [{interface: e, mtu: 0}]}}')).toEqual({
      token: 'a',
      network: { interfaces: [{ interface: 'e', mtu: 1500 }] },
    })
  })

  test('a bool is taken as written, false too', () => {
    expect(machineOf(main('{kubelet: {registerWithFQDN: true}}'), 'machine: {kubelet: {registerWithFQDN: false}}')).toEqual({
      kubelet: { registerWithFQDN: false },
    })
    expect(machineOf(main('{kubelet: {registerWithFQDN: true}}'), 'machine: {kubelet: {registerWithFQDN: no}}')).toEqual({
      kubelet: { registerWithFQDN: false },
    })
  })

  test('optional words and numbers of the newer documents are taken as written', () => {
    const base = `${main('{}')}---\napiVersion: v1alpha1\nkind: HostnameConfig\nauto: stable\n`
    expect(merged(base, 'apiVersion: v1alpha1\nkind: HostnameConfig\nauto: off\nhostname: node-1\n')[1]).toEqual({
      apiVersion: 'v1alpha1',
      kind: 'HostnameConfig',
      auto: 'off',
      hostname: 'node-1',
    })
    const bond = `${main('{}')}---\napiVersion: v1alpha1\nkind: BondConfig\nname: b\nminLinks: 2\n`
    expect(merged(bond, 'apiVersion: v1alpha1\nkind: BondConfig\nname: b\nminLinks: 0\n')[1]).toMatchObject({ minLinks: 0 })
  })

  test('the first of a plain enumeration is Talos’s zero and can’t replace', () => {
    const base = `${main('{}')}---\napiVersion: v1alpha1\nkind: NetworkDefaultActionConfig\ningress: block\n`
    expect(merged(base, 'apiVersion: v1alpha1\nkind: NetworkDefaultActionConfig\ningress: accept\n')[1]).toMatchObject({ ingress: 'block' })
  })

  test('null keeps what is there', () => {
    expect(machineOf(main('{token: a, kubelet: {image: x}}'), 'machine: {token: null, kubelet: null}')).toEqual({ token: 'a', kubelet: { image: 'x' } })
  })

  test('of another type are refused', () => {
    expect(problems(() => merged(main('{}'), 'machine: {kubelet: {registerWithFQDN: maybe}}')).problems).toMatchObject([
      { message: 'machine.kubelet.registerWithFQDN must be true or false' },
    ])
    expect(problems(() => merged(main('{}'), 'cluster: {controlPlane: {localAPIServerPort: "6443"}}')).problems).toMatchObject([
      { message: 'cluster.controlPlane.localAPIServerPort must be a whole number' },
    ])
    expect(problems(() => merged(main('{}'), 'machine: {certSANs: a}')).problems).toMatchObject([{ message: 'machine.certSANs must be a list' }])
    expect(problems(() => merged(main('{}'), 'machine: [a]')).problems).toMatchObject([{ message: 'machine must be a mapping' }])
  })

  test('certificates and keys are replaced each by itself', () => {
    expect(machineOf(main('{ca: {crt: QQ==, key: Qg==}}'), 'machine: {ca: {crt: Qw==}}')).toEqual({ ca: { crt: 'Qw==', key: 'Qg==' } })
  })
})

describe('lists', () => {
  test('are appended, duplicates kept', () => {
    expect(machineOf(main('{certSANs: [a, b]}'), 'machine: {certSANs: [b, c]}')).toEqual({ certSANs: ['a', 'b', 'b', 'c'] })
    expect(merged(main('{}', '{extraManifests: [x]}'), 'cluster: {extraManifests: [y]}')).toEqual([
      { version: 'v1alpha1', cluster: { extraManifests: ['x', 'y'] } },
    ])
  })

  test('an empty one never clears', () => {
    expect(machineOf(main('{certSANs: [a]}'), 'machine: {certSANs: []}')).toEqual({ certSANs: ['a'] })
  })

  test('subnets of pods and services are replaced', () => {
    const base = main('{}', '{network: {podSubnets: [10.244.0.0/16], serviceSubnets: [10.96.0.0/12], cni: {urls: [a]}}}')
    expect(merged(base, 'cluster: {network: {podSubnets: [10.0.0.0/16], serviceSubnets: [10.1.0.0/16], cni: {urls: [b]}}}')[0]).toMatchObject({
      cluster: { network: { podSubnets: ['10.0.0.0/16'], serviceSubnets: ['10.1.0.0/16'], cni: { urls: ['a', 'b'] } } },
    })
  })

  test('ports and sources of a network rule are replaced', () => {
    const rule = (ports: string, subnet: string) =>
      `apiVersion: v1alpha1\nkind: NetworkRuleConfig\nname: r\nportSelector: {ports: [${ports}], protocol: tcp}\ningress: [{subnet: ${subnet}}]\n`
    expect(merged(`${main('{}')}---\n${rule('50000', '10.0.0.0/8')}`, rule('6443, "100-200"', '192.168.0.0/16'))[1]).toMatchObject({
      portSelector: { ports: [6443, '100-200'] },
      ingress: [{ subnet: '192.168.0.0/16' }],
    })
  })

  test('interfaces merge by name, else by selector, else they are new', () => {
    const base = main('{network: {interfaces: [{interface: eth0, mtu: 1500}, {deviceSelector: {driver: ice}, dhcp: true}, {interface: eth1}]}}')
    const patch = `machine: {network: {interfaces: [
      {interface: eth0, addresses: [10.0.0.1/24]}, {deviceSelector: {driver: ice}, mtu: 9000}, {deviceSelector: {driver: mlx5_core}}, {interface: eth2}]}}`
    expect(machineOf(base, patch)).toEqual({
      network: {
        interfaces: [
          { interface: 'eth0', addresses: ['10.0.0.1/24'], mtu: 1500 },
          { deviceSelector: { driver: 'ice' }, mtu: 9000, dhcp: true },
          { interface: 'eth1' },
          { deviceSelector: { driver: 'mlx5_core' } },
          { interface: 'eth2' },
        ],
      },
    })
  })

  test('VLANs of an interface merge by their id', () => {
    const base = main('{network: {interfaces: [{interface: e, vlans: [{vlanId: 10, addresses: [a]}]}]}}')
    expect(machineOf(base, 'machine: {network: {interfaces: [{interface: e, vlans: [{vlanId: 10, addresses: [b]}, {vlanId: 20, dhcp: true}]}]}}')).toEqual({
      network: {
        interfaces: [
          {
            interface: 'e',
            vlans: [
              { vlanId: 10, addresses: ['a', 'b'] },
              { vlanId: 20, dhcp: true },
            ],
          },
        ],
      },
    })
  })

  test('admission plugins merge by name, their settings as free values', () => {
    const base = main(
      '{}',
      '{apiServer: {admissionControl: [{name: PodSecurity, configuration: {defaults: {enforce: baseline}, exemptions: {namespaces: [kube-system]}}}]}}',
    )
    const patch =
      'cluster: {apiServer: {admissionControl: [{name: PodSecurity, configuration: {defaults: {enforce: privileged}, exemptions: {namespaces: [x]}}}, {name: Other, configuration: {a: 1}}]}}'
    expect(merged(base, patch)[0]).toMatchObject({
      cluster: {
        apiServer: {
          admissionControl: [
            { name: 'PodSecurity', configuration: { defaults: { enforce: 'privileged' }, exemptions: { namespaces: ['kube-system', 'x'] } } },
            { name: 'Other', configuration: { a: 1 } },
          ],
        },
      },
    })
  })

  test('files of an extension’s service merge by their path', () => {
    const service = (files: string) => `apiVersion: v1alpha1\nkind: ExtensionServiceConfig\nname: s\nconfigFiles: [${files}]\n`
    expect(
      merged(`${main('{}')}---\n${service('{content: a, mountPath: /a}')}`, service('{content: b, mountPath: /a}, {content: c, mountPath: /c}'))[1],
    ).toMatchObject({
      configFiles: [
        { content: 'b', mountPath: '/a' },
        { content: 'c', mountPath: '/c' },
      ],
    })
  })

  test('rules of image verification are replaced whole, by their pattern', () => {
    const rules = (list: string) => `apiVersion: v1alpha1\nkind: ImageVerificationConfig\nrules: [${list}]\n`
    expect(merged(`${main('{}')}---\n${rules('{image: a, skip: true}')}`, rules('{image: a, deny: true}, {image: b, skip: true}'))[1]).toMatchObject({
      rules: [
        { image: 'a', deny: true },
        { image: 'b', skip: true },
      ],
    })
    expect(JSON.stringify(merged(`${main('{}')}---\n${rules('{image: a, skip: true}')}`, rules('{image: a, deny: true}'))[1])).not.toContain('skip')
  })
})

describe('maps and free values', () => {
  test('merge by key', () => {
    expect(machineOf(main('{sysctls: {a: "1", b: "2"}}'), 'machine: {sysctls: {b: "3", c: "4"}}')).toEqual({ sysctls: { a: '1', b: '3', c: '4' } })
  })

  test('texts stay texts, whatever they look like', () => {
    const { yaml } = mergePatches(main('{}'), [{ name: 'p', body: 'machine: {sysctls: {net.core.somaxconn: 65535, x: 012, y: true}}' }])
    expect(yaml).toContain('net.core.somaxconn: "65535"')
    expect(yaml).toContain('x: "012"')
    expect(yaml).toContain('"y": "true"')
  })

  test('an argument is replaced, be it a text or a list', () => {
    const base = main('{}', '{apiServer: {extraArgs: {a: x, b: [1, 2], c: y}}}')
    expect(merged(base, 'cluster: {apiServer: {extraArgs: {a: [p, q], b: z}}}')[0]).toMatchObject({
      cluster: { apiServer: { extraArgs: { a: ['p', 'q'], b: 'z', c: 'y' } } },
    })
  })

  test('the audit policy is replaced whole', () => {
    const base = main('{}', '{apiServer: {auditPolicy: {kind: Policy, rules: [{level: Metadata}]}}}')
    expect(merged(base, 'cluster: {apiServer: {auditPolicy: {rules: [{level: None}]}}}')[0]).toEqual({
      version: 'v1alpha1',
      cluster: { apiServer: { auditPolicy: { rules: [{ level: 'None' }] } } },
    })
  })

  test('a free value of another type is refused', () => {
    const base = main('{kubelet: {extraConfig: {maxPods: 110}}}')
    expect(machineOf(base, 'machine: {kubelet: {extraConfig: {maxPods: 250}}}')).toEqual({ kubelet: { extraConfig: { maxPods: 250 } } })
    expect(problems(() => merged(base, 'machine: {kubelet: {extraConfig: {maxPods: many}}}')).problems).toMatchObject([
      { message: 'machine.kubelet.extraConfig.maxPods is of another type in the configuration', path: 'machine.kubelet.extraConfig.maxPods' },
    ])
  })
})

describe('$patch: delete', () => {
  const withHost = `${main('{token: a}')}---\napiVersion: v1alpha1\nkind: HostnameConfig\nauto: stable\n`

  test('takes a whole document out', () => {
    expect(merged(withHost, 'apiVersion: v1alpha1\nkind: HostnameConfig\n$patch: delete\n')).toHaveLength(1)
  })

  test('but never the main one', () => {
    expect(problems(() => merged(withHost, 'version: v1alpha1\n$patch: delete\n')).problems).toMatchObject([
      { message: 'The machine’s main document can’t be deleted' },
    ])
  })

  test('takes a field, a key of a map, or a section out', () => {
    const base = main('{token: a, nodeLabels: {x: "1", y: "2"}, kubelet: {image: i, clusterDNS: [a]}}')
    expect(machineOf(base, 'machine: {nodeLabels: {x: {$patch: delete}}, kubelet: {clusterDNS: {$patch: delete}}}')).toEqual({
      token: 'a',
      nodeLabels: { y: '2' },
      kubelet: { image: 'i' },
    })
    expect(machineOf(base, 'machine: {kubelet: {$patch: delete}}')).toEqual({ token: 'a', nodeLabels: { x: '1', y: '2' } })
  })

  test('unsets what a value can’t', () => {
    expect(merged(withHost, 'apiVersion: v1alpha1\nkind: HostnameConfig\nauto: {$patch: delete}\nhostname: node-1\n')[1]).toEqual({
      apiVersion: 'v1alpha1',
      kind: 'HostnameConfig',
      hostname: 'node-1',
    })
  })

  test('takes an element of a list out by its first other key', () => {
    const base = main(
      '{network: {interfaces: [{interface: eth0, dhcp: true}, {interface: eth1}]}}',
      '{apiServer: {admissionControl: [{name: PodSecurity, configuration: {a: 1}}]}}',
    )
    expect(
      merged(
        base,
        'machine: {network: {interfaces: [{interface: eth0, $patch: delete}]}}\ncluster: {apiServer: {admissionControl: [{name: PodSecurity, $patch: delete}]}}',
      ),
    ).toEqual([{ version: 'v1alpha1', machine: { network: { interfaces: [{ interface: 'eth1' }] } } }])
  })

  test('comes before the rest of its document, so that an element can be put in anew', () => {
    const base = main('{network: {interfaces: [{interface: eth0, dhcp: true}]}}')
    expect(machineOf(base, 'machine: {network: {interfaces: [{interface: eth0, $patch: delete}, {interface: eth0, dummy: true}]}}')).toEqual({
      network: { interfaces: [{ interface: 'eth0', dummy: true }] },
    })
  })

  test('of what isn’t there is refused', () => {
    for (const patch of [
      'machine: {network: {hostname: {$patch: delete}}}',
      'machine: {nodeLabels: {z: {$patch: delete}}}',
      'cluster: {apiServer: {admissionControl: [{name: Nope, $patch: delete}]}}',
      'apiVersion: v1alpha1\nkind: LinkConfig\nname: eno9\n$patch: delete\n',
    ]) {
      expect({ patch, ...problems(() => merged(main('{nodeLabels: {x: "1"}}', '{apiServer: {}}'), patch)) }).toMatchObject({
        patch,
        problems: [{ message: expect.stringMatching(/^There is no /) as string }],
      })
    }
  })

  test('of a key inside a list’s element is refused', () => {
    const base = main('{network: {interfaces: [{interface: eth0, dhcp: true}]}}')
    expect(problems(() => merged(base, 'machine: {network: {interfaces: [{interface: eth0, dhcp: {$patch: delete}}]}}')).problems).toMatchObject([
      { message: expect.stringContaining('can’t be deleted') as string },
    ])
  })
})

describe('order and origin', () => {
  test('layers apply in their order, and each line says whose it is', () => {
    const base = main('{token: a}')
    const { yaml, sources } = mergePatches(base, [
      { name: 'one', body: 'machine: {token: b, certSANs: [san-1]}' },
      { name: 'two', body: 'machine: {certSANs: [san-2]}\n---\napiVersion: v1alpha1\nkind: LinkConfig\nname: eno1\nup: true\n' },
    ])
    const lines = yaml.trimEnd().split('\n')
    expect(sources).toHaveLength(lines.length)
    const of = (line: string) => sources[lines.findIndex((l) => l.trim() === line)]?.layer
    expect(of('token: b')).toBe('one')
    expect(of('- san-1')).toBe('one')
    expect(of('- san-2')).toBe('two')
    expect(of('kind: LinkConfig')).toBe('two')
    expect(of('version: v1alpha1')).toBe('generated')
    expect(sources.map((s) => s.line)).toEqual(lines.map((_, i) => i + 1))
  })

  test('a layer that fails is named', () => {
    expect(
      problems(() =>
        mergePatches(main('{}'), [
          { name: 'good', body: 'machine: {token: a}' },
          { name: 'bad', body: 'machine: {nope: 1}' },
        ]),
      ).layer,
    ).toBe('bad')
  })

  test('comments and empty documents do no harm', () => {
    expect(merged(main('{token: a}'), '# nothing\n---\n---\nmachine: {token: b} # better\n', '')).toEqual([{ version: 'v1alpha1', machine: { token: 'b' } }])
  })
})

describe('a generated configuration', () => {
  let config: string
  beforeAll(async () => {
    const secrets = await generateSecrets({ now: new Date(), keys: await readyKeys() })
    config = generateConfig({
      role: 'control_plane',
      clusterName: 'c',
      endpoint: 'https://10.0.0.1:6443',
      talosVersion: 'v1.13.9',
      kubernetesVersion: '1.36.3',
      secrets,
      installDisk: '/dev/sda',
    })
  })

  test('is written as it was read', () => {
    expect(mergePatches(config, []).yaml).toBe(config)
    expect(mergePatches(config, [{ name: 'empty', body: 'machine: {}' }]).yaml).toBe(config)
  })

  test('merging twice what replaces is the same as once', () => {
    assert(
      property(dictionary(stringMatching(/^[a-z][a-z0-9./-]{0,20}$/), string({ unit: 'grapheme', minLength: 1, maxLength: 40 }), { maxKeys: 8 }), (sysctls) => {
        const layer = { name: 'p', body: JSON.stringify({ machine: { sysctls } }) }
        const once = mergePatches(config, [layer]).yaml
        expect(mergePatches(config, [layer, layer]).yaml).toBe(once)
        const read = parseAllDocuments(once)[0]!.toJS() as { machine: { sysctls?: Record<string, string> } }
        expect({ ...read.machine.sysctls }).toEqual(sysctls)
        expect(mergePatches(once, []).yaml).toBe(once)
      }),
      { numRuns: 60 },
    )
  })
})
