import { parseAllDocuments, stringify } from 'yaml'
import { describe, expect, test } from 'vitest'
import { generateConfig } from '#talos/config/generate.ts'
import { generateSecrets } from '#talos/secrets/bundle.ts'
import { readyKeys } from '#talos/testing/keys.ts'
import { hardwareOf } from '../fleet/hardware.ts'
import { celProblem, matchingDisks } from './cel/cel.ts'
import { bootProblem, judgeConfig } from './judge.ts'
import { ConfigError, loadConfig } from './load.ts'
import { readNodeConfig } from './node-config.ts'
import { type Body, object, text as textOf } from './shape.ts'
import { hostVersionProblem, minorOf } from './versions.ts'

const TALOS = 'v1.14.1'
const { disks } = hardwareOf('seed', 0, 'dell-r650')
const bundle = await generateSecrets({
  now: new Date(),
  contract: 'v1.13',
  keys: await readyKeys(),
})
const generated = (
  talosVersion: string,
  role: 'control_plane' | 'worker' = 'control_plane',
  kubernetesVersion = '1.36.3',
): string =>
  generateConfig({
    role,
    clusterName: 'blue-fox',
    endpoint: 'https://10.0.0.10:6443',
    talosVersion,
    kubernetesVersion,
    secrets: bundle,
    installDisk: '/dev/sda',
    installImage: `factory.talos.dev/metal-installer/abc:${talosVersion}`,
    additionalSans: ['api.example.org'],
  })

const judged = (text: string, talosVersion = TALOS) =>
  judgeConfig(loadConfig(text, minorOf(talosVersion)), { talosVersion, installed: false, disks })
const errorsOf = (text: string, talosVersion = TALOS): string[] => judged(text, talosVersion).errors

/** The configuration with changed documents; the main one has the kind ''. */
const changed = (text: string, change: (documents: Map<string, Body>) => void): string => {
  const parsed = parseAllDocuments(text)
  const bodies = Array.isArray(parsed) ? parsed.map((one) => one.toJS() as Body) : []
  const documents = new Map(
    bodies.map((body) => [`${textOf(body['kind'])}${textOf(body['name'])}`, body]),
  )
  change(documents)
  return [...documents.values()].map((body) => stringify(body)).join('---\n')
}
const withMain = (text: string, set: (machine: Body, cluster: Body) => void): string =>
  changed(text, (documents) => {
    const main = documents.get('')!
    set(object(main['machine']), object(main['cluster']))
  })
const plus = (text: string, kind: string, rest: Body): string =>
  `${text}---\n${stringify({ apiVersion: 'v1alpha1', kind, ...rest })}`

const NEW = generated(TALOS)
const OLD = generated('v1.13.9')

describe('a generated configuration of Talos 1.14', () => {
  test.each(['control_plane', 'worker'] as const)('is accepted for a %s', (role) => {
    expect(judged(generated(TALOS, role))).toMatchObject({ errors: [], warnings: [] })
  })

  test.each(['control_plane', 'worker'] as const)(
    'says the same of a %s as one of Talos 1.13, which 1.14 accepts too',
    (role) => {
      const [older, newer] = [generated('v1.13.9', role), generated(TALOS, role)].map((text) =>
        readNodeConfig(loadConfig(text, 14))!,
      )
      expect(errorsOf(generated('v1.13.9', role))).toEqual([])
      // Only the homes of the installation and of files differ, and a new cluster needs no provider
      // that reads plain Secrets.
      const { install: _, kubelet: __, ...rest } = older!
      const { encryption, staticPods, staticPodFiles: ___, cni, ...cluster } = rest.cluster
      expect(newer).toMatchObject({ ...rest, cluster })
      // A worker's document doesn't say which network control planes install.
      expect(newer!.cluster.cni).toBe(role === 'worker' ? 'none' : cni)
      expect(newer!.cluster.staticPods['kube-apiserver'].image).toBe(
        staticPods['kube-apiserver'].image,
      )
      const identity = { kind: 'identity', name: '', secret: '' }
      expect(role === 'worker' ? encryption : [...newer!.cluster.encryption, identity]).toEqual(
        encryption,
      )
    },
  )

  test('is unknown to Talos 1.13', () => {
    expect(() => loadConfig(NEW, 13)).toThrow('not registered')
    const circumstances = { talosVersion: 'v1.13.9', installed: true, disks }
    expect(bootProblem(NEW, circumstances)).toMatch(/^failed to load config from STATE: .*not regi/)
    expect(bootProblem(OLD, circumstances)).toBeNull()
  })
})

