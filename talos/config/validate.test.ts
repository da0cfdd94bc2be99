import { describe, expect, test } from 'vitest'
import { config, messages, secrets } from '../testing/generated.ts'
import { minors } from '../versions.ts'
import { mergePatches } from './merge.ts'
import { validateConfig } from './validate.ts'

describe('generated configurations', () => {
  test.each(
    minors.flatMap((m) => (['control_plane', 'worker'] as const).map((role) => [m, role] as const)),
  )('the configuration of Talos $0.minor for a $1 is valid', (minor, role) => {
    const yaml = config({
      role,
      talosVersion: minor.version,
      kubernetesVersion: minor.kubernetes,
      installImage: `factory.talos.dev/metal-installer/a:${minor.version}`,
    })
    expect(validateConfig(yaml, { talosVersion: minor.version })).toEqual({
      errors: [],
      warnings: [],
    })
  })

  test('a worker’s configuration has no private key of a certificate authority', () => {
    const worker = config({ role: 'worker' })
    for (const { key } of [
      secrets.certs.os,
      secrets.certs.k8s,
      secrets.certs.etcd,
      secrets.certs.k8sAggregator,
      secrets.certs.k8sServiceAccount,
    ]) {
      expect(worker).not.toContain(Buffer.from(key).toString('base64'))
    }
    expect(worker).not.toContain(secrets.secrets.secretboxEncryptionSecret)
    expect(config()).toContain(Buffer.from(secrets.certs.os.key).toString('base64'))
  })

  test('the configurations of Talos 1.12 and 1.13 differ in one line', () => {
    expect(config({ talosVersion: '1.12' }).replace('    network: {}\n', '')).toBe(config())
    expect(config({ talosVersion: '1.12', role: 'worker' })).toContain(
      '    network: {}\n    install:\n',
    )
  })

  test('networks, image, names and scheduling come from the input', () => {
    const yaml = config({
      podCidr: '10.1.0.0/16',
      serviceCidr: '10.2.0.0/16',
      installImage: 'factory.talos.dev/metal-installer/abc:v1.13.9',
      additionalSans: ['vip.example.com'],
      allowSchedulingOnControlPlanes: true,
    })
    expect(yaml).toContain(
      '        podSubnets:\n            - 10.1.0.0/16\n        serviceSubnets:\n            - 10.2.0.0/16\n',
    )
    expect(yaml).toContain(
      '        disk: /dev/sda\n        image: factory.talos.dev/metal-installer/abc:v1.13.9\n        wipe: false\n',
    )
    expect(yaml).toContain('    certSANs:\n        - vip.example.com\n')
    expect(yaml.match(/vip\.example\.com/g)).toHaveLength(2)
    expect(
      yaml.endsWith(
        '    allowSchedulingOnControlPlanes: true\n---\napiVersion: v1alpha1\nkind: HostnameConfig\nauto: stable\n',
      ),
    ).toBe(true)
  })

  test('unknown Talos versions are refused', () => {
    expect(() => config({ talosVersion: '1.11' })).toThrow(
      'No configuration is generated for Talos 1.11',
    )
    expect(validateConfig('a: b', { talosVersion: 'v1.20.0' }).errors).toEqual([
      { message: 'Talos v1.20.0 is not supported' },
    ])
  })
})

