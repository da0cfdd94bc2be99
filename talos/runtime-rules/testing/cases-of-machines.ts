/** Like `cases.ts`, for rules that need a machine: patches, and what is known of the machine. */
import type { Inventory } from '../known.ts'

export interface MachineCase {
  readonly bad: readonly string[]
  readonly good: readonly string[]
  /** What is known besides the usual. */
  readonly of?: Partial<Inventory>
}

const gib = 1024 ** 3
const kubelet = (config: string): string => `machine: {kubelet: {extraConfig: {${config}}}}`
const argument = (args: string): string => `machine: {kubelet: {extraArgs: {${args}}}}`
const kubeletDocument = (config: string): string =>
  `apiVersion: v1alpha1\nkind: KubeletConfig\nconfig: {${config}}\n`
const encrypted = (name: string, keys: string): string =>
  `apiVersion: v1alpha1\nkind: VolumeConfig\nname: ${name}\nencryption: {provider: luks2, keys: [${keys}]}\n`
const firewall = (subnets: string, ingress = 'block'): string =>
  `apiVersion: v1alpha1\nkind: NetworkDefaultActionConfig\ningress: ${ingress}\n---\napiVersion: v1alpha1\nkind: NetworkRuleConfig\nname: pods\nportSelector: {ports: [4789], protocol: udp}\ningress: [${subnets}]\n`
const service = (name: string): string =>
  `apiVersion: v1alpha1\nkind: ExtensionServiceConfig\nname: ${name}\nenvironment: [A=b]\n`
const providers = (name: string): string =>
  `machine: {kubelet: {credentialProviderConfig: {apiVersion: kubelet.config.k8s.io/v1, kind: CredentialProviderConfig, providers: [{name: ${name}, matchImages: ["*.example.org"], defaultCacheDuration: 12h, apiVersion: credentialprovider.kubelet.k8s.io/v1}]}}}`
const resolver = (address: string): string =>
  `apiVersion: v1alpha1\nkind: ResolverConfig\nnameservers: [{address: "${address}"}]\n`

const addressed = (address: string): string =>
  `apiVersion: v1alpha1\nkind: LinkConfig\nname: enp1s0f1\naddresses: [{address: "${address}"}]\n`
const [key, otherKey] = ['A', 'C'].map((letter) => `${letter.repeat(42)}A=`) as [string, string]
const wireguard = (privateKey: string): string =>
  `apiVersion: v1alpha1\nkind: WireguardConfig\nname: wg0\nprivateKey: ${privateKey}\n`
const oldWireguard = (privateKey: string): string =>
  `machine: {network: {interfaces: [{interface: wg0, wireguard: {privateKey: ${privateKey}}}]}}`
/** EPHEMERAL with its largest size, and volumes with their least ones. */
const onSystemDisk = (most: string, ...least: readonly string[]): string =>
  [
    `apiVersion: v1alpha1\nkind: VolumeConfig\nname: EPHEMERAL\nprovisioning: {maxSize: ${most}}\n`,
    ...least.map(
      (size, i) =>
        `apiVersion: v1alpha1\nkind: UserVolumeConfig\nname: v${i}\nprovisioning: {diskSelector: {match: "system_disk"}, minSize: ${size}, maxSize: ${size}}\n`,
    ),
  ].join('---\n')
const sized = { memory: 64 * gib, threads: 32 }
const plain = { extensions: [] }
const equipped = { extensions: ['zfs', 'iscsi-tools', 'nvidia-open-gpu-kernel-modules-lts'] }