describe('a setting in both homes', () => {
  test.each<[kind: string, set: (machine: Body, cluster: Body) => void, message: string]>([
    ['KubeAPIServerConfig', (_, c) => (c['apiServer'] = {}), '.cluster.apiServer'],
    ['KubeAPIServerCAConfig', (_, c) => (c['ca'] = {}), '.cluster.ca'],
    ['KubeAggregatorCAConfig', (_, c) => (c['aggregatorCA'] = {}), '.cluster.aggregatorCA'],
    [
      'KubeControllerManagerConfig',
      (_, c) => (c['controllerManager'] = {}),
      '.cluster.controllerManager',
    ],
    ['KubeSchedulerConfig', (_, c) => (c['scheduler'] = {}), '.cluster.scheduler'],
    ['KubeProxyConfig', (_, c) => (c['proxy'] = {}), '.machine.cluster.proxy'],
    ['KubeCoreDNSConfig', (_, c) => (c['coreDNS'] = {}), '.cluster.coreDNS'],
    ['KubeNetworkConfig', (_, c) => (c['network'] = {}), '.machine.cluster.network'],
    ['KubeClusterConfig', (_, c) => (c['clusterName'] = 'other'), '.cluster.clusterName'],
    [
      'KubeEtcdEncryptionConfig',
      (_, c) => (c['secretboxEncryptionSecret'] = 'x'),
      'etcd encryption',
    ],
    ['DiscoveryServiceConfig', (_, c) => (c['discovery'] = {}), '.cluster.discovery'],
    ['DiscoveryIdentityConfig', (_, c) => (c['id'] = 'x'), '.cluster.id'],
    ['KubeletConfig', (m) => (m['kubelet'] = {}), '.machine.kubelet'],
    ['KubeNodeConfig', (m) => (m['nodeLabels'] = {}), '.machine.nodeLabels'],
    [
      'KubeNodeConfig',
      (_, c) => (c['allowSchedulingOnControlPlanes'] = false),
      '.cluster.allowSchedulingOnControlPlanes',
    ],
    [
      'KubePrismConfig',
      (m) => (object(m['features'])['kubePrism'] = {}),
      '.machine.features.kubePrism',
    ],
    ['ResolverConfig', (m) => (object(m['features'])['hostDNS'] = {}), '.machine.features.hostDNS'],
    ['UnattendedInstallConfig', (m) => (m['install'] = { disk: '/dev/sda' }), '.machine.install'],
    [
      'KubeAuthorizerConfig',
      (_, c) => (c['apiServer'] = { admissionControl: [{ name: 'PodSecurity' }] }),
      'admission control',
    ],
  ])('is refused: %s', (_kind, set, message) => {
    expect(errorsOf(withMain(NEW, set)).join('\n')).toContain(message)
  })

  test.each<[what: string, set: (machine: Body, cluster: Body) => void]>([
    ['accepted authorities', (_, c) => (c['acceptedCAs'] = [])],
    ['kernel parameters', (m) => (m['sysctls'] = { 'kernel.panic': '7' })],
    ['modules of the kernel', (m) => (m['kernel'] = { modules: [{ name: 'nvme' }] })],
    ['manifests', (_, c) => (c['inlineManifests'] = [{ name: 'one', contents: '' }])],
    ['no section', (_, c) => (c['apiServer'] = null)],
  ])('is accepted for %s', (_what, set) => {
    const both = plus(
      plus(NEW, 'SysctlConfig', { params: { 'kernel.panic': '8' } }),
      'KubeInlineManifestConfig',
      { name: 'two', manifest: '' },
    )
    const text = withMain(plus(both, 'KernelModuleConfig', { name: 'nvme' }), set)
    expect(errorsOf(text)).toEqual([])
  })

  test('joins manifests, and takes accepted authorities of the document only', () => {
    const text = withMain(plus(NEW, 'KubeInlineManifestConfig', { name: 'two' }), (_, cluster) => {
      cluster['inlineManifests'] = [{ name: 'one', contents: '' }]
      cluster['acceptedCAs'] = [{ crt: Buffer.from('ignored').toString('base64') }]
    })
    const { cluster } = readNodeConfig(loadConfig(text, 14))!
    expect(cluster.manifests.map(({ name }) => name)).toEqual(['one', 'two'])
    expect(cluster.acceptedCas).toEqual([])
  })
})

