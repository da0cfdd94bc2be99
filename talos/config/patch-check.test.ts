import { array, assert, constantFrom, oneof, property, string } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Lexer } from 'yaml'
import { mergePatches } from './merge.ts'
import { checkPatch, patchLimits } from './patch-check.ts'
import { placeIn } from './places.ts'
import { ConfigError } from './tree.ts'
import { longTests } from '../../tools/testing/length.ts'

const errors = (body: string, talosVersion = 'v1.13.9') => checkPatch(body, { talosVersion }).errors

/**
 * Milliseconds of processor time that `act` takes. Wall-clock time would include what else the
 * machine does.
 */
function busyMs(act: () => unknown): number {
  const before = process.cpuUsage()
  act()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
/**
 * Milliseconds in which this machine splits a text into tokens: a measure for limits that holds on
 * fast and slow machines.
 */
const lexedIn = (body: string): number => busyMs(() => Array.from(new Lexer().lex(body)))
const refusedIn = (body: string): number => busyMs(() => expect(errors(body)).not.toEqual([]))

const messages = (body: string, talosVersion?: string) =>
  errors(body, talosVersion).map((e) => e.message)

describe('valid patches', () => {
  test.each([
    'machine:\n  sysctls:\n    net.core.somaxconn: "65535"\n',
    'machine:\n  certSANs: [node.example.com]\n  kubelet:\n    extraArgs: {rotate-server-certificates: "true"}\n    registerWithFQDN: false\n',
    'apiVersion: v1alpha1\nkind: LinkConfig\nname: eno1\nmtu: 9000\n---\napiVersion: v1alpha1\nkind: VLANConfig\nname: eno1.20\nvlanID: 20\nparent: eno1\n',
    'apiVersion: v1alpha1\nkind: RegistryAuthConfig\nname: ghcr.io\nusername: bot\npassword: hunter2\n',
    'machine:\n  nodeLabels:\n    node.kubernetes.io/exclude-from-external-load-balancers:\n      $patch: delete\n',
    'apiVersion: v1alpha1\nkind: BondConfig\nname: bond0\nlinks: [eno1, eno2]\nbondMode: 802.3ad\nadLACPActive: on\n',
    '\ufeff# with a byte order mark\r\nmachine:\r\n  sysctls:\r\n    a: b\r\n',
  ])('a valid patch has no errors', (body) => {
    expect(errors(body)).toEqual([])
  })
})

describe('YAML', () => {
  test('broken YAML is reported with its position', () => {
    const [error] = errors('machine:\n  sysctls:\n   - a: b\n  c\n')
    expect(error?.line).toBeGreaterThan(1)
    expect(error?.column).toBeGreaterThan(0)
    expect(errors('machine:\n  token: a\n  token: b\n')).toEqual([
      { message: 'The key token is there twice', path: 'machine.token', line: 3, column: 3 },
    ])
    expect(errors('machine:\n\tsysctls: {}\n')).not.toEqual([])
  })

  test('anchors, aliases, tags and merge keys are refused', () => {
    const anchors = expect.stringMatching(/^Anchors \(&\), aliases .*: write the values out/)
    expect(messages('machine:\n  sysctls: &a {b: c}\n')).toEqual([anchors])
    expect(messages('machine:\n  sysctls: &a {b: c}\n  sysfs: *a\n')).toEqual([anchors])
    expect(messages('machine:\n  sysctls: {a: !!str 1}\n')).toEqual(['Tags are not allowed'])
    expect(messages('machine:\n  sysctls: !<tag:example.com,2026:x> {a: b}\n')[0]).toContain(
      'Tags are not allowed',
    )
    expect(messages('machine:\n  sysctls: {<<: {a: b}}\n')).toEqual([anchors])
    expect(messages('machine:\n  sysctls: {? [a, b] : c}\n')).toEqual([
      'A key must be a single value',
    ])
  })

  test('aliases that expand exponentially are refused at once', () => {
    const bomb = `a0: &a0 [x,x,x,x,x,x,x,x,x]\n${Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${Array.from({ length: 9 }, () => `*a${i}`).join(',')}]`).join('\n')}\n`
    expect(refusedIn(bomb)).toBeLessThan(500)
  })

  test.each([
    ['brackets', '['.repeat(20_000)],
    ['braces', 'machine: '.padEnd(40_000, '{a: ')],
    ['dashes', '- '.repeat(30_000)],
    ['indentation', Array.from({ length: 60 }, (_, i) => `${' '.repeat(i)}a:`).join('\n')],
    ['closed brackets', `machine: {pods: ${'['.repeat(60)}${']'.repeat(60)}}`],
  ])('YAML nested too deeply by %s is refused at once', (_, body) => {
    expect(refusedIn(body)).toBeLessThan(500)
  })

  test.each([
    ['quotes', '"'.repeat(65_000)],
    ['keys', Array.from({ length: 6000 }, (_, i) => `k${i}: 1`).join('\n')],
    ['documents', '---\n'.repeat(16_000)],
    ['comments', '#\n'.repeat(32_000)],
    ['anchors', '&a '.repeat(21_000)],
    ['tags', '!!a '.repeat(16_000)],
    ['question marks', '? '.repeat(32_000)],
    ['colons', 'a: '.repeat(21_000)],
    ['items', '-\n'.repeat(32_000)],
  ])('YAML that consists only of %s is refused at once', (_, body) => {
    expect(refusedIn(body)).toBeLessThan(1000)
  })

  test('the check never throws, whatever the text', () => {
    const pieces = constantFrom(
      'machine:',
      'cluster:',
      'sysctls:',
      'a: b',
      '- ',
      '{',
      '}',
      '[',
      ']',
      '$patch: delete',
      'kind: LinkConfig',
      'apiVersion: v1alpha1',
      'name: x',
      '---',
      '\n',
      '\n  ',
      '\n    ',
      '"',
      "'",
      '|',
      '&a',
      '*a',
      '!!str',
      '#',
      ':',
      ' ',
      '\t',
      '0x1',
      'null',
      '~',
      '\ud83d\ude00',
    )
    assert(
      property(
        oneof(
          array(pieces, { maxLength: 40 }).map((list) => list.join('')),
          string({ unit: 'binary', maxLength: 200 }),
        ),
        (body) => {
          const found = errors(body)
          // An accepted patch can be merged, or the merge reports what it can't find. No other
          // error occurs.
          if (found.length > 0) return
          try {
            mergePatches('version: v1alpha1\nmachine: {}\ncluster: {}\n', [{ name: 'p', body }])
          } catch (error) {
            if (!(error instanceof ConfigError) || !error.message.startsWith('There is no '))
              throw error
          }
        },
      ),
      { numRuns: longTests ? 2000 : 400 },
    )
  })

  test('patches with too many bytes, values or documents are refused', () => {
    expect(messages(`machine:\n  env: {A: ${'x'.repeat(patchLimits.bytes)}}`)).toEqual([
      'A patch can have 1 MiB at most; this one has 1025 KiB',
    ])
    expect(
      messages(`machine: {certSANs: [${Array.from({ length: 20_001 }, () => 'a').join(',')}]}`),
    ).toEqual(['A patch can have 20,000 values at most'])
    expect(
      messages(
        Array.from(
          { length: 65 },
          (_, i) => `apiVersion: v1alpha1\nkind: LinkConfig\nname: l${i}\n`,
        ).join('---\n'),
      ),
    ).toEqual(['A patch can have 64 documents at most; this one has 65'])
    expect(messages('')).toEqual(['The patch is empty'])
    expect(messages('# only a comment\n---\n')).toEqual(['The patch is empty'])
  })

  test.each([
    ['mistakes', '- a\nb: c\n'.repeat(6000)],
    ['quotes', '"'.repeat(65_000)],
    ['directives', '%\n'.repeat(30_000)],
    ['documents', '---\n'.repeat(16_000)],
    ['keys', 'a:\n'.repeat(20_000)],
  ])(
    'checking a text that consists only of %s takes less time than building its tree',
    (_, body) => {
      // 0.1 to 4 times the time of the lexer. A parser that builds a tree of the whole text takes 8
      // to 20 times that time.
      const shares = Array.from({ length: 5 }, () => refusedIn(body) / lexedIn(body))
      expect(Math.min(...shares)).toBeLessThan(7)
    },
  )

  test('invalid UTF-8 and control characters are refused', () => {
    expect(messages('machine: {env: {A: "\ud800"}}')).toEqual([
      expect.stringContaining('not UTF-8 text'),
    ])
    expect(errors('machine:\n  env: {A: "\u0000"}')).toEqual([
      { message: 'Control characters are not allowed (U+0000)', line: 2, column: 13 },
    ])
    expect(errors('machine:\n  env: {A: "\u001b[31m"}')).not.toEqual([])
  })

  test('ambiguous scalars are refused', () => {
    expect(messages('machine: {sysctls: {a: yes}}')).toEqual([
      'yes can be read in two ways: write "yes" with quotes',
    ])
    expect(messages('machine: {sysctls: {a: 012}}')).toEqual([
      '012 can be read in two ways: write "012" with quotes',
    ])
    expect(messages('machine: {sysctls: {a: 1_000}}')).toEqual([
      '1_000 can be read in two ways: write "1_000" with quotes',
    ])
    expect(messages('machine: {sysctls: {a: 12:30:45}}')).toEqual([
      '12:30:45 can be read in two ways: write "12:30:45" with quotes',
    ])
    expect(messages('machine: {kubelet: {extraConfig: {a: 2026-11-20}}}')).toEqual([
      '2026-11-20 can be read in two ways: write "2026-11-20" with quotes',
    ])
    expect(messages('machine: {kubelet: {registerWithFQDN: on}}')).toEqual([
      'on can be read in two ways: write true or false',
    ])
    expect(messages('apiVersion: v1alpha1\nkind: LinkConfig\nname: a\nmtu: 01500\n')).toEqual([
      '01500 can be read in two ways: write it without leading zeros and underscores',
    ])
    expect(
      messages('machine: {sysctls: {a: "yes", b: \'012\', c: 1000, d: true, e: x-on}}'),
    ).toEqual([])
    expect(
      messages('machine: {files: [{content: a, permissions: 0644, path: /var/a, op: create}]}'),
    ).toEqual([])
  })
})

describe('contents', () => {
  test('JSON patches are refused with Talos’s reason', () => {
    for (const body of [
      '[{"op": "add", "path": "/machine/certSANs", "value": ["a"]}]',
      '- op: replace\n  path: /machine/token\n  value: a\n',
      '# c\n- op: add\n',
      '---\n\n# c\n  -\n    # d\n    "op" : add\n',
      '# c\n[]',
    ]) {
      expect(messages(body)[0]).toContain(
        'JSON patches are not possible: Talos refuses them on configurations of several documents',
      )
    }
  })

  test('the search for JSON patches takes linear time', () => {
    const ends = ['', 'x', '- x', '#']
    const bodies = [
      '\n'.repeat(31),
      '\n'.repeat(60),
      '\n#a'.repeat(5_000),
      '\n---'.repeat(3_000),
      ' '.repeat(15_000),
      '- '.repeat(7_500),
      '-\n'.repeat(7_500),
    ]
    const texts = bodies.flatMap((body) => ends.map((end) => body + end))
    const lexedMs = texts.reduce((sum, text) => sum + lexedIn(text), 0)
    const tookMs = busyMs(() =>
      texts.forEach((body) => checkPatch(body, { talosVersion: 'v1.13.9' })),
    )
    // A search that takes quadratic time takes hundreds of times as long.
    expect(tookMs).toBeLessThan(30 * lexedMs)
    expect(messages('- name: op\n')[0]).not.toContain('JSON patches are not possible')
  })

  test('unknown fields, kinds and types are reported with their line', () => {
    expect(errors('machine:\n  kubelet:\n    imgae: x\n')).toEqual([
      {
        message: 'Talos has no field machine.kubelet.imgae; did you mean image?',
        path: 'machine.kubelet.imgae',
        line: 3,
        column: 5,
      },
    ])
    expect(messages('apiVersion: v1alpha1\nkind: Nope\n')).toEqual([
      'Talos has no document Nope of version v1alpha1',
    ])
    expect(messages('machine: {certSANs: a}')).toEqual(['machine.certSANs must be a list'])
    expect(messages('machine: {token: {$patch: replace}}')[0]).toBeDefined()
  })

  test('the allowed fields and documents depend on the Talos version', () => {
    const vrf = 'apiVersion: v1alpha1\nkind: VRFConfig\nname: v\ntable: "100"\n'
    expect(messages(vrf, 'v1.13.9')).toEqual([])
    expect(messages(vrf, 'v1.12.11')).toEqual(['VRFConfig exists only since Talos 1.13'])
    const list = 'cluster: {apiServer: {extraArgs: {a: [b]}}}'
    expect(messages(list, 'v1.13.9')).toEqual([])
    expect(messages(list, 'v1.12.11')).toEqual([
      'cluster.apiServer.extraArgs.a must be text; a list is possible since Talos 1.13',
    ])
  })

  test.each([
    ['machine.type', 'machine: {type: worker}'],
    ['machine.token', 'machine: {token: a}'],
    ['machine.ca', 'machine: {ca: {crt: QQ==}}'],
    ['machine.acceptedCAs', 'machine: {acceptedCAs: [{crt: QQ==}]}'],
    ['machine.install.disk', 'machine: {install: {disk: /dev/sda}}'],
    ['machine.install.diskSelector', 'machine: {install: {diskSelector: {size: ">= 1GB"}}}'],
    ['machine.install.image', 'machine: {install: {image: a}}'],
    ['machine.network.hostname', 'machine: {network: {hostname: a}}'],
    ['machine.features.stableHostname', 'machine: {features: {stableHostname: true}}'],
    ['cluster.id', 'cluster: {id: a}'],
    ['cluster.secret', 'cluster: {secret: a}'],
    ['cluster.controlPlane', 'cluster: {controlPlane: {endpoint: "https://a:6443"}}'],
    ['cluster.clusterName', 'cluster: {clusterName: a}'],
    ['cluster.network.podSubnets', 'cluster: {network: {podSubnets: [10.1.0.0/16]}}'],
    ['cluster.network.serviceSubnets', 'cluster: {network: {serviceSubnets: [10.1.0.0/16]}}'],
    ['cluster.token', 'cluster: {token: a}'],
    ['cluster.secretboxEncryptionSecret', 'cluster: {secretboxEncryptionSecret: a}'],
    ['cluster.aescbcEncryptionSecret', 'cluster: {aescbcEncryptionSecret: a}'],
    ['cluster.ca', 'cluster: {ca: {key: QQ==}}'],
    ['cluster.acceptedCAs', 'cluster: {acceptedCAs: []}'],
    ['cluster.aggregatorCA', 'cluster: {aggregatorCA: {crt: QQ==}}'],
    ['cluster.serviceAccount', 'cluster: {serviceAccount: {key: QQ==}}'],
    ['cluster.etcd.ca', 'cluster: {etcd: {ca: {crt: QQ==}}}'],
  ])('a patch that sets %s is refused, because the field belongs to the cluster', (path, body) => {
    expect(errors(body)).toMatchObject([
      { message: expect.stringContaining(`A patch can’t set ${path}: `) as string, path, line: 1 },
    ])
    const [section, ...rest] = path.split('.')
    const nested = rest.reduceRight((inner, key) => `{${key}: ${inner}}`, '{$patch: delete}')
    expect(messages(`${section}: ${nested}`)).toMatchObject([
      expect.stringContaining(`A patch can’t delete ${path}`) as string,
    ])
  })

  test('no document of a patch can set a host name', () => {
    expect(messages('apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a\n')).toEqual([
      'A patch can’t have HostnameConfig: the host name is the server’s name',
    ])
    expect(messages('apiVersion: v1alpha1\nkind: HostnameConfig\n$patch: delete\n')).toEqual([
      'A patch can’t have HostnameConfig: the host name is the server’s name',
    ])
  })

  test('a section with a forbidden field can’t be deleted', () => {
    for (const body of [
      'machine: {$patch: delete}',
      'cluster: {$patch: delete}',
      'machine: {install: {$patch: delete}}',
      'machine: {certSANs: {$patch: delete}}',
      'cluster: {apiServer: {$patch: delete}}',
      'cluster: {apiServer: {certSANs: {$patch: delete}}}',
      'cluster: {etcd: {$patch: delete}}',
      'version: v1alpha1\n$patch: delete\n',
    ]) {
      expect({ body, count: messages(body).length }).toEqual({ body, count: 1 })
    }
    expect(messages('machine: {install: {extraKernelArgs: {$patch: delete}}}')).toEqual([])
    expect(messages('cluster: {apiServer: {auditPolicy: {$patch: delete}}}')).toEqual([])
  })

  test('all errors are reported, in the order of lines', () => {
    expect(
      errors('machine:\n  token: a\n  nope: 1\n  sysctls: {x: yes}\n').map((e) => e.line),
    ).toEqual([2, 3, 4])
  })
})

describe('mistakes of copying and typing', () => {
  const placed = (body: string) =>
    checkPatch(body, { talosVersion: 'v1.13.9' }).errors.map(
      ({ line, column, message }) => `${line}:${column} ${message}`,
    )
  const nbsp = /^There is a no-break space \(U\+00A0\) where YAML needs a usual space/

  test('case 21: each line with no-break spaces is named, with the column', () => {
    const body = 'machine:\u00a0\n  sysctls:\n  \u00a0\u00a0vm.nr_hugepages: "1024"\n'
    const { errors: found } = checkPatch(body, { talosVersion: 'v1.13.9' })
    expect(found.map(({ line, column }) => [line, column])).toEqual([
      [1, 9],
      [3, 3],
    ])
    for (const { message } of found) expect(message).toMatch(nbsp)
  })

  test.each([
    [
      'a no-break space after a dash',
      'machine:\n  certSANs:\n    -\u00a0a\n',
      '3:6 There is a no-break',
    ],
    [
      'an ideographic space',
      'machine:\n\u3000sysctls: {}\n',
      '2:1 There is a special space (U+3000)',
    ],
    ['a tab', 'machine:\n\tsysctls: {}\n', '2:1 A tab can’t indent a line'],
  ])('%s is told once, at its place', (_what, body, begin) => {
    const found = placed(body)
    expect(found).toHaveLength(1)
    expect(found[0]!.startsWith(begin)).toBe(true)
  })

  test('a no-break space inside a value is no mistake', () => {
    expect(placed('machine:\n  env:\n    A: a\u00a0b\n    B: "x:\u00a0y"\n')).toEqual([])
  })

  test.each([
    [
      'backticks',
      '```yaml\nmachine:\n  sysctls:\n    a: "1"\n```\n',
      '1:1 The marks ``` around code are not part of the YAML: remove lines 1 and 5',
    ],
    [
      'backticks at the end only',
      'machine:\n  sysctls:\n    a: "1"\n```\n',
      '4:1 The marks ``` around code are not part of the YAML: remove the line',
    ],
    [
      'tildes',
      '~~~\nmachine:\n  sysctls: {}\n~~~\n',
      '1:1 The marks ~~~ around code are not part of the YAML: remove lines 1 and 4',
    ],
  ])('a code fence of %s is told once', (_what, body, sentence) => {
    expect(placed(body)).toEqual([sentence])
  })

  test.each([
    [
      'one space too many',
      'machine:\n  kubelet:\n    image: a\n     clusterDNS: []\n',
      '4:6 The line is indented by 5 spaces, but line 3 above has a value already, so nothing can be below it: it needs 4 spaces',
    ],
    [
      'one space too many in a list',
      'machine:\n  files:\n    - path: /var/a\n       op: create\n',
      '4:8 The line is indented by 7 spaces, but line 3 above has a value already, so nothing can be below it: it needs 6 spaces',
    ],
    [
      'one space too few',
      'machine:\n  kubelet:\n    image: a\n   clusterDNS: []\n',
      '4:4 The line is indented by 3 spaces, which fits no line above: it probably needs 2 spaces',
    ],
  ])('%s is told at the wrong line', (_what, body, sentence) => {
    expect(placed(body)).toEqual([sentence])
  })

  test('case 28: a character that is not UTF-8 is told at its place', () => {
    expect(placed('machine:\n  nodeAnnotations:\n    a/owner: "Zesp\ufffd\ufffd"\n')).toEqual([
      expect.stringMatching(/^3:19 There is a character that is not UTF-8 text/),
    ])
  })

  test('case 29: anchors are told once, with what to do', () => {
    expect(placed('x: &a\n  b: "1"\nmachine:\n  sysctls:\n    <<: *a\n    c: "2"\n')).toEqual([
      expect.stringMatching(/^\d+:\d+ Anchors .* write the values out in each place$/),
    ])
  })

  test('case 32: a JSON patch is told at its first line', () => {
    expect(placed('# c\n- op: replace\n  path: /a\n')).toEqual([
      expect.stringMatching(/^2:1 JSON patches are not possible/),
    ])
  })

  test('case 30: a manifest of Cilium of 700 KiB in a patch is allowed', () => {
    const line = `        ${'x'.repeat(70)}\n`
    const manifest = `cluster:\n  inlineManifests:\n    - name: cilium\n      contents: |\n${line.repeat(9000)}`
    expect(Buffer.byteLength(manifest)).toBeGreaterThan(700_000)
    expect(placed(manifest)).toEqual([])
  })
})

describe('places', () => {
  const body =
    'machine:\n  sysctls:\n    a.b: "1"\n  nodeLabels:\n    team: x\n    invalid label: randomvalue\n'
  test.each([
    ['case 20: a key with a space', 'machine.nodeLabels.invalid label', [6, 5, true]],
    ['a key with a dot', 'machine.sysctls.a.b', [3, 5, true]],
    ['a field that the patch leaves out', 'machine.nodeLabels.other', [4, 3, false]],
  ])('%s has the line and column of its key', (_what, path, [line, column, isWhole]) => {
    expect(placeIn(body, path)).toEqual({ line, column, isWhole })
  })
  test('a path that the patch does not touch has no place', () => {
    expect(placeIn(body, 'cluster.network')).toBeNull()
  })
})
