/**
 * The cases for which our code and Talos's are compared. Patches come from the model of the
 * documents, with a few values for each field, and from `known-patches.ts`, with combinations that
 * the model doesn't generate.
 */
import { stringify } from 'yaml'
import { type DocumentShape, documentShapes, mainDocument } from '#talos/config/model/documents.ts'
import type { Shape } from '#talos/config/model/shape.ts'
import { readSecrets } from '#talos/secrets/bundle.ts'
import { isSince } from '#talos/versions.ts'
import { bases, knownPatches, secretsYaml } from './known-patches.ts'
import { seededPatches } from './seeded-patches.ts'
import type { Cases, GenerateCase, PatchCase } from './compare.ts'

const secrets = readSecrets(secretsYaml)

/** Required fields by kind of document: without these fields, Talos can't load the document. */
const required: Readonly<Record<string, object>> = {
  VLANConfig: { vlanID: 5, parent: 'eno1' },
  BondConfig: { links: ['eno1', 'eno2'], bondMode: 'active-backup' },
  BridgeConfig: { links: ['eno1'] },
  VolumeConfig: { name: 'EPHEMERAL' },
  ExistingVolumeConfig: { discovery: { volumeSelector: { match: 'volume.name == "x"' } } },
  UserVolumeConfig: {
    provisioning: { diskSelector: { match: 'disk.size > 1u' }, minSize: '1GiB' },
  },
  RawVolumeConfig: { provisioning: { diskSelector: { match: 'disk.size > 1u' }, minSize: '1GiB' } },
  SwapVolumeConfig: {
    provisioning: { diskSelector: { match: 'disk.size > 1u' }, minSize: '1GiB' },
  },
  WatchdogTimerConfig: { device: '/dev/watchdog0' },
  EventSinkConfig: { endpoint: '10.0.0.1:5000' },
  KmsgLogConfig: { url: 'udp://10.0.0.1:514' },
  SideroLinkConfig: { apiUrl: 'https://link.example?jointoken=secret' },
  TrustedRootsConfig: { certificates: '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n' },
  PCIDriverRebindConfig: { targetDriver: 'vfio-pci' },
  RegistryTLSConfig: { ca: 'x' },
  RegistryAuthConfig: { username: 'u', password: 'p' },
  EnvironmentConfig: { variables: { A: 'b' } },
  ExtensionServiceConfig: { environment: ['A=b'] },
  RAIDArrayConfig: { provisioning: { volumeSelector: { match: 'disk.size > 1u' } } },
  LVMVolumeGroupConfig: { provisioning: { volumeSelector: { match: 'volume.name == "x"' } } },
  LVMLogicalVolumeConfig: { type: 'raid10', provisioning: { volumeGroup: 'vg', maxSize: '10GiB' } },
  HTTPProbeConfig: { url: 'https://a.example/x' },
  VethConfig: { peer: { name: 'other' } },
  BGPInstanceConfig: { localASN: 65_001 },
  DiscoveryServiceConfig: { endpoint: 'https://a.example/' },
  EtcFileConfig: { mode: 420, contents: 'x' },
  CRICustomizationConfig: { content: 'x' },
  ContainerConfig: { image: 'docker.io/library/nginx:1.27' },
  KubeStaticPodConfig: { pod: { kind: 'Pod' } },
  KubeCredentialProviderConfig: { configuration: { kind: 'CredentialProviderConfig' } },
  KubeAPIServerCAConfig: { acceptedCAs: [secrets.certs.k8s.crt] },
  KubeAdmissionControlConfig: { configuration: { a: 1 } },
  KubeAuthorizerConfig: { type: 'RBAC' },
  KubeExternalManifestConfig: { url: 'https://a.example/x' },
  KubeInlineManifestConfig: { manifest: 'kind: Namespace\n' },
}

/**
 * A few values for a field of this shape: ordinary values, the zero value, and values that should
 * be refused.
 */
function valuesOf(shape: Shape, depth = 0): unknown[] {
  switch (shape.is) {
    case 'text':
      return shape.values
        ? [...shape.values.slice(0, 2), 'bogus', '']
        : ['', 'some-text', '10.1.2.3/24', '5s']
    case 'integer':
      return [0, 1, -1, 70_000]
    case 'flag':
      return [true, false]
    case 'free':
      return [{ a: { b: 1 } }]
    case 'argument':
      return ['x', ['x', 'y'], '']
    case 'port':
      return [80, '80-90', 'x']
    case 'list':
      return [[], ...(depth > 3 ? [] : valuesOf(shape.of, depth + 1).map((value) => [value]))]
    case 'map':
      return [
        {},
        ...(depth > 3 ? [] : valuesOf(shape.of, depth + 1).map((value) => ({ key: value }))),
      ]
    default:
      return [
        {},
        ...Object.entries(shape.fields).flatMap(([key, field]) =>
          depth > 3 ? [] : valuesOf(field, depth + 1).map((value) => ({ [key]: value })),
        ),
      ]
  }
}