describe('rules of the whole configuration', () => {
  const without = (text: string, kind: string) =>
    changed(text, (documents) => documents.delete(kind))
  test.each<[what: string, text: string, message: string]>([
    [
      'a worker with documents of a control plane',
      `${generated(TALOS, 'worker')}---\n${stringify({ apiVersion: 'v1alpha1', kind: 'KubeCoreDNSConfig' })}---\n${stringify({ apiVersion: 'v1alpha1', kind: 'KubeAuthorizerConfig', name: 'rbac', type: 'RBAC' })}`,
      'only allowed on control plane machines: [KubeAuthorizerConfig KubeCoreDNSConfig]',
    ],
    [
      'Secrets without an encryption',
      without(NEW, 'KubeEtcdEncryptionConfig'),
      'etcd encryption config is required',
    ],
    [
      'Kubernetes without an endpoint',
      without(NEW, 'KubeClusterConfig'),
      'cluster name and endpoint are required',
    ],
    [
      'discovery without an identity',
      without(NEW, 'DiscoveryIdentityConfig'),
      'cluster ID (.cluster.id or DiscoveryIdentityConfig) should be set',
    ],
    [
      'an old service account without its endpoint',
      withMain(NEW, (_, cluster) => (cluster['serviceAccount'] = { key: 'x' })),
      '.cluster.serviceAccount requires the cluster endpoint',
    ],
    [
      'encrypted name servers without a host DNS',
      changed(NEW, (documents) =>
        documents.set('ResolverConfig', {
          apiVersion: 'v1alpha1',
          kind: 'ResolverConfig',
          nameservers: [{ address: '1.1.1.1', protocol: 'DoT', tlsServerName: 'one.one' }],
        }),
      ),
      'hostDNS must be enabled when using non-default DNS protocols',
    ],
  ])('refuse %s', (_what, text, message) => {
    expect(errorsOf(text).join('\n')).toContain(message)
  })

  test('a missing label of a control plane is a warning', () => {
    const text = changed(NEW, (documents) =>
      documents.set('KubeNodeConfig', { apiVersion: 'v1alpha1', kind: 'KubeNodeConfig' }),
    )
    expect(judged(text)).toMatchObject({
      errors: [],
      warnings: [expect.stringMatching(/^KubeNodeConfig document should set/)],
    })
    expect(readNodeConfig(loadConfig(text, 14))!.nodeTaints).toEqual({})
  })

  test('no section and no document for an installation is needed', () => {
    expect(errorsOf(without(NEW, 'UnattendedInstallConfig'))).toEqual([])
    expect(
      readNodeConfig(loadConfig(without(NEW, 'UnattendedInstallConfig'), 14))!.install,
    ).toBeNull()
  })
})

describe('documents', () => {
  test.each<[what: string, kind: string, body: Body, message: string]>([
    [
      'an argument of another document',
      'KubeAPIServerConfig',
      { image: 'registry.k8s.io/kube-apiserver:v1.36.3', extraArgs: { 'oidc-issuer-url': 'x' } },
      'kube-apiserver extra argument "oidc-issuer-url" is not allowed: use KubeAuthenticationConfig',
    ],
    [
      'a protected field of the kubelet',
      'KubeletConfig',
      { image: 'ghcr.io/siderolabs/kubelet:v1.36.3', config: { port: 1 } },
      'kubelet configuration field "port" can\'t be overridden',
    ],
    ['no image', 'KubeletConfig', {}, 'kubelet image cannot be empty'],
    [
      'an old Kubernetes',
      'KubeletConfig',
      { image: 'ghcr.io/siderolabs/kubelet:v1.31.14' },
      'version of Kubernetes 1.31.14 is too old to be used with Talos 1.14.1',
    ],
    [
      'no expression',
      'UnattendedInstallConfig',
      { provisioning: {} },
      'provisioning.diskSelector.match is required',
    ],
    [
      'an expression that is no CEL',
      'UnattendedInstallConfig',
      { provisioning: { diskSelector: { match: 'disk.nonsense == 1' } } },
      "provisioning.diskSelector.match: undefined field 'nonsense'",
    ],
    [
      'an authority without its key',
      'KubeAPIServerCAConfig',
      { issuingCA: { cert: '-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n' } },
      'issuing CA: key: no PEM blocks found',
    ],
    ['a port of 0', 'KubePrismConfig', {}, 'invalid port 0: must be in range 1-65535'],
  ])('with %s are refused', (_what, kind, body, message) => {
    const text = changed(NEW, (documents) =>
      documents.set(kind, { apiVersion: 'v1alpha1', kind, ...body }),
    )
    expect(errorsOf(text).join('\n')).toContain(message)
  })

  test('with an empty entry in a list of sections are refused since Talos 1.14', () => {
    const text = withMain(OLD, (machine) => (machine['disks'] = [null]))
    expect(() => loadConfig(text, 14)).toThrow(ConfigError)
    expect(() => loadConfig(text, 14)).toThrow('machine.disks[0]')
  })
})

