/** What people see of configurations: masked texts, the schema, and YAML as Talos writes it. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import {
  assert,
  array,
  constantFrom,
  integer,
  jsonValue,
  oneof,
  property,
  string,
} from 'fast-check'
import { parse } from 'yaml'
import { beforeAll, describe, expect, test } from 'vitest'
import { generateSecrets, type SecretsBundle } from '../secrets/bundle.ts'
import { readyKeys } from '../testing/keys.ts'
import { goDuration } from './formats.ts'
import { compareKeys, emit } from './emit.ts'
import { generateConfig } from './generate.ts'
import { type Audience, hiddenIn, masked, withHidden } from './mask.ts'
import { patchSchema } from './schema.ts'
import { ConfigError, type MapNode, treeOf } from './tree.ts'

let secrets: SecretsBundle
let config: string
beforeAll(async () => {
  secrets = await generateSecrets({ now: new Date(), keys: await readyKeys() })
  config = generateConfig({
    role: 'control_plane',
    clusterName: 'c',
    endpoint: 'https://10.0.0.1:6443',
    talosVersion: '1.13',
    kubernetesVersion: '1.36.3',
    secrets,
    installDisk: '/dev/sda',
  })
})

const maskSecrets = (yaml: string, audience: Audience) => withHidden(yaml, hiddenIn(yaml, audience))

describe('masking', () => {
  test('all secrets of a configuration are masked, and nothing else changes', () => {
    const shown = maskSecrets(config, 'may_read_secrets')
    const { certs } = secrets
    for (const key of [
      certs.os.key,
      certs.etcd.key,
      certs.k8s.key,
      certs.k8sAggregator.key,
      certs.k8sServiceAccount.key,
    ])
      expect(shown).not.toContain(Buffer.from(key).toString('base64'))
    for (const secret of [
      secrets.cluster.secret,
      secrets.trustdInfo.token,
      secrets.secrets.bootstrapToken,
      secrets.secrets.secretboxEncryptionSecret,
    ])
      expect(shown).not.toContain(secret)
    expect(shown).toContain(Buffer.from(certs.os.crt).toString('base64'))
    expect(shown.split('\n')).toHaveLength(config.split('\n').length)
    expect(shown.split('\n').filter((line, i) => line !== config.split('\n')[i])).toHaveLength(9)
  })

  test('a masked patch keeps its comments and layout', () => {
    const patch =
      'apiVersion: v1alpha1\nkind: RegistryAuthConfig\nname: ghcr.io # theirs\nusername: bot\npassword: "hunter2"\n---\nmachine:\n  token: {$patch: delete}\n  files:\n    - content: |\n        -----BEGIN PRIVATE KEY-----\n        MC4CAQ\n        -----END PRIVATE KEY-----\n      path: /var/key\n'
    expect(maskSecrets(patch, 'may_read_secrets')).toBe(
      `apiVersion: v1alpha1\nkind: RegistryAuthConfig\nname: ghcr.io # theirs\nusername: bot\npassword: ${masked}\n---\nmachine:\n  token: {$patch: delete}\n  files:\n    - content: ${masked}\n      path: /var/key\n`,
    )
    expect(
      parse(
        maskSecrets(
          'apiVersion: v1alpha1\nkind: WireguardConfig\nname: a\npeers: [{presharedKey: b}]\nprivateKey: c\n',
          'may_read_secrets',
        ),
      ),
    ).toMatchObject({
      privateKey: masked,
      peers: [{ presharedKey: masked }],
    })
  })

  const sensitive = `# pass: commented-out
machine:
  files:
    - path: /var/a # why: hunter0
      permissions: 0o600
      op: create
      content: |
        user: hunter1
        pass: hunter2
  env:
    HTTP_PROXY: http://hunter3@proxy:3128
    TZ: UTC
  sysctls: {vm.swappiness: "10"}
  kubelet:
    extraArgs: {v: "4", some-token: hunter4}
    extraConfig: {maxPods: 250, auth: {webhook: {url: hunter5}}}
    credentialProviderConfig: {providers: [{env: [{name: A, value: hunter6}]}]}
  pods: [{metadata: {name: a}, spec: {env: hunter7}}]
  registries:
    mirrors:
      ghcr.io: {endpoints: ["https://bot:hunter8@mirror.example", "https://plain.example"]}
  install:
    extraKernelArgs: ["siderolink.api=https://x.example?jointoken=hunter9", console=ttyS0]
  logging: {destinations: [{endpoint: "tcp://10.0.0.1:5000", format: json_lines, extraTags: {license: hunter10}}]}
  nodeAnnotations: {example.com/api-token: hunter11, example.com/rack: r1}
cluster:
  apiServer: {env: {A: hunter12}}
  extraManifestHeaders: {Authorization: Bearer hunter13}
  extraManifests: ["https://x.example/a.yaml?sig=hunter14", "https://x.example/b.yaml"]
  inlineManifests:
    - name: creds
      contents: |
        kind: Secret
        stringData: {a: hunter15}
    - name: settings
      contents: |
        kind: ConfigMap
        data: {colour: blue}
---
apiVersion: v1alpha1
kind: ExtensionServiceConfig
name: agent
environment: [LEVEL=debug, "hunter16"]
configFiles:
  - mountPath: /etc/agent
    content: hunter17
---
apiVersion: v1alpha1
kind: EnvironmentConfig
variables: {A: hunter18}
---
apiVersion: v1alpha1
kind: RegistryMirrorConfig
name: docker.io
endpoints: [{url: "https://bot:hunter19@mirror.example"}]
---
apiVersion: v1alpha1
kind: KmsgLogConfig
name: log
url: udp://hunter20@10.0.0.2:514
---
apiVersion: v1alpha1
kind: RegistryAuthConfig
name: ghcr.io
username: bot
password: hunter21
`

  test('readers without access to secrets see keys and structure, but no comments and no values that may be secret', () => {
    const shown = maskSecrets(sensitive, 'everybody')
    expect(shown).not.toMatch(/hunter|commented-out|250|debug/)
    for (const kept of [
      'path: /var/a',
      `content: ${masked}`,
      `HTTP_PROXY: ${masked}`,
      `TZ: ${masked}`,
      'vm.swappiness: "10"',
      `v: "4", some-token: ${masked}`,
      `maxPods: ${masked}`,
      'https://plain.example',
      'console=ttyS0',
      'endpoint: "tcp://10.0.0.1:5000"',
      `example.com/api-token: ${masked}, example.com/rack: r1`,
      `Authorization: ${masked}`,
      'https://x.example/b.yaml',
      'colour: blue',
      `LEVEL=${masked}`,
      'mountPath: /etc/agent',
      'username: bot',
    ])
      expect(shown).toContain(kept)
    expect(() => maskSecrets(shown, 'everybody')).not.toThrow()
  })

  test('readers with access to secrets see everything that the model doesn’t mark as secret', () => {
    const shown = maskSecrets(sensitive, 'may_read_secrets')
    expect(shown).toBe(sensitive.replace('hunter21', masked))
  })

  test('a comment behind a block scalar’s indicator is masked with the block', () => {
    const shown = maskSecrets(
      'machine:\n  files:\n    - content: | # hunter1\n        hunter2\n      path: /var/a\n',
      'everybody',
    )
    expect(shown).toBe(`machine:\n  files:\n    - content: ${masked}\n      path: /var/a\n`)
  })

  test('unknown documents are not shown', () => {
    expect(() =>
      maskSecrets('kind: Nope\napiVersion: v1alpha1\npassword: a\n', 'everybody'),
    ).toThrow(ConfigError)
    expect(() => maskSecrets('machine: [', 'everybody')).toThrow(ConfigError)
  })
})

describe('the schema', () => {
  test.each(['v1.12.11', 'v1.13.9'])(
    'the schema of %s is valid JSON Schema and accepts valid patches only',
    (version) => {
      const check = new Ajv2020({
        strict: true,
        strictTypes: false,
        strictRequired: false,
        allErrors: true,
      }).compile(patchSchema(version))
      for (const good of [
        {
          machine: {
            sysctls: { a: 'b' },
            certSANs: ['x'],
            kubelet: { registerWithFQDN: true, extraConfig: { anything: [1, { a: null }] } },
          },
        },
        { machine: { nodeLabels: { a: { $patch: 'delete' } } } },
        { apiVersion: 'v1alpha1', kind: 'LinkConfig', name: 'eno1', mtu: 9000 },
        {
          apiVersion: 'v1alpha1',
          kind: 'NetworkRuleConfig',
          name: 'r',
          portSelector: { ports: [50_000, '1-2'], protocol: 'tcp' },
        },
        {
          machine: {
            certSANs: ['a'],
            kubelet: { clusterDNS: { $patch: 'delete' }, $patch: 'delete' },
          },
        },
      ])
        expect({ good, valid: check(good) }).toEqual({ good, valid: true })
      for (const bad of [
        { machine: { token: 'a' } },
        { machine: { nope: 1 } },
        { cluster: { ca: {} } },
        { apiVersion: 'v1alpha1', kind: 'HostnameConfig' },
        { apiVersion: 'v1alpha1', kind: 'LinkConfig' },
        [],
      ]) {
        expect({ bad, valid: check(bad) }).toEqual({ bad, valid: false })
      }
    },
  )

  test('the schema has new documents only for newer versions', () => {
    expect(Object.keys(patchSchema('1.13').$defs!)).toContain('VRFConfig')
    expect(Object.keys(patchSchema('1.12').$defs!)).not.toContain('VRFConfig')
  })

  test('the schema describes fields and omits forbidden ones', () => {
    const machine = patchSchema('1.13').$defs!['MachineConfig']!.properties!['machine']
    expect(machine).toHaveProperty(
      'properties.kubelet.description',
      'Kubernetes’ agent on this server',
    )
    expect(machine).toHaveProperty('properties.install.properties')
    expect(machine).not.toHaveProperty('properties.install.properties.disk')
  })

  test('the schema is small enough to be sent', () => {
    expect(JSON.stringify(patchSchema('1.13')).length).toBeLessThan(120_000)
  })
})

describe('YAML in the format of Talos', () => {
  const written = (value: unknown) => emit([treeOf(value, 'x') as MapNode], '1.13').yaml

  test('indents are multiples of four, even inside lists', () => {
    expect(written({ a: [{ name: 'b', c: { d: ['e'] } }, ['f', 'g'], []], h: {} })).toBe(
      'a:\n    - name: b\n      c:\n        d:\n            - e\n    - - f\n      - g\n    - []\nh: {}\n',
    )
  })

  test.each([
    ['', '""'],
    ['true', '"true"'],
    ['yes', '"yes"'],
    ['0x1f', '"0x1f"'],
    ['012', '"012"'],
    ['1e3', '"1e3"'],
    ['2026-11-20', '"2026-11-20"'],
    ['12:30', '"12:30"'],
    ['~', '"~"'],
    ['a: b', "'a: b'"],
    ['a #b', "'a #b'"],
    ["'quoted'", "'''quoted'''"],
    ['- a', "'- a'"],
    ['-a', '-a'],
    [' a', "' a'"],
    ['[a', "'[a'"],
    ['@a', "'@a'"],
    ['https://a:6443/b?c=d#e', 'https://a:6443/b?c=d#e'],
    ['a\tb', '"a\\tb"'],
    ['a\u0007', '"a\\x07"'],
    ['ü€😀', 'ü€😀'],
  ])('%j is written as %s', (value, text) => {
    expect(parse(written({ a: value }))).toEqual({ a: value })
    expect(written({ a: value })).toBe(`a: ${text}\n`)
  })

  test('texts of several lines are written as block scalars', () => {
    expect(written({ a: { b: 'x\ny\n', c: 'x\n\ny', d: '\nx\n\n', e: 'x \ny' } })).toBe(
      'a:\n    b: |\n        x\n        y\n    c: |-\n        x\n\n        y\n    d: "\\nx\\n\\n"\n    e: "x \\ny"\n',
    )
  })

  test('written values read back unchanged', () => {
    const awkward = oneof(
      string({ unit: 'grapheme' }),
      constantFrom(
        'yes',
        '0',
        '-',
        '?',
        ':',
        '#',
        '\n',
        ' \n',
        'a\n',
        '\ta',
        '1_0',
        '0o7',
        '.5',
        '---',
        '...',
        '{}',
        '!',
        '&a',
        '*a',
        '%',
      ),
      string({ unit: 'binary' }).filter((s) => s.isWellFormed() && !s.includes('\r')),
    )
    assert(
      property(
        array(oneof(awkward, integer(), jsonValue({ maxDepth: 3 })), { maxLength: 6 }),
        (values) => {
          const value = {
            list: values,
            map: Object.fromEntries(values.map((v, i) => [`k${i}`, v])),
          }
          // −0 becomes 0 in YAML, as in JSON.
          expect(parse(written(value))).toEqual(JSON.parse(JSON.stringify(value)))
        },
      ),
      { numRuns: 300 },
    )
  })

  test('keys are sorted naturally: numbers by value, signs before letters', () => {
    const order = ['9', '10', 'a', 'a-b', 'a1', 'a01', 'a9', 'a10', 'aB', 'ab', 'b']
    expect(order.toReversed().toSorted(compareKeys)).toEqual(order)
  })

  test('durations are written as Go writes them', () => {
    expect(['8760h', '90s', '1h', '0s', '1.5s', '150ms', 'soon', '-5m'].map(goDuration)).toEqual([
      '8760h0m0s',
      '1m30s',
      '1h0m0s',
      '0s',
      '1.5s',
      '150ms',
      'soon',
      '-5m0s',
    ])
  })
})
