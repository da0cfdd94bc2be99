/** Like `cases.ts`, for storage, containers and routing of Talos 1.14. */
import type { Cases } from './case.ts'

const document = (kind: string, fields: string): string =>
  `apiVersion: v1alpha1\nkind: ${kind}\n${fields}\n`
const all = (...documents: readonly string[]): string => documents.join('---\n')
const members = 'provisioning: {volumeSelector: {match: disk.size > 0u}}'
const array = (name: string): string =>
  document('RAIDArrayConfig', `name: ${name}\nlevel: raid1\n${members}`)
const group = (name: string): string =>
  document('LVMVolumeGroupConfig', `name: ${name}\n${members}`)
const logical = (name: string, of: string, size = '10GiB'): string =>
  document(
    'LVMLogicalVolumeConfig',
    `name: ${name}\ntype: linear\nprovisioning: {volumeGroup: ${of}, maxSize: ${size}}`,
  )
const container = (fields: string, name = 'a'): string =>
  document('ContainerConfig', `name: ${name}\nimage: ghcr.io/example/a:v1\n${fields}`)
const mount = (one: string): string => container(`mounts: [${one}]`)
const volume = (fields: string): string =>
  document(
    'UserVolumeConfig',
    `name: data\nprovisioning: {diskSelector: {match: "!system_disk"}, minSize: 10GiB}\n${fields}`,
  )
const encrypted = (more = ''): string =>
  `encryption: {provider: luks2, keys: [{slot: 0, nodeID: {}}]${more}}`
const bgp = (name: string, fields = ''): string =>
  document(
    'BGPInstanceConfig',
    `name: ${name}\nlocalASN: 65001\nneighbors: [{address: 10.0.0.9, peerASN: 65002}]\n${fields}`,
  )
const imports = (name: string): string =>
  `importRoutes: [{bgpInstance: ${name}, prefixes: [10.9.0.0/16]}]`
const vrf = document('VRFConfig', 'name: red\nlinks: [eth1]\ntable: 100')
const trimAll = document('FilesystemTrimConfig', 'interval: 168h')

const webhook =
  'timeout: 3s, subjectAccessReviewVersion: v1, failurePolicy: Deny, connectionInfo: {type: InClusterConfig}'
const inFile = (file: string): string =>
  webhook.replace('InClusterConfig', `KubeConfigFile, kubeConfigFile: ${file}`)
const authorizer = (fields: string): string =>
  `cluster: {apiServer: {authorizationConfig: [{${fields}}]}}`
const encryptedBy = (key: string): string =>
  document(
    'VolumeConfig',
    `name: EPHEMERAL\nencryption: {provider: luks2, keys: [{slot: 0, ${key}}]}`,
  )