describe('loading', () => {
  test('if Talos can’t load a text, validation stops and reports why', () => {
    expect(validateConfig('machine: [', { talosVersion: '1.13' }).errors).not.toEqual([])
    expect(validateConfig('machine:\n  nope: 1\n', { talosVersion: '1.13' }).errors).toEqual([
      { message: 'Talos has no field machine.nope', path: 'machine.nope', line: 2, column: 3 },
    ])
    expect(
      validateConfig('machine: {}\n---\nmachine: {}\n', { talosVersion: '1.13' }).errors,
    ).toMatchObject([{ message: 'v1alpha1 is there twice', line: 3 }])
    expect(
      validateConfig('apiVersion: v1alpha1\nkind: HostnameConfig\nauto: stable\n', {
        talosVersion: '1.13',
      }).errors,
    ).toEqual([{ message: 'The machine’s main document is missing' }])
  })

  test('errors name their line in the text', () => {
    const yaml = config().replace('https://10.0.0.1:6443', 'ftp://10.0.0.1')
    const { errors } = validateConfig(yaml, { talosVersion: '1.13' })
    expect(errors).toEqual([
      {
        message: 'The endpoint has the scheme ftp; only http and https are possible',
        path: 'cluster.controlPlane.endpoint',
        line: yaml.split('\n').findIndex((l) => l.includes('ftp:')) + 1,
        column: 19,
      },
    ])
  })
})

