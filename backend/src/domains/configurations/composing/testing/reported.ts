/**
 * Inputs of public reports that Talos accepts and that break a server or its cluster, those near
 * them, and right ones. Each is asked in each form that Talos has for it, and on each role that
 * reads it.
 */
import type { Inventory } from '#talos/runtime-rules/known.ts'

export interface Reported {
  readonly what: string
  readonly body: string
  readonly answer: 'refused' | 'warned' | 'right'
  /** What the only sentence says; of a right input nothing is said. */
  readonly sentence?: RegExp
  readonly version: 'v1.13.9' | 'v1.14.1'
  readonly on: 'control_plane' | 'worker'
  /** What is known of the server besides `world`. */
  readonly of?: Partial<Inventory>
  /** What the control planes of a worker's cluster have in addition. */
  readonly cluster?: string
}

const gib = 1024 ** 3

export const generatedFor = (version: Reported['version']) =>
  version === 'v1.13.9'
    ? { talosVersion: '1.13', kubernetesVersion: '1.36.5' }
    : { talosVersion: '1.14', kubernetesVersion: '1.37.2' }

/** What is known of every server. */
export const world: Inventory = {
  server: 'gull',
  links: null,
  disks: null,
  systemDisk: '/dev/sda',
  isMember: true,
  addresses: ['10.0.0.7'],
  memory: 64 * gib,
  threads: 32,
  extensions: [],
  secureBoot: false,
  peers: [
    { name: 'fox', addresses: ['10.0.0.8'] },
    { name: 'owl', addresses: ['10.1.0.9'] },
  ],
  taken: [],
}

const [old, documents] = ['v1.13.9', 'v1.14.1'] as const
const roles = ['control_plane', 'worker'] as const
type Rest = Pick<Reported, 'answer'> & Partial<Pick<Reported, 'sentence' | 'of' | 'cluster'>>

/** An input on these roles, in the old form on 1.13 and in documents on 1.14. */
function both(
  what: string,
  forms: { readonly old?: string; readonly documents?: string },
  rest: Rest,
  on: readonly Reported['on'][] = roles,
): Reported[] {
  return on.flatMap((role) => [
    ...(forms.old === undefined
      ? []
      : [{ what: `${what}, ${old}, ${role}`, body: forms.old, version: old, on: role, ...rest }]),
    ...(forms.documents === undefined
      ? []
      : [
          {
            what: `${what}, ${documents}, ${role}`,
            body: forms.documents,
            version: documents,
            on: role,
            ...rest,
          },
        ]),
  ])
}
const one = (body: string) => ({ old: body, documents: body })
const doc = (kind: string, body: string): string => `apiVersion: v1alpha1\nkind: ${kind}\n${body}\n`
const refused = (sentence: RegExp): Rest => ({ answer: 'refused', sentence })
const warned = (sentence: RegExp, more: Partial<Rest> = {}): Rest => ({
  answer: 'warned',
  sentence,
  ...more,
})
const right: Rest = { answer: 'right' }

const authentication = (jwt: string): string =>
  doc('KubeAuthenticationConfig', `configuration: {jwt: [{${jwt}}]}`)
const blocked = (...rules: string[]): string =>
  [
    doc('NetworkDefaultActionConfig', 'ingress: block'),
    ...rules.map((rule, i) => doc('NetworkRuleConfig', `name: r${i}\n${rule}`)),
  ].join('---\n')
const api =
  'portSelector: {ports: [50000, 10250, 6443, 2379-2380, 50001], protocol: tcp}\ningress: [{subnet: 0.0.0.0/0}]'
const tunnel = (subnet = '0.0.0.0/0'): string =>
  `portSelector: {ports: [4789], protocol: udp}\ningress: [{subnet: ${subnet}}]`
const kubelet = (config: string) => ({
  old: `machine: {kubelet: {extraConfig: {${config}}}}`,
  documents: doc('KubeletConfig', `config: {${config}}`),
})
const kubeletArgs = (args: string) => ({
  old: `machine: {kubelet: {extraArgs: {${args}}}}`,
  documents: doc('KubeletConfig', `extraArgs: {${args}}`),
})
const apiArgs = (args: string) => ({
  old: `cluster: {apiServer: {extraArgs: {${args}}}}`,
  documents: doc('KubeAPIServerConfig', `extraArgs: {${args}}`),
})
const providerConfig = (header: string): string =>
  `${header}providers: [{name: own, matchImages: ["*.example.org"], defaultCacheDuration: 12h, apiVersion: credentialprovider.kubelet.k8s.io/v1}]`
