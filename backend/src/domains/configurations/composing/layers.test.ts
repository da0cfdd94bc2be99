import { expect, test } from 'vitest'
import { homesOf } from '#talos/facts/patch.ts'
import { config } from '#talos/testing/generated.ts'
import { defaultNode, inOrder, type RenderContext, staticSystem } from './layers.ts'
import { compose } from './render.ts'

const server = {
  name: 'calm-oak-001',
  address: '10.0.0.5',
  link: 'eth0',
  links: [
    { name: 'eth0', up: true, physical: true, hardware_addr: null, addresses: ['10.0.0.5/24'] },
    { name: 'eth1', up: true, physical: true, hardware_addr: null, addresses: [] },
    { name: 'eth2', up: true, physical: true, hardware_addr: null, addresses: ['10.2.0.5/24'] },
    { name: 'bond0', up: true, physical: false, hardware_addr: null, addresses: ['10.3.0.5/24'] },
  ],
}
const context: RenderContext = {
  homes: [],
  role: 'control_plane',
  talosVersion: 'v1.13.9',
  installDisk: '/dev/nvme0n1',
  installImage: 'factory.talos.dev/metal-installer/abc:v1.13.9',
  endpoint: 'https://10.0.0.100:6443',
  endpointHost: '10.0.0.100',
  controlPlaneAddresses: ['10.0.0.5', '10.0.0.6'],
  virtualIps: ['10.0.0.100'],
}

test('the layer static-system of a control plane has disk, image, certificate names, host name and virtual address', () => {
  expect(staticSystem(server, context).body).toBe(`machine:
  install:
    disk: /dev/nvme0n1
    image: factory.talos.dev/metal-installer/abc:v1.13.9
  certSANs:
    - 10.0.0.100
    - 10.0.0.5
    - 10.0.0.6
cluster:
  apiServer:
    certSANs:
      - 10.0.0.100
      - 10.0.0.5
      - 10.0.0.6
---
apiVersion: v1alpha1
kind: HostnameConfig
hostname: calm-oak-001
auto: off
---
apiVersion: v1alpha1
kind: Layer2VIPConfig
name: 10.0.0.100
link: eth0
`)
})

test('the layer static-system sets names and images in the documents of its base', () => {
  const homes = ['UnattendedInstallConfig', 'KubeAPIServerConfig', 'KubeletConfig']
  const images = { kubelet: 'ghcr.io/siderolabs/kubelet:v1.37.1' }
  const { body } = staticSystem(server, { ...context, homes, images })
  const [main, install, apiServer, kubelet] = body.split('---\n')
  expect(main).toBe('machine:\n  certSANs:\n    - 10.0.0.100\n    - 10.0.0.5\n    - 10.0.0.6\n')
  expect(install).toContain('match: disk.dev_path == "/dev/nvme0n1"\n  wipe: false\n')
  expect(apiServer).toContain('certExtraSANs:\n  - 10.0.0.100\n')
  expect(kubelet).toContain(`image: ${images.kubelet}\n`)
  const adopted = staticSystem(server, { ...context, homes, images, isAdopted: true })
  expect(adopted.body).toBe(kubelet)
})

test('API servers with documents accept the tokens that former endpoints have issued', () => {
  const [former, other] = ['https://10.0.0.9:6443', 'https://api.example.org:6443']
  const formerIssuers = [context.endpoint, former, other]
  const acceptedBy = (talosVersion: string, more: Partial<RenderContext> = {}) => {
    const base = config({ talosVersion, endpoint: context.endpoint })
    const generated = {
      ...context,
      talosVersion: '1.14',
      homes: homesOf(base),
      formerIssuers,
      ...more,
    }
    const known = { talosVersion: '1.14', isMoved: generated.isMoved }
    const { yaml, errors } = compose(base, [staticSystem(server, generated)], known)
    expect(errors).toEqual([])
    return /accepted:(?:\n {4}.*)+/.exec(yaml)?.[0]
  }
  const told = `accepted:
    issuers:
        - ${former}
        - ${other}
    audiences:
        - ${context.endpoint}
        - ${former}
        - ${other}`
  expect(acceptedBy('1.14')).toBe(told)
  expect(acceptedBy('1.13', { isMoved: true })).toBe(told)
  // The endpoint alone is the issuer, and the main document has no other one.
  expect(acceptedBy('1.14', { formerIssuers: [context.endpoint] })).toBeUndefined()
  expect(acceptedBy('1.13')).toBeUndefined()
  expect(
    staticSystem(server, { ...context, isMoved: true, formerIssuers, role: 'worker' }).body,
  ).not.toContain('KubeServiceAccountConfig')
})

test('the layer static-system of a worker has no settings of a control plane', () => {
  const { body } = staticSystem(server, { ...context, role: 'worker' })
  expect(body).not.toContain('apiServer')
  expect(body).not.toContain('Layer2VIPConfig')
  expect(body).toContain('certSANs:\n    - 10.0.0.5\n')
})

test('the layer default-node is empty without a VLAN', () => {
  expect(defaultNode(server, {}).body).toBe('')
})

test('with a VLAN every link with an address keeps DHCP, and the parent link is brought up', () => {
  expect(defaultNode(server, { vlanId: 100, workloadInterface: 'eth1' }).body)
    .toBe(`apiVersion: v1alpha1
kind: VLANConfig
name: vlan100
vlanID: 100
parent: eth1
up: true
---
apiVersion: v1alpha1
kind: DHCPv4Config
name: eth0
---
apiVersion: v1alpha1
kind: DHCPv4Config
name: eth2
---
apiVersion: v1alpha1
kind: LinkConfig
name: eth1
up: true
`)
})

test('patches are merged by weight, shared ones first, then by age, then id; unsaved patches come last', () => {
  const at = (second: number) => new Date(second * 1000)
  const patches: Parameters<typeof inOrder>[0] = [
    { id: 'd', weight: 500, created_at: null },
    { id: 'c', weight: 500, created_at: at(2) },
    { id: 'b', weight: 500, created_at: at(1) },
    { id: 'a', weight: 500, created_at: at(2) },
    { id: 'e', weight: 1, created_at: at(9) },
    { id: 'f', weight: 500, created_at: at(3), isShared: true },
  ]
  expect(inOrder(patches).map((p) => p.id)).toEqual(['e', 'f', 'b', 'a', 'c', 'd'])
})