export const casesOfMachines: Readonly<Record<string, MachineCase>> = {
  'reserved-beyond-machine': {
    of: sized,
    bad: [
      kubelet('kubeReserved: {memory: 9Ti}'),
      kubelet('systemReserved: {cpu: "900"}'),
      kubelet('kubeReserved: {memory: 40Gi}, systemReserved: {memory: 30Gi}'),
      kubelet('evictionHard: {memory.available: 60Gi}, kubeReserved: {memory: 8Gi}'),
      kubelet('systemReserved: {ephemeral-storage: 300Gi}'),
      argument('kube-reserved: "cpu=64,memory=1Gi"'),
      kubeletDocument('systemReserved: {memory: 9Ti}'),
    ],
    good: [
      kubelet('kubeReserved: {memory: 1Gi, cpu: 500m}, systemReserved: {memory: 2Gi, cpu: "2"}'),
      kubelet('evictionHard: {memory.available: 5%}, systemReserved: {ephemeral-storage: 20Gi}'),
      kubelet('reservedSystemCPUs: 0-3, systemReserved: {cpu: "64"}'),
      argument('system-reserved: "cpu=1,memory=1Gi,pid=1000"'),
      kubeletDocument('kubeReserved: {cpu: "31"}'),
    ],
  },
  'reserved-processors-missing': {
    of: sized,
    bad: [
      kubelet('reservedSystemCPUs: "0-3,64"'),
      kubelet('reservedSystemCPUs: "32"'),
      argument('reserved-cpus: "0,40-41"'),
    ],
    good: [kubelet('reservedSystemCPUs: 0-31'), argument('reserved-cpus: "31"')],
  },
  'huge-pages-beyond-memory': {
    of: sized,
    bad: [
      'machine: {sysctls: {vm.nr_hugepages: "40000"}}',
      'machine: {install: {grubUseUKICmdline: false, extraKernelArgs: [hugepagesz=1G, hugepages=64]}}',
      'machine: {sysctls: {vm.nr_hugepages: "16000"}, sysfs: {kernel.mm.hugepages.hugepages-1048576kB.nr_hugepages: "32"}}',
    ],
    good: [
      'machine: {sysctls: {vm.nr_hugepages: "1024"}}',
      'machine: {install: {grubUseUKICmdline: false, extraKernelArgs: ["hugepagesz=1G hugepages=16"]}}',
    ],
  },
  'module-without-extension': {
    of: plain,
    bad: [
      'machine: {kernel: {modules: [{name: zfs}]}}',
      'machine: {kernel: {modules: [{name: nvidia_uvm}]}}',
      'machine: {kernel: {modules: [{name: drbd_transport_tcp}]}}',
      'apiVersion: v1alpha1\nkind: KernelModuleConfig\nname: btrfs\n',
    ],
    good: [
      'machine: {kernel: {modules: [{name: br_netfilter}, {name: nvme_tcp}, {name: dm_thin_pool}]}}',
      'apiVersion: v1alpha1\nkind: KernelModuleConfig\nname: vfio_pci\n',
    ],
  },
  'service-without-extension': {
    of: plain,
    bad: ['tailscale', 'nut-client', 'multipathd'].map(service),
    good: [service('own-service')],
  },
  'credential-provider-without-extension': {
    of: plain,
    bad: ['ecr-credential-provider', 'harbor-credential-provider', 'acr-credential-provider'].map(
      providers,
    ),
    good: [kubelet('maxPods: 100')],
  },
  'volumes-of-system-disk': {
    bad: [
      onSystemDisk('200GiB', '100GiB'),
      onSystemDisk('40GiB', '220GiB'),
      onSystemDisk('200GiB', '30GiB', '30GiB'),
    ],
    good: [
      onSystemDisk('40GiB', '100GiB', '50GiB'),
      onSystemDisk('200GiB', '100GiB').replace('"system_disk"', '"!system_disk"'),
    ],
  },
  'tpm-key': {
    of: { secureBoot: false },
    bad: [
      encrypted('STATE', '{slot: 0, tpm: {checkSecurebootStatusOnEnroll: true}}'),
      encrypted('EPHEMERAL', '{slot: 0, tpm: {}}'),
      'machine: {systemDiskEncryption: {state: {provider: luks2, keys: [{slot: 0, tpm: {}}]}}}',
    ],
    good: [
      encrypted('STATE', '{slot: 0, nodeID: {}}'),
      encrypted('EPHEMERAL', '{slot: 0, tpm: {}}, {slot: 1, nodeID: {}}'),
    ],
  },
  'counts-at-registration': {
    of: { isMember: true },
    bad: [
      argument('node-labels: "tier=gold"'),
      argument('register-with-taints: "dedicated=storage:NoSchedule"'),
      kubelet('registerWithTaints: [{key: dedicated, value: storage, effect: NoSchedule}]'),
      'apiVersion: v1alpha1\nkind: KubeletConfig\nextraArgs: {node-labels: "tier=gold,zone=b"}\n',
    ],
    good: [
      'machine: {nodeLabels: {tier: gold}}',
      'machine: {nodeLabels: {tier: gold}, kubelet: {extraArgs: {node-labels: tier=gold}}}',
      argument('v: "2"'),
    ],
  },
  'name-server-of-itself': {
    bad: [
      'machine: {network: {nameservers: [10.0.0.7]}}',
      resolver('fd00::7'),
      'machine: {network: {nameservers: [10.0.7.1], interfaces: [{interface: enp1s0f1, addresses: [10.0.7.1/24]}]}}',
    ],
    good: ['machine: {network: {nameservers: [10.0.0.1, 1.1.1.1]}}', resolver('fd00::1')],
  },
  'address-of-anothers-patch': {
    of: {
      beside: [
        { by: 'fox', body: addressed('10.77.0.5/24') },
        {
          by: 'owl',
          body: 'machine: {network: {interfaces: [{interface: eth1, vlans: [{vlanId: 9, addresses: [10.78.0.5/24]}]}]}}',
        },
        {
          by: 'elk',
          body: 'apiVersion: v1alpha1\nkind: DummyLinkConfig\nname: dummy0\naddresses: [{address: 10.79.0.5/32}]\n',
        },
        {
          by: 'ant',
          body: 'machine: {network: {interfaces: [{interface: eth1, addresses: ["fd00:1::5/64"]}]}}',
        },
        { by: 'bee', body: ': no yaml [' },
      ],
    },
    bad: [
      addressed('10.77.0.5/24'),
      'machine: {network: {interfaces: [{interface: enp1s0f1, addresses: [10.78.0.5/24]}]}}',
      addressed('fd00:1:0::5/64'),
    ],
    good: [
      addressed('10.77.0.6/24'),
      'apiVersion: v1alpha1\nkind: DummyLinkConfig\nname: dummy0\naddresses: [{address: 10.79.0.5/32}]\n',
      'apiVersion: v1alpha1\nkind: ResolverConfig\nnameservers: [{address: 10.77.0.5}]\n',
    ],
  },
  'key-of-anothers-patch': {
    of: {
      beside: [
        { by: 'fox', body: wireguard(key) },
        { by: 'owl', body: oldWireguard(otherKey) },
      ],
    },
    bad: [wireguard(key), oldWireguard(key), wireguard(otherKey)],
    good: [wireguard(`${'B'.repeat(43)}=`)],
  },
  'pods-of-peers-behind-firewall': {
    of: {
      peers: [
        { name: 'fox', addresses: ['10.0.0.8'] },
        { name: 'owl', addresses: ['10.1.0.9', '192.168.4.4'] },
        { name: 'new', addresses: [] },
      ],
    },
    bad: [
      firewall('{subnet: 10.0.0.0/24}'),
      firewall('{subnet: 0.0.0.0/0, except: 10.0.0.0/8}'),
      firewall('{subnet: 10.1.0.0/16}', 'accept'),
    ],
    good: [
      firewall('{subnet: 0.0.0.0/0}'),
      firewall('{subnet: 10.0.0.0/16}, {subnet: 192.168.4.0/24}'),
      firewall('{subnet: 10.0.0.0/8}', 'accept'),
    ],
  },
}

/** Machines on which the same patches are right. */
export const rightElsewhere: readonly {
  readonly of: Partial<Inventory>
  readonly bodies: readonly string[]
}[] = [
  {
    of: equipped,
    bodies: [
      'machine: {kernel: {modules: [{name: zfs}, {name: nvidia}, {name: nvidia_uvm}]}}',
      service('iscsid'),
      providers('acr-credential-provider'),
    ],
  },
  {
    of: { memory: null, threads: null, extensions: null },
    bodies: [
      ...casesOfMachines['reserved-processors-missing']!.bad,
      ...casesOfMachines['module-without-extension']!.bad,
      ...casesOfMachines['service-without-extension']!.bad,
    ],
  },
  {
    of: { isMember: false },
    bodies: casesOfMachines['counts-at-registration']!.bad,
  },
  { of: { secureBoot: true }, bodies: casesOfMachines['tpm-key']!.bad },
]
