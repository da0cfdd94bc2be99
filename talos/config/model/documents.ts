/** All documents that a configuration may contain, by kind. */
import type { Minor } from '../../versions.ts'
import { cluster } from './cluster.ts'
import { kubernetesDocuments } from './kubernetes.ts'
import { machine } from './machine.ts'
import { networkDocuments } from './network.ts'
import * as t from './shape.ts'
import { systemDocuments } from './system.ts'

export interface DocumentShape {
  kind: string
  about: string
  since?: Minor
  /**
   * True: a configuration may contain several documents of this kind, with different names. False:
   * at most one.
   */
  named: boolean
  /** Only control planes may have it. */
  controlPlaneOnly?: boolean
  /** The whole document, including its apiVersion and kind. */
  shape: t.ObjectShape
}

type Fields = Record<string, t.Shape>
/** Documents of one topic, by kind. */
export type Documents = Record<
  string,
  { about: string; since?: Minor; controlPlaneOnly?: boolean; fields: Fields }
>

const expression = (about: string) => t.text(about)
const provisioning = t.inPlace(
  t.object(
    {
      diskSelector: t.inPlace(
        t.object({
          match: expression('CEL expression over disk, such as disk.transport == "nvme"'),
        }),
      ),
      grow: t.flag('Take all free space'),
      minSize: t.text('Such as 10GiB'),
      maxSize: t.text('Such as 100GiB, or a percentage'),
    },
    'Which disk, and how much of it',
  ),
)
const encryption = t.inPlace(
  t.object(
    {
      provider: t.always(t.plainChoice(['luks2'])),
      keys: t.always(
        t.list(
          t.object({
            slot: t.always(t.integer()),
            static: t.object({ passphrase: t.secret() }),
            nodeID: t.object({}),
            kms: t.object({ endpoint: t.always(t.text()) }),
            tpm: t.object({
              options: t.object({ pcrs: t.list(t.integer()) }),
              checkSecurebootStatusOnEnroll: t.flag(),
            }),
            lockToState: t.flag(),
          }),
        ),
      ),
      cipher: t.plainChoice([
        'aes-xts-plain64',
        'xchacha12,aes-adiantum-plain64',
        'xchacha20,aes-adiantum-plain64',
      ]),
      keySize: t.integer(),
      blockSize: t.integer(),
      options: t.texts(),
      allowDiscards: t.addedIn('1.14', t.flag('Tell the disk which blocks are free')),
    },
    'Encryption of the volume',
  ),
)
const name = t.always(t.text('Name'))
const xfs = t.addedIn(
  '1.14',
  t.object({ minAllocationGroupSize: t.text('Such as 64GiB') }, 'Options of xfs'),
)
const upkeep: Fields = {
  trim: t.addedIn(
    '1.14',
    t.object({ enabled: t.flag(), interval: t.duration() }, 'Trimming of this file system'),
  ),
  scrub: t.addedIn(
    '1.14',
    t.object({ enabled: t.flag(), interval: t.duration() }, 'Checks of this file system'),
  ),
}
const selector = (about: string) => t.inPlace(t.object({ match: expression(about) }))
const memberSelector = selector('CEL expression over volume, disk and volume_id')

