/**
 * The cases for which our code and Talos's are compared. Patches come from the model of the
 * documents, with a few values for each field, and from `known-patches.ts`, with combinations that
 * the model doesn't generate.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { documentShapes, mainDocument } from '#talos/config/model/documents.ts'
import type { Shape } from '#talos/config/model/shape.ts'
import { bases, knownPatches } from './known-patches.ts'
import type { Cases, GenerateCase, PatchCase } from './compare.ts'

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

function modelPatches(): PatchCase[] {
  const found: PatchCase[] = []
  for (const { path, value } of fieldsOf(mainDocument.shape))
    found.push({
      id: `main/${path.join('.')}=${JSON.stringify(value)}`,
      base: 'controlplane',
      patches: [yaml(nested(path, value))],
    })
  for (const [kind, { named, shape }] of documentShapes) {
    const head = {
      apiVersion: 'v1alpha1',
      kind,
      ...(named ? { name: 'thing' } : {}),
      ...required[kind],
    }
    found.push({ id: `${kind}/alone`, base: 'worker', patches: [yaml(head)] })
    for (const { path, value } of fieldsOf(shape)) {
      if (path[0] === 'apiVersion' || path[0] === 'kind') continue
      const patch = yaml({ ...head, ...(nested(path, value) as object) })
      found.push({
        id: `${kind}/${path.join('.')}=${JSON.stringify(value)}`,
        base: 'worker',
        patches: [patch],
      })
      found.push({
        id: `${kind}/${path.join('.')}=${JSON.stringify(value)} after itself`,
        base: 'worker',
        patches: [yaml(head), patch],
      })
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
  const secrets = readFileSync(join(import.meta.dirname, 'secrets.yaml'), 'utf8')
  return {
    secrets,
    generate: generations(),
    bases,
    patches: [...knownPatches(), ...modelPatches()],
  }
}
