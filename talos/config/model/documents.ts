/** All documents that a configuration may hold, by kind. */
import type { Minor } from '../../versions.ts'
import { cluster } from './cluster.ts'
import { machine } from './machine.ts'
import { networkDocuments } from './network.ts'
import {
  always,
  choice,
  duration,
  flag,
  inPlace,
  integer,
  list,
  map,
  object,
  type ObjectShape,
  optionalInteger,
  plainChoice,
  secret,
  sensitive,
  addedIn,
  type Shape,
  text,
  texts,
} from './shape.ts'

export interface DocumentShape {
  kind: string
  about: string
  since?: Minor
  /** Told apart by `name`; there is only one of the others. */
  named: boolean
  /** The whole document, its apiVersion and kind included. */
  shape: ObjectShape
}

type Fields = Record<string, Shape>

const expression = (about: string) => text(about)
const provisioning = inPlace(
  object(
    {
      diskSelector: inPlace(object({ match: expression('CEL expression over disk, such as disk.transport == "nvme"') })),
      grow: flag('Take all free space'),
      minSize: text('Such as 10GiB'),
      maxSize: text('Such as 100GiB, or a percentage'),
    },
    'Which disk, and how much of it',
  ),
)
const encryption = inPlace(
  object(
    {
      provider: always(plainChoice(['luks2'])),
      keys: always(
        list(
          object({
            slot: always(integer()),
            static: object({ passphrase: secret() }),
            nodeID: object({}),
            kms: object({ endpoint: always(text()) }),
            tpm: object({ options: object({ pcrs: list(integer()) }), checkSecurebootStatusOnEnroll: flag() }),
            lockToState: flag(),
          }),
        ),
      ),
      cipher: plainChoice(['aes-xts-plain64', 'xchacha12,aes-adiantum-plain64', 'xchacha20,aes-adiantum-plain64']),
      keySize: integer(),
      blockSize: integer(),
      options: texts(),
    },
    'Encryption of the volume',
  ),
)
const name = always(text('Name'))

const blockDocuments: Record<string, { about: string; since?: Minor; fields: Fields }> = {
  VolumeConfig: {
    about: 'A volume of Talos’s own: STATE, EPHEMERAL or IMAGECACHE',
    fields: { name, provisioning, encryption, mount: addedIn('1.13', inPlace(object({ secure: flag() }))) },
  },
  UserVolumeConfig: {
    about: 'A volume for workloads, mounted at /var/mnt/<name>',
    fields: {
      name,
      volumeType: choice(['partition', 'disk', 'directory']),
      provisioning,
      filesystem: inPlace(object({ type: plainChoice(['xfs', 'ext4'], undefined, 'none'), projectQuotaSupport: flag() })),
      encryption,
      mount: addedIn('1.13', inPlace(object({ disableAccessTime: flag(), secure: flag() }))),
    },
  },
  RawVolumeConfig: { about: 'A volume without a file system', fields: { name, provisioning, encryption } },
  ExistingVolumeConfig: {
    about: 'A volume that is there already',
    fields: {
      name,
      discovery: inPlace(object({ volumeSelector: inPlace(object({ match: expression('CEL expression over volume') })) })),
      mount: inPlace(object({ readOnly: flag(), disableAccessTime: addedIn('1.13', flag()), secure: addedIn('1.13', flag()) })),
    },
  },
  ExternalVolumeConfig: {
    about: 'A volume from outside the server',
    since: '1.13',
    fields: {
      name,
      filesystemType: always(plainChoice(['virtiofs'])),
      mount: inPlace(object({ readOnly: flag(), disableAccessTime: flag(), secure: flag(), virtiofs: object({ tag: always(text()) }) })),
    },
  },
  SwapVolumeConfig: { about: 'Swap space', fields: { name, provisioning, encryption } },
  ZswapConfig: { about: 'Compressed swap in memory', fields: { maxPoolPercent: optionalInteger(), shrinkerEnabled: flag() } },
}

const otherDocuments: Record<string, { about: string; since?: Minor; fields: Fields }> = {
  RegistryMirrorConfig: {
    about: 'Where images of a registry are taken from instead',
    fields: {
      name: always(text('Host of the registry, such as ghcr.io')),
      endpoints: list(object({ url: always(text()), overridePath: flag() })),
      skipFallback: flag(),
    },
  },
  RegistryAuthConfig: {
    about: 'Credentials for a registry',
    fields: { name: always(text('Host of the registry')), username: text(), password: secret(), auth: secret(), identityToken: secret() },
  },
  RegistryTLSConfig: {
    about: 'Certificates for a registry',
    fields: { name: always(text('Host of the registry')), clientIdentity: object({ cert: text(), key: secret() }), ca: text(), insecureSkipVerify: flag() },
  },
  ExtensionServiceConfig: {
    about: 'Settings of a system extension’s service',
    fields: {
      name,
      configFiles: { ...list(object({ content: always(sensitive(text())), mountPath: always(text()) })), merge: { by: ['mountPath'] } },
      environment: sensitive(texts(), 'variables'),
    },
  },
  TrustedRootsConfig: { about: 'Further authorities that the server trusts', fields: { name, certificates: always(text('PEM')) } },
  ImageVerificationConfig: {
    about: 'Which images may run',
    since: '1.13',
    fields: {
      rules: {
        ...list(
          object({
            image: text('Pattern of image names'),
            skip: flag(),
            deny: flag(),
            keyless: object({ issuer: text(), subject: text(), subjectRegex: text() }),
            publicKey: object({ certificate: text() }),
          }),
        ),
        merge: { by: ['image'], whole: true },
      },
    },
  },
  PCIDriverRebindConfig: { about: 'Gives a PCI device to another driver', fields: { name: always(text('PCI address')), targetDriver: always(text()) } },
  WatchdogTimerConfig: { about: 'Hardware watchdog', fields: { device: always(text('Such as /dev/watchdog0')), timeout: duration() } },
  EnvironmentConfig: { about: 'Environment of Talos’s services', since: '1.13', fields: { variables: always(sensitive(map(text()))) } },
  OOMConfig: {
    about: 'What is ended when memory runs out',
    fields: {
      triggerExpression: expression('CEL expression'),
      cgroupRankingExpression: expression('CEL expression'),
      strictCgroupClassOrdering: addedIn('1.13', flag()),
      sampleInterval: duration(),
    },
  },
  EventSinkConfig: { about: 'Where Talos’s events go', fields: { endpoint: always(text('host:port')) } },
  KmsgLogConfig: { about: 'Where the kernel’s log goes', fields: { name, url: always(text('tcp://host:port or udp://host:port')) } },
  SideroLinkConfig: { about: 'A tunnel to a management service', fields: { apiUrl: always(secret('URL with join token')), uniqueToken: secret() } },
}

/** The document without a kind. */
export const mainDocument: DocumentShape = {
  kind: '',
  about: 'The machine’s main document',
  named: false,
  shape: object({
    version: always(text('v1alpha1')),
    debug: flag('More of the log on the console'),
    persist: flag('Keep the configuration across reboots'),
    machine: always(machine),
    cluster: always(cluster),
  }),
}

export const documentShapes: ReadonlyMap<string, DocumentShape> = new Map(
  Object.entries({ ...networkDocuments, ...blockDocuments, ...otherDocuments }).map(([kind, { about, since, fields }]) => [
    kind,
    {
      kind,
      about,
      ...(since === undefined ? {} : { since }),
      named: 'name' in fields,
      shape: object({ apiVersion: text('v1alpha1'), kind: always(text()), ...fields }),
    },
  ]),
)
