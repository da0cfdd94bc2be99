import { assert, dictionary, property, string, stringMatching } from 'fast-check'
import { parseAllDocuments } from 'yaml'
import { beforeAll, describe, expect, test } from 'vitest'
import { generateSecrets } from '../secrets/bundle.ts'
import { readyKeys } from '../testing/keys.ts'
import { generateConfig } from './generate.ts'
import { mergePatches } from './merge.ts'
import { main, merged, problems, machineOf } from '../testing/merged.ts'

describe('documents', () => {
  test('documents merge by kind and name, and a document with a new name is appended', () => {
    const base = `${main('{token: a}')}---\napiVersion: v1alpha1\nkind: LinkConfig\nname: eno1\nmtu: 9000\n`
    const patch =
      'apiVersion: v1alpha1\nkind: LinkConfig\nname: eno1\nup: true\n---\napiVersion: v1alpha1\nkind: LinkConfig\nname: eno2\nup: false\n'
    expect(merged(base, patch).slice(1)).toEqual([
      { apiVersion: 'v1alpha1', kind: 'LinkConfig', name: 'eno1', up: true, mtu: 9000 },
      { apiVersion: 'v1alpha1', kind: 'LinkConfig', name: 'eno2', up: false },
    ])
  })

  test('every document without a kind is merged into the main document', () => {
    expect(
      merged(main('{token: a}'), 'machine: {token: b}', 'debug: true\nmachine: {type: worker}'),
    ).toEqual([{ version: 'v1alpha1', debug: true, machine: { type: 'worker', token: 'b' } }])
  })

  test('Test that a document twice in a patch is refused before 1.14, and then merged twice', () => {
    const patch = (talosVersion: string, body: string) =>
      mergePatches(main('{}'), [{ name: 'layer-0', body }], { talosVersion }).yaml
    const twice =
      'apiVersion: v1alpha1\nkind: LinkConfig\nname: a\n---\napiVersion: v1alpha1\nkind: LinkConfig\nname: a\nup: true\n'
    expect(problems(() => patch('1.13', twice))).toEqual({
      layer: 'layer-0',
      problems: [{ message: 'LinkConfig a is there twice', line: 5, column: 1 }],
    })
    expect(patch('1.14', twice).match(/kind: LinkConfig\nname: a\nup: true/g)).toHaveLength(1)
    const tokens = 'machine: {token: a}\n---\nmachine: {token: b}'
    expect(problems(() => patch('1.13', tokens)).problems).toHaveLength(1)
    expect(patch('1.14', tokens)).toContain('token: b')
  })

  test('Test that rules for images of one name are both kept if one patch has them', () => {
    const rules = (...skips: readonly string[]) =>
      `apiVersion: v1alpha1\nkind: ImageVerificationConfig\nrules:\n${skips.map((skip) => `  - {image: a/*, skip: ${skip}}\n`).join('')}`
    const texts = (...bodies: readonly string[]) =>
      mergePatches(
        main('{}'),
        bodies.map((body, i) => ({ name: `layer-${i}`, body })),
      ).yaml.match(/skip: \w+/g)
    expect(texts(rules('true', 'false'))).toEqual(['skip: true', 'skip: false'])
    expect(texts(rules('true'), rules('false'))).toEqual(['skip: false'])
    expect(texts(rules('true', 'true'), rules('false'))).toEqual(['skip: true', 'skip: false'])
  })

  test('documents that exclude each other are refused', () => {
    const bond =
      'apiVersion: v1alpha1\nkind: BondConfig\nname: eno1\nlinks: [a]\nbondMode: 802.3ad\n'
    const base = `${main('{}')}---\napiVersion: v1alpha1\nkind: LinkConfig\nname: eno1\n`
    expect(problems(() => merged(base, bond)).problems).toMatchObject([
      { message: expect.stringContaining("can't be together") as string },
    ])
  })

  test('unknown documents and fields are refused with their position', () => {
    expect(
      problems(() => merged(main('{}'), 'apiVersion: v1alpha1\nkind: NoSuchConfig\n')).problems,
    ).toEqual([
      { message: 'Talos has no document NoSuchConfig of version v1alpha1', line: 1, column: 1 },
    ])
    expect(
      problems(() => merged(main('{}'), 'machine:\n  kubelet:\n    imgae: x\n')).problems,
    ).toEqual([
      {
        message: 'Talos has no field machine.kubelet.imgae; did you mean image?',
        path: 'machine.kubelet.imgae',
        line: 3,
        column: 5,
      },
    ])
    expect(problems(() => merged(main('{}'), 'kind: LinkConfig\nname: a\n')).problems).toEqual([
      { message: 'The document has no apiVersion', line: 1, column: 1 },
    ])
    expect(problems(() => merged(main('{}'), 'apiVersion: v1\nname: a\n')).problems).toEqual([
      { message: 'The document has no kind', line: 1, column: 1 },
    ])
  })

  test('names of JavaScript’s object prototype are unknown fields like any other', () => {
    expect(
      problems(() => merged(main('{}'), 'machine:\n  constructor: {a: 1}\n')).problems,
    ).toHaveLength(1)
    expect(
      machineOf(main('{sysctls: {__proto__: a}}'), 'machine: {sysctls: {toString: b}}'),
    ).toEqual({
      sysctls: JSON.parse('{"__proto__":"a","toString":"b"}') as unknown,
    })
  })
})

describe('scalars', () => {
  test('the patch’s value replaces the existing one', () => {
    expect(machineOf(main('{token: a, kubelet: {image: x}}'), 'machine: {token: b}')).toEqual({
      token: 'b',
      kubelet: { image: 'x' },
    })
  })

  test('an empty string or a zero in a patch changes nothing', () => {
    const base = main('{token: a, network: {interfaces: [{interface: e, mtu: 1500}]}}')
    expect(
      machineOf(base, 'machine: {token: "", network: {interfaces: [{interface: e, mtu: 0}]}}'),
    ).toEqual({
      token: 'a',
      network: { interfaces: [{ interface: 'e', mtu: 1500 }] },
    })
  })

  test('a boolean replaces the existing value, even if false', () => {
    expect(
      machineOf(
        main('{kubelet: {registerWithFQDN: true}}'),
        'machine: {kubelet: {registerWithFQDN: false}}',
      ),
    ).toEqual({
      kubelet: { registerWithFQDN: false },
    })
    expect(
      machineOf(
        main('{kubelet: {registerWithFQDN: true}}'),
        'machine: {kubelet: {registerWithFQDN: no}}',
      ),
    ).toEqual({
      kubelet: { registerWithFQDN: false },
    })
  })

  test('optional strings and numbers of newer documents replace the existing values, even if empty', () => {
    const base = `${main('{}')}---\napiVersion: v1alpha1\nkind: HostnameConfig\nauto: stable\n`
    expect(
      merged(base, 'apiVersion: v1alpha1\nkind: HostnameConfig\nauto: off\nhostname: node-1\n')[1],
    ).toEqual({
      apiVersion: 'v1alpha1',
      kind: 'HostnameConfig',
      auto: 'off',
      hostname: 'node-1',
    })
    const bond = `${main('{}')}---\napiVersion: v1alpha1\nkind: BondConfig\nname: b\nminLinks: 2\n`
    expect(
      merged(bond, 'apiVersion: v1alpha1\nkind: BondConfig\nname: b\nminLinks: 0\n')[1],
    ).toMatchObject({ minLinks: 0 })
  })

  test('the first value of an enumeration is the zero value in Talos, so it replaces nothing', () => {
    const base = `${main('{}')}---\napiVersion: v1alpha1\nkind: NetworkDefaultActionConfig\ningress: block\n`
    expect(
      merged(base, 'apiVersion: v1alpha1\nkind: NetworkDefaultActionConfig\ningress: accept\n')[1],
    ).toMatchObject({ ingress: 'block' })
  })

  test('null in a patch changes nothing', () => {
    expect(
      machineOf(main('{token: a, kubelet: {image: x}}'), 'machine: {token: null, kubelet: null}'),
    ).toEqual({ token: 'a', kubelet: { image: 'x' } })
  })

  test('a patch with a value of another type is refused', () => {
    expect(
      problems(() => merged(main('{}'), 'machine: {kubelet: {registerWithFQDN: maybe}}')).problems,
    ).toMatchObject([{ message: 'machine.kubelet.registerWithFQDN must be true or false' }])
    expect(
      problems(() => merged(main('{}'), 'cluster: {controlPlane: {localAPIServerPort: "6443"}}'))
        .problems,
    ).toMatchObject([{ message: 'cluster.controlPlane.localAPIServerPort must be a whole number' }])
    expect(problems(() => merged(main('{}'), 'machine: {certSANs: a}')).problems).toMatchObject([
      { message: 'machine.certSANs must be a list' },
    ])
    expect(problems(() => merged(main('{}'), 'machine: [a]')).problems).toMatchObject([
      { message: 'machine must be a mapping' },
    ])
  })

  test('certificate and key are replaced independently', () => {
    expect(machineOf(main('{ca: {crt: QQ==, key: Qg==}}'), 'machine: {ca: {crt: Qw==}}')).toEqual({
      ca: { crt: 'Qw==', key: 'Qg==' },
    })
  })
})

describe('maps and untyped values', () => {
  test('maps merge by key', () => {
    expect(
      machineOf(main('{sysctls: {a: "1", b: "2"}}'), 'machine: {sysctls: {b: "3", c: "4"}}'),
    ).toEqual({ sysctls: { a: '1', b: '3', c: '4' } })
  })

  test('strings that look like numbers or booleans stay strings', () => {
    const { yaml } = mergePatches(main('{}'), [
      { name: 'p', body: 'machine: {sysctls: {net.core.somaxconn: 65535, x: 012, y: true}}' },
    ])
    expect(yaml).toContain('net.core.somaxconn: "65535"')
    expect(yaml).toContain('x: "012"')
    expect(yaml).toContain(`'y': "true"`)
  })

  test('an argument is replaced, whether it is a string or a list', () => {
    const base = main('{}', '{apiServer: {extraArgs: {a: x, b: [1, 2], c: y}}}')
    expect(merged(base, 'cluster: {apiServer: {extraArgs: {a: [p, q], b: z}}}')[0]).toMatchObject({
      cluster: { apiServer: { extraArgs: { a: ['p', 'q'], b: 'z', c: 'y' } } },
    })
  })

  test('the audit policy is replaced as a whole', () => {
    const base = main(
      '{}',
      '{apiServer: {auditPolicy: {kind: Policy, rules: [{level: Metadata}]}}}',
    )
    expect(
      merged(base, 'cluster: {apiServer: {auditPolicy: {rules: [{level: None}]}}}')[0],
    ).toEqual({
      version: 'v1alpha1',
      cluster: { apiServer: { auditPolicy: { rules: [{ level: 'None' }] } } },
    })
  })

  test('an untyped value is refused if its type differs from that of the existing value', () => {
    const base = main('{kubelet: {extraConfig: {maxPods: 110}}}')
    expect(machineOf(base, 'machine: {kubelet: {extraConfig: {maxPods: 250}}}')).toEqual({
      kubelet: { extraConfig: { maxPods: 250 } },
    })
    expect(
      problems(() => merged(base, 'machine: {kubelet: {extraConfig: {maxPods: many}}}')).problems,
    ).toMatchObject([
      {
        message: 'machine.kubelet.extraConfig.maxPods is of another type in the configuration',
        path: 'machine.kubelet.extraConfig.maxPods',
      },
    ])
  })
})

describe('$patch: delete', () => {
  const withHost = `${main('{token: a}')}---\napiVersion: v1alpha1\nkind: HostnameConfig\nauto: stable\n`

  test('a whole document can be deleted', () => {
    expect(
      merged(withHost, 'apiVersion: v1alpha1\nkind: HostnameConfig\n$patch: delete\n'),
    ).toHaveLength(1)
  })

  test('the main document can’t be deleted', () => {
    expect(
      problems(() => merged(withHost, 'version: v1alpha1\n$patch: delete\n')).problems,
    ).toMatchObject([{ message: 'The machine’s main document can’t be deleted' }])
  })

  test('a field, a map’s key and a section can be deleted', () => {
    const base = main(
      '{token: a, nodeLabels: {x: "1", y: "2"}, kubelet: {image: i, clusterDNS: [a]}}',
    )
    expect(
      machineOf(
        base,
        'machine: {nodeLabels: {x: {$patch: delete}}, kubelet: {clusterDNS: {$patch: delete}}}',
      ),
    ).toEqual({
      token: 'a',
      nodeLabels: { y: '2' },
      kubelet: { image: 'i' },
    })
    expect(machineOf(base, 'machine: {kubelet: {$patch: delete}}')).toEqual({
      token: 'a',
      nodeLabels: { x: '1', y: '2' },
    })
  })

  test('a deletion removes a field that an empty value can’t remove', () => {
    expect(
      merged(
        withHost,
        'apiVersion: v1alpha1\nkind: HostnameConfig\nauto: {$patch: delete}\nhostname: node-1\n',
      )[1],
    ).toEqual({
      apiVersion: 'v1alpha1',
      kind: 'HostnameConfig',
      hostname: 'node-1',
    })
  })

  test('the first key beside $patch selects the list element to delete', () => {
    const base = main(
      '{network: {interfaces: [{interface: eth0, dhcp: true}, {interface: eth1}]}}',
      '{apiServer: {admissionControl: [{name: PodSecurity, configuration: {a: 1}}]}}',
    )
    expect(
      merged(
        base,
        'machine: {network: {interfaces: [{interface: eth0, $patch: delete}]}}\ncluster: {apiServer: {admissionControl: [{name: PodSecurity, $patch: delete}]}}',
      ),
    ).toEqual([
      { version: 'v1alpha1', machine: { network: { interfaces: [{ interface: 'eth1' }] } } },
    ])
  })

  test('deletions are applied before the rest of their document, so a list element can be replaced', () => {
    const base = main('{network: {interfaces: [{interface: eth0, dhcp: true}]}}')
    expect(
      machineOf(
        base,
        'machine: {network: {interfaces: [{interface: eth0, $patch: delete}, {interface: eth0, dummy: true}]}}',
      ),
    ).toEqual({
      network: { interfaces: [{ interface: 'eth0', dummy: true }] },
    })
  })

  test('the deletion of a missing value is refused', () => {
    for (const patch of [
      'machine: {network: {hostname: {$patch: delete}}}',
      'machine: {nodeLabels: {z: {$patch: delete}}}',
      'cluster: {apiServer: {admissionControl: [{name: Nope, $patch: delete}]}}',
    ]) {
      expect({
        patch,
        ...problems(() => merged(main('{nodeLabels: {x: "1"}}', '{apiServer: {}}'), patch)),
      }).toMatchObject({
        patch,
        problems: [{ message: expect.stringMatching(/^There is no /) as string }],
      })
    }
  })

  test('Test that a deletion of a missing document is refused before 1.14, and then ignored', () => {
    for (const deletion of ['$patch: delete', 'mtu: {$patch: delete}']) {
      const body = `apiVersion: v1alpha1\nkind: LinkConfig\nname: eno9\n${deletion}\n`
      const patch = (talosVersion: string) =>
        mergePatches(main('{}'), [{ name: 'layer-0', body }], { talosVersion }).yaml
      expect(problems(() => patch('1.13')).problems).toMatchObject([
        { message: 'There is no LinkConfig eno9 to delete from' },
      ])
      expect(patch('1.14')).not.toContain('LinkConfig')
    }
  })

  test('a deletion inside a list’s element is refused', () => {
    const base = main('{network: {interfaces: [{interface: eth0, dhcp: true}]}}')
    expect(
      problems(() =>
        merged(
          base,
          'machine: {network: {interfaces: [{interface: eth0, dhcp: {$patch: delete}}]}}',
        ),
      ).problems,
    ).toMatchObject([{ message: expect.stringContaining('can’t be deleted') as string }])
  })
})

describe('order and origin', () => {
  test('layers apply in order, and each line names its layer', () => {
    const base = main('{token: a}')
    const { yaml, sources } = mergePatches(base, [
      { name: 'one', body: 'machine: {token: b, certSANs: [san-1]}' },
      {
        name: 'two',
        body: 'machine: {certSANs: [san-2]}\n---\napiVersion: v1alpha1\nkind: LinkConfig\nname: eno1\nup: true\n',
      },
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

  test('an error names its layer', () => {
    expect(
      problems(() =>
        mergePatches(main('{}'), [
          { name: 'good', body: 'machine: {token: a}' },
          { name: 'bad', body: 'machine: {nope: 1}' },
        ]),
      ).layer,
    ).toBe('bad')
  })

  test('comments and empty documents change nothing', () => {
    expect(
      merged(main('{token: a}'), '# nothing\n---\n---\nmachine: {token: b} # better\n', ''),
    ).toEqual([{ version: 'v1alpha1', machine: { token: 'b' } }])
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

  test('a generated configuration is written unchanged after parsing', () => {
    expect(mergePatches(config, []).yaml).toBe(config)
    expect(mergePatches(config, [{ name: 'empty', body: 'machine: {}' }]).yaml).toBe(config)
  })

  test('a patch that only replaces values has no effect when it is merged a second time', () => {
    assert(
      property(
        dictionary(
          stringMatching(/^[a-z][a-z0-9./-]{0,20}$/),
          string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
          { maxKeys: 8 },
        ),
        (sysctls) => {
          const layer = { name: 'p', body: JSON.stringify({ machine: { sysctls } }) }
          const once = mergePatches(config, [layer]).yaml
          expect(mergePatches(config, [layer, layer]).yaml).toBe(once)
          const read = parseAllDocuments(once)[0]!.toJS() as {
            machine: { sysctls?: Record<string, string> }
          }
          expect({ ...read.machine.sysctls }).toEqual(sysctls)
          expect(mergePatches(once, []).yaml).toBe(once)
        },
      ),
      { numRuns: 60 },
    )
  })
})