const providers = (header: string) => ({
  old: `machine: {kubelet: {credentialProviderConfig: {${providerConfig(header)}}}}`,
  documents: doc('KubeCredentialProviderConfig', `configuration: {${providerConfig(header)}}`),
})
const pod = (spec: string): string =>
  `apiVersion: v1, kind: Pod, metadata: {name: kube-vip, namespace: kube-system}, spec: {hostNetwork: true, ${spec}, containers: [{name: a, image: "ghcr.io/kube-vip/kube-vip:v0.9.2"}]}`
const pods = (spec: string) => ({
  old: `machine: {pods: [{${pod(spec)}}]}`,
  documents: doc('KubeStaticPodConfig', `name: kube-vip\npod: {${pod(spec)}}`),
})
const modules = (...names: string[]) => ({
  old: `machine: {kernel: {modules: [${names.map((name) => `{name: ${name}}`).join(', ')}]}}`,
  documents: names.map((name) => doc('KernelModuleConfig', `name: ${name}`)).join('---\n'),
})
const service = (name: string, environment = 'A=b'): string =>
  doc('ExtensionServiceConfig', `name: ${name}\nenvironment: ["${environment}"]`)
const customization = (content: string) => ({
  old: `machine: {files: [{path: /etc/cri/conf.d/20-customization.part, op: create, content: ${JSON.stringify(content)}}]}`,
  documents: doc('CRICustomizationConfig', `name: own\ncontent: ${JSON.stringify(content)}`),
})
const state = (keys: string) => ({
  old: `machine: {systemDiskEncryption: {state: {provider: luks2, keys: [${keys}]}}}`,
  documents: doc('VolumeConfig', `name: STATE\nencryption: {provider: luks2, keys: [${keys}]}`),
})
const free: Partial<Inventory> = { isMember: false }
const resolver = (address: string) => ({
  old: `machine: {network: {nameservers: ["${address}"]}}`,
  documents: doc('ResolverConfig', `nameservers: [{address: "${address}"}]`),
})
const addressed = (address: string) => ({
  old: `machine: {network: {interfaces: [{interface: eth1, addresses: [${address}]}]}}`,
  documents: doc('LinkConfig', `name: eth1\naddresses: [{address: ${address}}]`),
})
const beside: Partial<Inventory> = {
  beside: [{ by: 'fox', body: addressed('10.77.0.5/24').old }],
}
const managers = ['control_plane'] as const