const blockDocuments: Documents = {
  VolumeConfig: {
    about: 'A volume of Talos’s own: STATE, EPHEMERAL or IMAGECACHE',
    fields: {
      name,
      provisioning,
      filesystem: t.addedIn('1.14', t.inPlace(t.object({ xfs }))),
      encryption,
      mount: t.addedIn(
        '1.13',
        t.inPlace(t.object({ secure: t.flag(), disableAccessTime: t.addedIn('1.14', t.flag()) })),
      ),
      ...upkeep,
    },
  },
  UserVolumeConfig: {
    about: 'A volume for workloads, mounted at /var/mnt/<name>',
    fields: {
      name,
      volumeType: t.choice(['partition', 'disk', 'directory']),
      provisioning,
      filesystem: t.inPlace(
        t.object({
          type: {
            ...t.plainChoice(['xfs', 'ext4', 'btrfs'], undefined, 'none'),
            valuesSince: { btrfs: '1.14' },
          },
          projectQuotaSupport: t.flag(),
          xfs,
        }),
      ),
      encryption,
      mount: t.addedIn(
        '1.13',
        t.inPlace(t.object({ disableAccessTime: t.flag(), secure: t.flag() })),
      ),
      ...upkeep,
    },
  },
  RawVolumeConfig: {
    about: 'A volume without a file system',
    fields: { name, provisioning, encryption },
  },
  ExistingVolumeConfig: {
    about: 'A volume that is there already',
    fields: {
      name,
      discovery: t.inPlace(
        t.object({
          volumeSelector: t.inPlace(t.object({ match: expression('CEL expression over volume') })),
        }),
      ),
      mount: t.inPlace(
        t.object({
          readOnly: t.flag(),
          disableAccessTime: t.addedIn('1.13', t.flag()),
          secure: t.addedIn('1.13', t.flag()),
        }),
      ),
      ...upkeep,
    },
  },
  ExternalVolumeConfig: {
    about: 'A volume from outside the server',
    since: '1.13',
    fields: {
      name,
      filesystemType: t.always(t.plainChoice(['virtiofs'])),
      mount: t.inPlace(
        t.object({
          readOnly: t.flag(),
          disableAccessTime: t.flag(),
          secure: t.flag(),
          virtiofs: t.object({ tag: t.always(t.text()) }),
        }),
      ),
    },
  },
  SwapVolumeConfig: { about: 'Swap space', fields: { name, provisioning, encryption } },
  ZswapConfig: {
    about: 'Compressed swap in memory',
    fields: { maxPoolPercent: t.optionalInteger(), shrinkerEnabled: t.flag() },
  },
  FilesystemTrimConfig: {
    about: 'Trimming of all file systems',
    since: '1.14',
    fields: { interval: t.duration('Such as 168h; 0 for never') },
  },
  FilesystemScrubConfig: {
    about: 'Checks of all file systems',
    since: '1.14',
    fields: { interval: t.duration('At least 10s; 0 for never') },
  },
  RAIDArrayConfig: {
    about: 'A software RAID of several disks or volumes',
    since: '1.14',
    fields: {
      name,
      level: t.always(t.plainChoice(['raid1'], undefined, 'raid1')),
      metadata: t.plainChoice(['1.0', '1.2'], undefined, '1.0'),
      provisioning: t.always(
        t.inPlace(t.object({ volumeSelector: t.always(memberSelector) }, 'Its members')),
      ),
    },
  },
  LVMVolumeGroupConfig: {
    about: 'A volume group of LVM',
    since: '1.14',
    fields: {
      name,
      provisioning: t.always(
        t.inPlace(t.object({ volumeSelector: memberSelector }, 'Its physical volumes')),
      ),
    },
  },
  LVMLogicalVolumeConfig: {
    about: 'A logical volume of LVM',
    since: '1.14',
    fields: {
      name,
      type: t.always(t.plainChoice(['linear', 'raid1', 'raid0', 'raid10'], undefined, 'linear')),
      mirrors: t.optionalInteger('Copies besides the first; of raid1 and raid10'),
      stripes: t.optionalInteger('At least 2; of raid0 and raid10'),
      provisioning: t.always(
        t.inPlace(
          t.object({
            volumeGroup: t.always(t.text('Name of its volume group')),
            minSize: t.text('Such as 10GiB'),
            maxSize: t.text('Such as 100GiB, or a percentage'),
          }),
        ),
      ),
    },
  },
}