test('Talos 1.14 refuses Kubernetes 1.31 and 1.38, also of a stored configuration', () => {
  const circumstances = { talosVersion: TALOS, installed: true, disks }
  for (const [version, reason] of [
    ['1.31.14', 'old'],
    ['1.38.0', 'new'],
  ] as const) {
    const problem = `version of Kubernetes ${version} is too ${reason} to be used with Talos 1.14.1`
    for (const text of [OLD, NEW]) {
      const other = text.replaceAll(':v1.36.3', `:v${version}`)
      expect(errorsOf(other).join('\n')).toContain(problem)
      expect(bootProblem(other, circumstances)).toContain(problem)
    }
  }
  expect(
    bootProblem(OLD.replaceAll(':v1.36.3', ':v1.31.14'), {
      ...circumstances,
      talosVersion: 'v1.13.9',
    }),
  ).toBeNull()
})

test('an installer accepts the two minors before its own and the one after it', () => {
  expect(hostVersionProblem('v1.11.6', 'v1.14.1')).toBe(
    'host version 1.11.6 is too old to upgrade to Talos 1.14.1',
  )
  expect(hostVersionProblem('v1.12.11', 'v1.14.1')).toBeNull()
  expect(hostVersionProblem('v1.14.1', 'v1.13.9')).toBeNull()
  expect(hostVersionProblem('v1.14.1', 'v1.12.11')).toBe(
    'host version 1.14.1 is too new to downgrade to Talos 1.12.11',
  )
})

describe('expressions that select disks', () => {
  const [first, second] = disks
  test.each<[match: string, found: number]>([
    [`disk.dev_path == "/dev/${first!.name}"`, 1],
    [`disk.wwid == '${second!.wwid}' && !disk.rotational`, second!.rotational ? 0 : 1],
    ['disk.size > 0u', disks.length],
    ['disk.size < 1u * TiB || disk.size >= 1u * TiB', disks.length],
    ['glob("*", disk.model) && !(disk.transport in ["usb", "mmc"])', disks.length],
    ['disk.dev_path.startsWith("/dev/none")', 0],
    ['"/dev/x" in disk.symlinks', 0],
  ])('%s', (match, found) => {
    expect(celProblem(match, 'disk', 14)).toBeNull()
    expect(matchingDisks(match, disks)).toHaveLength(found)
  })
  test.each([
    ['disk.size', 'expression output type is uint, expected bool'],
    ['disk.size == "1"', "found no matching overload for '_==_' applied to '(uint, string)'"],
    ['disk.size > 1.5e9', "found no matching overload for '_>_' applied to '(uint, double)'"],
    ['disk.path == "x"', "undefined field 'path'"],
    ['disk.dev_path ==', "Syntax error: mismatched input '<EOF>'"],
    ['volume.name == "x"', "undeclared reference to 'volume' (in container '')"],
  ])('%s is refused', (match, problem) => {
    expect(celProblem(match, 'disk', 14)).toBe(problem)
  })
})

describe('documents of arrays and volumes', () => {
  const array = 'kind: RAIDArrayConfig\nname: data\nlevel: raid1\n'
  const group = 'kind: LVMVolumeGroupConfig\nname: pool\n'
  const members = (match: string) => `provisioning: {volumeSelector: {match: ${match}}}\n`
  const volume = (more: string, maxSize = '1GiB') =>
    `kind: LVMLogicalVolumeConfig\nname: data\n${more}\nprovisioning: {volumeGroup: pool, maxSize: ${maxSize}}\n`
  const all = members('volume_id == "r-data"')
  const errorsWith = (...documents: string[]): string[] =>
    errorsOf(
      generated(TALOS, 'worker') +
        documents.map((document) => `---\napiVersion: v1alpha1\n${document}`).join(''),
    )
  test('right ones are accepted', () => {
    const striped = volume('type: raid10\nmirrors: 1\nstripes: 2')
    expect(errorsWith(`${array}${all}`, `${group}${all}`, striped)).toEqual([])
  })
  test.each([
    [
      `${array}${all}`.replace('name: data', 'name: a b'),
      'name can only contain ASCII letters, digits, hyphens and underscores',
    ],
    [`${array}${all}`.replace('raid1', 'raid5'), 'raid5 does not belong to MDLevel values'],
    [
      `${array}${members('disk.nonsense == 1')}`,
      "provisioning.volumeSelector.match: undefined field 'nonsense'",
    ],
    [group, 'provisioning.volumeSelector.match is required'],
    [
      `${group}${all}`.replace('pool', 'x'.repeat(64)),
      'name must be between 1 and 63 characters long',
    ],
    [volume('mirrors: 1'), 'mirrors is only valid for raid1/raid10, not linear'],
    [volume('type: raid0\nstripes: 1'), 'stripes must be at least 2'],
    [volume('type: linear', '-1GiB'), 'provisioning.maxSize must not be negative'],
  ])('%s', (document, problem) => {
    expect(errorsWith(document).join('\n')).toContain(problem)
  })
})