export const reported: Readonly<Record<string, readonly Reported[]>> = {
  '41 oidc-issuer-http-and-no-prefix': [
    ...both(
      'an issuer without TLS',
      {
        documents: authentication(
          'issuer: {url: "http://id.example.org", audiences: [k8s]}, claimMappings: {username: {claim: email, prefix: ""}}',
        ),
      },
      refused(/"http:\/\/id\.example\.org" must begin with https:\/\//),
      managers,
    ),
    ...both(
      'a claim without a prefix',
      {
        documents: authentication(
          'issuer: {url: "https://id.example.org", audiences: [k8s]}, claimMappings: {username: {claim: email}}',
        ),
      },
      refused(/prefix/),
      managers,
    ),
    ...both(
      'a right one',
      {
        documents: authentication(
          'issuer: {url: "https://id.example.org", audiences: [k8s]}, claimMappings: {username: {claim: email, prefix: ""}}',
        ),
      },
      right,
      managers,
    ),
  ],
  '44 kube-proxy-mode-in-its-configuration': [
    ...both(
      'a mode that is none',
      { documents: doc('KubeProxyConfig', 'config: {mode: nft}') },
      refused(/"nft" is no mode/),
      managers,
    ),
    ...both(
      'a field that is none',
      { documents: doc('KubeProxyConfig', 'config: {metricsBindAddres: "0.0.0.0:10249"}') },
      refused(/metricsBindAddres.*Did you mean metricsBindAddress/),
      managers,
    ),
  ],
  '46 flannel-backend-misspelled': [
    ...both(
      'a back end that is none',
      { documents: doc('KubeFlannelCNIConfig', 'backendType: hostgw') },
      refused(/no back end "hostgw"/),
      managers,
    ),
    ...both(
      'another back end',
      { documents: doc('KubeFlannelCNIConfig', 'backendType: host-gw') },
      right,
      managers,
    ),
  ],
  '47 credential-provider-without-kind': [
    ...both(
      'without a kind',
      providers('apiVersion: kubelet.config.k8s.io/v1, '),
      refused(/needs kind.*CredentialProviderConfig/),
    ),
    ...both(
      'with it, and its program',
      providers('apiVersion: kubelet.config.k8s.io/v1, kind: CredentialProviderConfig, '),
      { ...right, of: { extensions: ['own-provider'] } },
    ),
    ...both(
      'with it, without its program',
      providers('apiVersion: kubelet.config.k8s.io/v1, kind: CredentialProviderConfig, '),
      warned(/no extension with the program own/),
    ),
  ],
  '49 feature-gate-that-is-gone': [
    ...both(
      'of the kubelet',
      kubelet('featureGates: {UserNamespacesPodSecurityStandards: true}'),
      warned(/UserNamespacesPodSecurityStandards/),
    ),
    ...both(
      'of the API server',
      apiArgs('feature-gates: UserNamespacesPodSecurityStandards=true'),
      warned(/UserNamespacesPodSecurityStandards/),
      managers,
    ),
  ],
  '51 runtime-config-of-an-unknown-version': [
    ...both(
      'of a known group',
      apiArgs('runtime-config: batch/v2alpha1=true'),
      refused(/has no version batch\/v2alpha1/),
      managers,
    ),
  ],
  '52 worker-firewall-without-vxlan': [
    ...both('without the pod network', one(blocked(api)), warned(/UDP 4789 \(VXLAN of Flannel\)/)),
    ...both(
      'without it for one server',
      one(blocked(api, tunnel('10.0.0.0/24'))),
      warned(/keeps owl out of UDP 4789/),
    ),
    ...both('with it', one(blocked(api, tunnel())), right),
    ...both(
      'in a cluster without Flannel',
      { old: blocked(api) },
      { ...right, cluster: 'cluster: {network: {cni: {name: none}}}' },
      ['worker'],
    ),
  ],
  '54 more-pods-than-addresses': [
    ...both('500', kubelet('maxPods: 500'), warned(/\/24 has addresses for 253 pods, not for 500/)),
    ...both('250', kubelet('maxPods: 250'), right),
    ...both(
      '500 of a larger network',
      { old: kubelet('maxPods: 500').old },
      {
        ...right,
        cluster: 'cluster: {controllerManager: {extraArgs: {node-cidr-mask-size: "22"}}}',
      },
      ['worker'],
    ),
  ],
  '55 reserved-more-than-the-machine-has': [
    ...both(
      'memory',
      kubelet('kubeReserved: {memory: 9Ti}'),
      warned(/of memory are reserved, and gull has 64 GiB/),
    ),
    ...both(
      'threads',
      kubelet('systemReserved: {cpu: "900"}'),
      warned(/900 of cpu are reserved, and gull has 32 threads/),
    ),
    ...both('a little', kubelet('kubeReserved: {memory: 1Gi}'), right),
  ],
  '57 one-address-for-two-servers': [
    ...both(
      'by another server’s patch',
      addressed('10.77.0.5/24'),
      warned(/10\.77\.0\.5 is also the address that patches give fox/, { of: beside }),
    ),
    ...both('another one', addressed('10.77.0.6/24'), { ...right, of: beside }),
  ],
  '58 static-pod-with-a-service-account': [
    ...both('of kube-vip', pods('serviceAccountName: kube-vip'), refused(/DaemonSet/)),
    ...both('without one', pods('dnsPolicy: Default'), right),
  ],
  '60 modules-and-services-without-their-extension': [
    ...both('a module', modules('zfs'), warned(/no extension with the module zfs \(zfs\)/)),
    ...both(
      'a module of several extensions',
      modules('nvidia_uvm'),
      warned(/nvidia-open-gpu-kernel-modules/),
    ),
    ...both(
      'a service',
      one(service('tailscale')),
      warned(/no extension with the service tailscale/),
    ),
    ...both('one of Talos’s own', modules('br_netfilter', 'nvme_tcp'), right),
    ...both('with the extension', modules('zfs'), { ...right, of: { extensions: ['zfs'] } }),
    ...both('with an unknown image', modules('zfs'), { ...right, of: { extensions: null } }),
  ],
  '61 containerd-settings-under-the-old-name': [
    ...both(
      'the runtime',
      customization(
        '[plugins."io.containerd.grpc.v1.cri".containerd]\n  default_runtime_name = "nvidia"\n',
      ),
      warned(/io\.containerd\.cri\.v1\.runtime/),
    ),
    ...both(
      'under the new one',
      customization(
        '[plugins."io.containerd.cri.v1.runtime"]\n  enable_unprivileged_ports = true\n',
      ),
      right,
    ),
  ],
  '62 tpm-key-that-cannot-be-made': [
    ...both(
      'with a check',
      state('{slot: 0, tpm: {checkSecurebootStatusOnEnroll: true}}'),
      warned(/booted without SecureBoot.*second key/, { of: free }),
    ),
    ...both(
      'without one',
      state('{slot: 0, tpm: {}}'),
      warned(/TPM 2\.0 is not known/, { of: free }),
    ),
    ...both('with SecureBoot', state('{slot: 0, tpm: {}}'), {
      ...right,
      of: { ...free, secureBoot: true },
    }),
    ...both('with a second key', state('{slot: 0, tpm: {}}, {slot: 1, nodeID: {}}'), {
      ...right,
      of: free,
    }),
  ],
  '63 secrets-that-were-never-filled-in': [
    ...both(
      'a variable',
      one(service('own', 'TS_AUTHKEY=${TS_AUTHKEY}')),
      warned(/the variable \$\{TS_AUTHKEY\}/),
    ),
    ...both(
      'a template',
      {
        old: 'machine: {nodeAnnotations: {example.org/owner: "{{ owner }}"}}',
        documents: doc('KubeNodeConfig', 'annotations: {example.org/owner: "{{ owner }}"}'),
      },
      warned(/a template/),
    ),
    ...both(
      'ciphertext',
      {
        old: 'machine: {registries: {config: {ghcr.io: {auth: {username: me, password: "ENC[AES256_GCM,data:abcd,iv:efgh,tag:ijkl,type:str]"}}}}}',
        documents: doc(
          'RegistryAuthConfig',
          'name: ghcr.io\nusername: me\npassword: ENC[AES256_GCM,data:abcd,iv:efgh,tag:ijkl,type:str]',
        ),
      },
      warned(/ciphertext of SOPS/),
    ),
  ],
  '65 name-server-inside-the-cluster': [
    ...both('CoreDNS', resolver('10.96.0.10'), warned(/service network of the cluster/)),
    ...both('Talos’s own', resolver('169.254.116.108'), warned(/then asks itself/)),
    ...both('a pod', resolver('10.244.1.4'), warned(/pod network of the cluster/)),
    ...both('itself', resolver('10.0.0.7'), warned(/an address of gull itself/)),
    ...both('another', resolver('10.0.0.53'), right),
    ...both(
      'one that is in no network of this cluster',
      { old: resolver('10.50.0.10').old },
      warned(/10\.50\.0\.0\/16/, {
        cluster: 'cluster: {network: {serviceSubnets: [10.50.0.0/16]}}',
      }),
      ['worker'],
    ),
  ],
  '68 labels-that-only-count-when-a-node-registers': [
    ...both(
      'labels',
      kubeletArgs('node-labels: "tier=gold"'),
      warned(/tier=gold.*machine\.nodeLabels/),
    ),
    ...both(
      'taints',
      kubelet('registerWithTaints: [{key: dedicated, value: storage, effect: NoSchedule}]'),
      warned(/dedicated=storage:NoSchedule.*kubectl taint/),
    ),
    ...both('on a free server', kubeletArgs('node-labels: "tier=gold"'), { ...right, of: free }),
  ],
}