const otherDocuments: Documents = {
  RegistryMirrorConfig: {
    about: 'Where images of a registry are taken from instead',
    fields: {
      name: t.always(t.text('Host of the registry, such as ghcr.io')),
      endpoints: t.list(t.object({ url: t.always(t.text()), overridePath: t.flag() })),
      skipFallback: t.flag(),
    },
  },
  RegistryAuthConfig: {
    about: 'Credentials for a registry',
    fields: {
      name: t.always(t.text('Host of the registry')),
      username: t.text(),
      password: t.secret(),
      auth: t.secret(),
      identityToken: t.secret(),
    },
  },
  RegistryTLSConfig: {
    about: 'Certificates for a registry',
    fields: {
      name: t.always(t.text('Host of the registry')),
      clientIdentity: t.object({ cert: t.text(), key: t.secret() }),
      ca: t.text(),
      insecureSkipVerify: t.flag(),
    },
  },
  ExtensionServiceConfig: {
    about: 'Settings of a system extension’s service',
    fields: {
      name,
      configFiles: {
        ...t.list(
          t.object({ content: t.always(t.sensitive(t.text())), mountPath: t.always(t.text()) }),
        ),
        merge: { by: ['mountPath'] },
      },
      environment: t.sensitive(t.texts(), 'variables'),
    },
  },
  TrustedRootsConfig: {
    about: 'Further authorities that the server trusts',
    fields: { name, certificates: t.always(t.text('PEM')) },
  },
  ImageVerificationConfig: {
    about: 'Which images may run',
    since: '1.13',
    fields: {
      rules: {
        ...t.list(
          t.object({
            image: t.text('Pattern of image names'),
            skip: t.flag(),
            deny: t.flag(),
            keyless: t.object({ issuer: t.text(), subject: t.text(), subjectRegex: t.text() }),
            publicKey: t.object({ certificate: t.text() }),
          }),
        ),
        merge: { by: ['image'], whole: true },
      },
    },
  },
  PCIDriverRebindConfig: {
    about: 'Gives a PCI device to another driver',
    fields: { name: t.always(t.text('PCI address')), targetDriver: t.always(t.text()) },
  },
  WatchdogTimerConfig: {
    about: 'Hardware watchdog',
    fields: { device: t.always(t.text('Such as /dev/watchdog0')), timeout: t.duration() },
  },
  EnvironmentConfig: {
    about: 'Environment of Talos’s services',
    since: '1.13',
    fields: { variables: t.always(t.sensitive(t.map(t.text()))) },
  },
  OOMConfig: {
    about: 'What is ended when memory runs out',
    fields: {
      triggerExpression: expression('CEL expression'),
      cgroupRankingExpression: expression('CEL expression'),
      strictCgroupClassOrdering: t.addedIn('1.13', t.flag()),
      sampleInterval: t.duration(),
    },
  },
  EventSinkConfig: {
    about: 'Where Talos’s events go',
    fields: { endpoint: t.always(t.text('host:port')) },
  },
  KmsgLogConfig: {
    about: 'Where the kernel’s log goes',
    fields: { name, url: t.always(t.text('tcp://host:port or udp://host:port')) },
  },
  SideroLinkConfig: {
    about: 'A tunnel to a management service',
    fields: { apiUrl: t.always(t.secret('URL with join token')), uniqueToken: t.secret() },
  },
}

/** The document without a kind. */
export const mainDocument: DocumentShape = {
  kind: '',
  about: 'The machine’s main document',
  named: false,
  shape: t.object({
    version: t.always(t.text('v1alpha1')),
    debug: t.flag('More of the log on the console'),
    persist: t.flag('Keep the configuration across reboots'),
    machine: t.always(machine),
    cluster: t.always(cluster),
  }),
}

export const documentShapes: ReadonlyMap<string, DocumentShape> = new Map(
  Object.entries({
    ...networkDocuments,
    ...blockDocuments,
    ...otherDocuments,
    ...systemDocuments,
    ...kubernetesDocuments,
  }).map(([kind, { fields, ...told }]) => [
    kind,
    {
      kind,
      ...told,
      named: 'name' in fields,
      shape: t.object({ apiVersion: t.text('v1alpha1'), kind: t.always(t.text()), ...fields }),
    },
  ]),
)