describe('the main document', () => {
  test.each([
    [
      'a disk',
      'machine: {install: {disk: {$patch: delete}}}',
      'Say where Talos is installed: install.disk or install.diskSelector',
    ],
    [
      'the install section',
      'machine: {install: {$patch: delete}}',
      'The install section is missing',
    ],
    [
      'kernel arguments with the image’s own',
      'machine: {install: {extraKernelArgs: [a]}}',
      'extraKernelArgs and grubUseUKICmdline can’t be used together; put kernel arguments into the image',
    ],
    [
      'the size of a disk',
      'machine: {install: {diskSelector: {size: big}}}',
      'A size must be such as >= 100GB',
    ],
    [
      'machine.ca',
      'machine: {ca: {$patch: delete}}',
      'An authority is missing: machine.ca or machine.acceptedCAs',
    ],
    [
      'the key of machine.ca',
      'machine: {ca: {key: {$patch: delete}}}',
      'A control plane needs the key of machine.ca',
    ],
    ['the machine section', 'machine: {$patch: delete}', 'The machine section is missing'],
    [
      'the endpoint',
      'cluster: {controlPlane: {endpoint: {$patch: delete}}}',
      'cluster.controlPlane.endpoint is missing',
    ],
    ['the cluster section', 'cluster: {$patch: delete}', 'The cluster section is missing'],
    ['the DNS domain', 'cluster: {network: {dnsDomain: "a b"}}', 'a b is not a DNS name'],
    [
      'pod networks',
      'cluster: {network: {podSubnets: [10.0.0.0]}}',
      '10.0.0.0 is not a network in CIDR notation',
    ],
    [
      'urls of flannel',
      'cluster: {network: {cni: {name: flannel, urls: [a]}}}',
      'urls must be empty for the CNI flannel',
    ],
    [
      'arguments of flannel without it',
      'cluster: {network: {cni: {name: none, flannel: {extraArgs: [a]}}}}',
      'Arguments of flannel must be empty for the CNI none',
    ],
    [
      'the cluster’s id for discovery',
      'cluster: {id: {$patch: delete}}',
      'The discovery service needs cluster.id',
    ],
    [
      'a path of the discovery service',
      'cluster: {discovery: {registries: {service: {endpoint: "https://a/b"}}}}',
      'The discovery service’s endpoint must have no path',
    ],
    [
      'manifests twice',
      'cluster: {inlineManifests: [{name: a, contents: b}, {name: a, contents: c}]}',
      'The manifest a is there twice',
    ],
    [
      'manifests without a name',
      'cluster: {inlineManifests: [{contents: b}]}',
      'A manifest needs a name',
    ],
    [
      'a cloud provider that is off',
      'cluster: {externalCloudProvider: {enabled: false, manifests: ["https://a"]}}',
      'The external cloud provider has manifests but is disabled',
    ],
    [
      'etcd’s networks',
      'cluster: {etcd: {advertisedSubnets: [nope]}}',
      'nope is not a network or an address',
    ],
    [
      'the kubelet’s own fields',
      'machine: {kubelet: {extraConfig: {staticPodPath: /a}}}',
      'The kubelet’s field staticPodPath is Talos’s own',
    ],
    [
      'the kubelet’s networks',
      'machine: {kubelet: {nodeIP: {validSubnets: ["!10.0.0.0/33"]}}}',
      '!10.0.0.0/33 is not a network or an address',
    ],
    ['labels', 'machine: {nodeLabels: {a/b/c: x}}', 'a/b/c is not a label’s name'],
    ['values of labels', 'machine: {nodeLabels: {a: "b c"}}', 'b c is not a label’s value'],
    [
      'annotations',
      'machine: {nodeAnnotations: {talos.dev/owned-labels: x}}',
      'The annotation talos.dev/owned-labels is Talos’s own',
    ],
    [
      'taints',
      'machine: {nodeTaints: {a: "b:Maybe"}}',
      'A taint’s effect is NoSchedule, PreferNoSchedule or NoExecute',
    ],
    ['persist', 'persist: false', 'persist must not be switched off'],
    [
      'hostDNS',
      'machine: {features: {hostDNS: {enabled: false}}}',
      'forwardKubeDNSToHost needs hostDNS.enabled',
    ],
    [
      'roles for pods',
      'machine: {features: {kubernetesTalosAPIAccess: {enabled: true, allowedRoles: [os:king]}}}',
      'Talos has no role os:king',
    ],
    [
      'logs',
      'machine: {logging: {destinations: [{endpoint: "http://a", format: json_lines}]}}',
      'Logs go to a URL of tcp:// or udp://',
    ],
    [
      'partitions',
      'machine: {disks: [{device: /dev/sdb, partitions: [{mountpoint: /var/a}, {mountpoint: /var/b}]}]}',
      'Only the last partition of a disk can take the rest of it',
    ],
    [
      'encryption',
      'machine: {systemDiskEncryption: {state: {provider: luks2, keys: [{slot: 0}]}}}',
      'The key in slot 0 has no method',
    ],
    [
      'key slots',
      'machine: {systemDiskEncryption: {state: {provider: luks2, keys: [{slot: 0, nodeID: {}}, {slot: 0, nodeID: {}}]}}}',
      'The key slot 0 is there twice',
    ],
    [
      'Kubernetes versions',
      'machine: {kubelet: {image: "ghcr.io/siderolabs/kubelet:v1.30.0"}}',
      'Talos 1.13 runs Kubernetes 1.31 to 1.36, not 1.30.0',
    ],
    [
      'images without a tag',
      'cluster: {apiServer: {image: registry.k8s.io/kube-apiserver}}',
      'registry.k8s.io/kube-apiserver has no tag such as :v1.36.3',
    ],
    [
      'KubeSpan without discovery',
      'machine: {network: {kubespan: {enabled: true}}}\ncluster: {discovery: {enabled: false}}',
      'KubeSpan needs cluster.discovery',
    ],
    [
      'KubeSpan’s MTU',
      'machine: {network: {kubespan: {enabled: true, mtu: 1000}}}',
      'KubeSpan’s MTU must be at least 1280',
    ],
    [
      'interfaces without a name',
      'machine: {network: {interfaces: [{dhcp: true}]}}',
      'An interface needs a name or a deviceSelector',
    ],
    [
      'interfaces with both',
      'machine: {network: {interfaces: [{interface: a, deviceSelector: {driver: b}}]}}',
      'An interface has either a name or a deviceSelector',
    ],
    [
      'bond and bridge',
      'machine: {network: {interfaces: [{interface: a, bond: {mode: balance-rr, interfaces: [b]}, bridge: {interfaces: [c]}}]}}',
      'The interface a can’t be both a bond and a bridge',
    ],
    [
      'members twice',
      'machine: {network: {interfaces: [{interface: a, bridge: {interfaces: [x]}}, {interface: b, bridge: {interfaces: [x]}}]}}',
      'x is part of both a and b',
    ],
    [
      'members with addresses',
      'machine: {network: {interfaces: [{interface: a, bridge: {interfaces: [x]}}, {interface: x, dhcp: true}]}}',
      'x is part of a and can’t have addresses',
    ],
    [
      'addresses',
      'machine: {network: {interfaces: [{interface: a, addresses: [10.0.0.300/24]}]}}',
      '10.0.0.300/24 is not an address',
    ],
    [
      'addresses of VLANs',
      'machine: {network: {interfaces: [{interface: a, vlans: [{vlanId: 1, addresses: [x]}]}]}}',
      'x is not an address',
    ],
    [
      'routes',
      'machine: {network: {interfaces: [{interface: a, routes: [{metric: 5}]}]}}',
      'A route needs a network or a gateway',
    ],
    [
      'bond modes',
      'machine: {network: {interfaces: [{interface: a, bond: {mode: 802.3ad, lacpRate: soon, interfaces: [b]}}]}}',
      'lacpRate must be one of slow, fast',
    ],
    [
      'delays of a bond',
      'machine: {network: {interfaces: [{interface: a, bond: {mode: balance-rr, miimon: 100, updelay: 150, interfaces: [b]}}]}}',
      'updelay must be a multiple of miimon',
    ],
    [
      'what a mode has not',
      'machine: {network: {interfaces: [{interface: a, bond: {mode: balance-rr, lacpRate: fast, interfaces: [b]}}]}}',
      'lacpRate is not available in the mode balance-rr',
    ],
    [
      'WireGuard keys',
      'machine: {network: {interfaces: [{interface: wg0, wireguard: {privateKey: short}}]}}',
      'The private key is not 32 bytes in base64',
    ],
  ])('%s', (_, patch, message) => {
    expect(messages(patch)).toContain(message)
  })

  test.each([
    [
      'the key of machine.ca',
      'machine: {ca: {key: QQ==}}',
      'A worker must not have the key of machine.ca',
    ],
    [
      'the key of cluster.ca',
      'cluster: {ca: {key: QQ==}}',
      'A worker must not have the key of cluster.ca',
    ],
    ['etcd', 'cluster: {etcd: {ca: {crt: QQ==, key: QQ==}}}', 'A worker has no etcd section'],
    [
      'a virtual address',
      'machine: {network: {interfaces: [{interface: a, dhcp: true, vip: {ip: 10.0.0.9}}]}}',
      'Only control planes can share a virtual address',
    ],
    [
      'Talos’s API for pods',
      'machine: {features: {kubernetesTalosAPIAccess: {enabled: true}}}',
      'kubernetesTalosAPIAccess is possible on control planes only',
    ],
  ])('a worker can’t have: %s', (_, patch, message) => {
    expect(messages(patch, { role: 'worker' })).toContain(message)
  })

  test('a configuration for a container needs no disk, but must have hostDNS enabled', () => {
    const yaml = config({ installDisk: undefined })
    expect(validateConfig(yaml, { talosVersion: '1.13', inContainer: true }).errors).toEqual([])
    expect(
      validateConfig(
        mergePatches(yaml, [
          { name: 'p', body: 'machine: {features: {hostDNS: {$patch: delete}}}' },
        ]).yaml,
        {
          talosVersion: '1.13',
          inContainer: true,
        },
      ).errors,
    ).toHaveLength(2)
  })

  test('deprecated fields cause warnings', () => {
    const { yaml } = mergePatches(config(), [
      {
        name: 'p',
        body: 'machine: {type: init, install: {extensions: [{image: a}]}}\ncluster: {network: {cni: {name: custom}}}',
      },
    ])
    expect(validateConfig(yaml, { talosVersion: '1.13' })).toEqual({
      errors: [],
      warnings: [
        'Use "controlplane" instead of "init" as the machine type',
        'machine.install.extensions is deprecated: put extensions into the image',
        'A custom CNI should have urls',
      ],
    })
  })
})