/** The path of each field below `shape`, once for each value to test. */
function fieldsOf(
  shape: Shape,
  path: readonly string[] = [],
): { path: readonly string[]; value: unknown }[] {
  if (shape.is === 'object' && path.length < 4)
    return [
      ...(path.length > 0 ? [{ path, value: {} }] : []),
      ...Object.entries(shape.fields).flatMap(([key, field]) => fieldsOf(field, [...path, key])),
    ]
  return valuesOf(shape).map((value) => ({ path, value }))
}

const nested = (path: readonly string[], value: unknown): unknown =>
  path.reduceRight((inner, key) => ({ [key]: inner }), value)
const yaml = (value: unknown) => stringify(value, { lineWidth: 0 })

/** Where a document is patched in: since 1.14, into a configuration of documents. */
function baseOf({ since, controlPlaneOnly }: DocumentShape): Pick<PatchCase, 'base' | 'since'> {
  if (since === undefined || !isSince(since, '1.14')) return { base: 'worker' }
  const role = controlPlaneOnly === true ? 'controlplane' : 'worker'
  return { base: `${role} of documents`, since: '1.14' }
}

function modelPatches(): PatchCase[] {
  const found: PatchCase[] = []
  const ofDocuments = { base: 'controlplane of documents', since: '1.14' } as const
  for (const { path, value } of fieldsOf(mainDocument.shape))
    for (const [where, base] of [
      ['', { base: 'controlplane' }],
      [' beside documents', ofDocuments],
    ] as const)
      found.push({
        id: `main/${path.join('.')}=${JSON.stringify(value)}${where}`,
        ...base,
        patches: [yaml(nested(path, value))],
      })
  for (const document of documentShapes.values()) {
    const { kind, named, shape } = document
    const base = baseOf(document)
    const head = {
      apiVersion: 'v1alpha1',
      kind,
      ...(named ? { name: 'thing' } : {}),
      ...required[kind],
    }
    // Older minors refuse a newer document.
    found.push({ id: `${kind}/alone`, base: 'worker', patches: [yaml(head)] })
    if (base.since !== undefined)
      found.push({ id: `${kind}/alone beside documents`, ...base, patches: [yaml(head)] })
    for (const { path, value } of fieldsOf(shape)) {
      if (path[0] === 'apiVersion' || path[0] === 'kind') continue
      const patch = yaml({ ...head, ...(nested(path, value) as object) })
      const id = `${kind}/${path.join('.')}=${JSON.stringify(value)}`
      found.push({ id, ...base, patches: [patch] })
      found.push({ id: `${id} after itself`, ...base, patches: [yaml(head), patch] })
    }
  }
  return found
}

const roles = ['control_plane', 'worker'] as const
const endpoints = [
  'https://10.0.0.10:6443',
  'https://cluster.example.org:443',
  'https://[fd00::10]:6443',
]
const variants: Partial<GenerateCase>[] = [
  {},
  { podCidr: '10.12.0.0/16', serviceCidr: '10.13.0.0/16' },
  { podCidr: 'fd00:1::/64', serviceCidr: 'fd00:2::/112' },
  { dnsDomain: 'rack.local' },
  {
    installDisk: '/dev/nvme0n1',
    installImage:
      'factory.example/metal-installer/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba:v1.13.9',
  },
  { installDisk: '/dev/sda' },
  { additionalSans: ['10.0.0.10', 'cluster.example.org', 'fd00::10'] },
  { allowSchedulingOnControlPlanes: true },
  { clusterName: 'a name with "quotes": and #signs' },
  { clusterName: '123' },
  { clusterName: 'true' },
  { clusterName: 'yes' },
  { kubernetesVersion: '1.35.0' },
  { kubernetesVersion: '1.34.2' },
]

function generations(): GenerateCase[] {
  return roles.flatMap((role) =>
    endpoints.flatMap((endpoint) =>
      variants.map((variant, i) => ({
        id: `${role} ${endpoint} ${i}`,
        role,
        clusterName: 'rack-1',
        endpoint,
        kubernetesVersion: '1.35.4',
        // Set, because Talos's default is the image of its own version.
        installImage: 'ghcr.io/siderolabs/installer:v1.12.0',
        ...variant,
      })),
    ),
  )
}

/** All cases. Deterministic. */
export function allCases(): Cases {
  return {
    secrets: secretsYaml,
    generate: generations(),
    bases,
    patches: [...knownPatches(), ...modelPatches(), ...seededPatches(required)],
  }
}