export const casesOfSystem: Cases = {
  'storage-name': {
    bad: [
      array('-a'),
      group('-pool'),
      logical('pvmove0', 'pool'),
      logical('data_rmeta_1', 'pool'),
      logical('snapshot1', 'pool'),
    ],
    good: [array('data-1'), group('pool'), logical('my-snapshot', 'pool')],
  },
  'volume-group-missing': {
    bad: [
      logical('data', 'pool'),
      all(group('pool2'), logical('data', 'pool')),
      all(group('Pool'), logical('data', 'pool')),
    ],
    good: [all(group('pool'), logical('data', 'pool'))],
  },
  'volume-group-full': {
    bad: [
      all(group('pool'), logical('a', 'pool', '60%'), logical('b', 'pool', '50%')),
      all(group('pool'), logical('a', 'pool', '100%'), logical('b', 'pool', '1%')),
      all(
        group('pool'),
        logical('a', 'pool', '40%'),
        logical('b', 'pool', '40%'),
        logical('c', 'pool', '40%'),
      ),
    ],
    good: [
      all(group('pool'), logical('a', 'pool', '60%'), logical('b', 'pool', '40%')),
      all(group('p'), group('q'), logical('a', 'p', '60%'), logical('b', 'q', '60%')),
    ],
  },
  'upkeep-interval': {
    bad: [
      document('FilesystemScrubConfig', 'interval: 0s'),
      document('FilesystemScrubConfig', ''),
      volume('trim: {enabled: true}'),
    ],
    good: [
      trimAll,
      document('FilesystemScrubConfig', 'interval: 168h'),
      all(trimAll, volume('trim: {enabled: true}')),
      volume('trim: {enabled: false}'),
      volume('scrub: {enabled: true}'),
    ],
  },
  'trim-of-encrypted': {
    bad: [
      volume(`trim: {interval: 24h}\n${encrypted()}`),
      all(trimAll, volume(`trim: {enabled: true}\n${encrypted()}`)),
      document('VolumeConfig', `name: EPHEMERAL\ntrim: {interval: 24h}\n${encrypted()}`),
    ],
    good: [
      volume(`trim: {interval: 24h}\n${encrypted(', allowDiscards: true')}`),
      volume('trim: {interval: 24h}'),
    ],
  },
  'scrub-of-others': {
    bad: [
      volume('filesystem: {type: ext4}\nscrub: {enabled: true}'),
      volume('filesystem: {type: ext4}\nscrub: {interval: 24h}'),
      volume('filesystem: {type: btrfs}\nscrub: {interval: 24h}'),
    ],
    good: [
      volume('filesystem: {type: xfs}\nscrub: {enabled: true}'),
      volume('filesystem: {type: ext4}\nscrub: {enabled: false}'),
    ],
  },
  'container-volume': {
    bad: [
      mount('{userVolume: {name: data, destination: /data}}'),
      all(mount('{userVolume: {name: u-data, destination: /data}}'), volume('')),
      all(
        mount('{userVolume: {name: data, destination: /data}}'),
        volume('').replaceAll('UserVolumeConfig', 'RawVolumeConfig'),
      ),
    ],
    good: [all(mount('{userVolume: {name: data, destination: /data}}'), volume(''))],
  },
  'container-time': {
    bad: [
      all('machine: {time: {disabled: true}}\n', container('dependsOn: {time: true}')),
      all(document('TimeSyncConfig', 'enabled: false'), container('dependsOn: {time: true}')),
      all(
        document('TimeSyncConfig', 'enabled: false\nbootTimeout: 1m'),
        container('dependsOn: {time: true, networks: [addresses]}'),
      ),
    ],
    good: [
      container('dependsOn: {time: true}'),
      all(document('TimeSyncConfig', 'enabled: false'), container('dependsOn: {time: false}')),
    ],
  },
  'container-order': {
    bad: [
      container('dependsOn: {containers: [b]}'),
      all(container('dependsOn: {containers: [b]}'), container('workingDir: /', 'b')),
      all(
        container('dependsOn: {containers: [b]}'),
        container('dependsOn: {containers: [a]}', 'b'),
      ),
    ],
    good: [container('dependsOn: {paths: [/var/run/b.sock]}')],
  },
  'container-tmpfs-size': {
    bad: ['64 megabytes', 'half', '10%'].map((size) =>
      mount(`{tmpfs: {destination: /tmp, size: ${size}}}`),
    ),
    good: ['64MiB', '64MB', '1g'].map((size) =>
      mount(`{tmpfs: {destination: /tmp, size: ${size}}}`),
    ),
  },
  'container-tmpfs-option': {
    bad: ['[rbind]', '[rbind, ro]', '[noexec, rbind]'].map((options) =>
      mount(`{tmpfs: {destination: /tmp, options: ${options}}}`),
    ),
    good: [
      mount('{tmpfs: {destination: /tmp, options: [noexec]}}'),
      mount('{hostPath: {source: /var/lib/a, destination: /a, options: [rbind]}}'),
    ],
  },
  'container-memory': {
    bad: ['"512"', '100kB', '64KiB'].map((memory) =>
      container(`resources: {limits: {memory: ${memory}}}`),
    ),
    good: [container('resources: {limits: {memory: 64MiB}}')],
  },
  'container-capability': {
    bad: ['{add: [NETADMIN]}', '{add: [NET_ADMIN, SYS_EVERYTHING]}', '{drop: [SYS_LOG]}'].map(
      (lists) => container(`security: {capabilities: ${lists}}`),
    ),
    good: [container('security: {capabilities: {drop: [ALL], add: [NET_ADMIN]}}')],
  },
  'container-capability-given-up': {
    bad: ['[SYS_MODULE]', '[SYS_BOOT]', '[NET_ADMIN, SYS_MODULE]'].map((add) =>
      container(`security: {capabilities: {add: ${add}}}`),
    ),
    good: [container('security: {capabilities: {drop: [SYS_BOOT]}}')],
  },
  'container-host-path': {
    bad: ['/data', '/mnt/disk', '/home/a'].map((source) =>
      mount(`{hostPath: {source: ${source}, destination: /a}}`),
    ),
    good: ['/var/lib/a', '/dev', '/run/containerd'].map((source) =>
      mount(`{hostPath: {source: ${source}, destination: /a}}`),
    ),
  },
  'bgp-instances': {
    bad: [
      all(bgp('a'), bgp('b')),
      bgp('a', 'vrf: red'),
      all(vrf, bgp('a', 'vrf: red'), bgp('b', 'vrf: red')),
      bgp('a', imports('b')),
      all(vrf, bgp('a', imports('b')), bgp('b', `vrf: red\n${imports('a')}`)),
    ],
    good: [all(vrf, bgp('a', imports('b')), bgp('b', 'vrf: red'))],
  },
  'authorizer-webhook': {
    bad: [
      '',
      'webhook: {timeout: 3s}',
      `webhook: {${webhook.replace('3s', '31s')}}`,
      `webhook: {${webhook.replace('Deny', 'Allow')}}`,
      `webhook: {${webhook.replace('InClusterConfig', 'KubeConfigFile')}}`,
      `webhook: {${webhook}, matchConditions: [{expression: "true"}]}`,
    ]
      .map((fields) => authorizer(`type: Webhook, name: mine, ${fields}`))
      .concat(
        authorizer(`type: Webhook, name: My_Webhook, webhook: {${webhook}}`),
        authorizer('type: RBAC, name: rbac, webhook: {timeout: 3s}'),
      ),
    good: [authorizer(`type: Webhook, name: mine, webhook: {${webhook}}`)],
  },
  'authorizer-file': {
    bad: ['/etc/kubernetes/a.yaml', '/var/lib/a.yaml', '/a'].map((file) =>
      authorizer(`type: Webhook, name: mine, webhook: {${inFile(file)}}`),
    ),
    good: [
      `cluster: {apiServer: {extraVolumes: [{hostPath: /var/lib/a, mountPath: /etc/a}], authorizationConfig: [{type: Webhook, name: mine, webhook: {${inFile('/etc/a/b.yaml')}}}]}}`,
    ],
  },
  'volume-passphrase': {
    bad: ['static: {}', 'static: {passphrase: ""}', 'static: {passphrase: "  "}']
      .map(encryptedBy)
      .concat(
        'machine: {systemDiskEncryption: {ephemeral: {provider: luks2, keys: [{slot: 0, static: {passphrase: ""}}]}}}',
        volume(
          'encryption: {provider: luks2, keys: [{slot: 0, nodeID: {}}, {slot: 1, static: {}}]}',
        ),
      ),
    good: ['static: {passphrase: "a long one"}', 'nodeID: {}', 'tpm: {}'].map(encryptedBy),
  },
  'volume-kms': {
    bad: ['""', 'kms.example.org:4050/a/b', '"https://kms example.org"', '"https://:4050"']
      .map((endpoint) => `kms: {endpoint: ${endpoint}}`)
      .map(encryptedBy),
    good: ['https://kms.example.org:4050', 'https://kms.example.org', 'grpc://10.0.0.9:4050']
      .map((endpoint) => `kms: {endpoint: "${endpoint}"}`)
      .map(encryptedBy),
  },
  'volume-kms-in-the-clear': {
    bad: ['kms.example.org:4050', '10.0.0.9', 'grpc://10.0.0.9:4050']
      .map((endpoint) => `kms: {endpoint: "${endpoint}"}`)
      .map(encryptedBy),
    good: [encryptedBy('kms: {endpoint: "https://kms.example.org:4050"}')],
  },
  'volume-cipher': {
    bad: ['aes-xts', 'AES-XTS-PLAIN64', 'aes-cbc-essiv:sha256'].map(
      (cipher) =>
        `machine: {systemDiskEncryption: {state: {provider: luks2, cipher: "${cipher}", keys: [{slot: 0, nodeID: {}}]}}}`,
    ),
    good: [
      'machine: {systemDiskEncryption: {state: {provider: luks2, cipher: aes-xts-plain64, keys: [{slot: 0, nodeID: {}}]}}}',
    ],
  },
}
