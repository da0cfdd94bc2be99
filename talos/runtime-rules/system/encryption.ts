/** Keys of encrypted volumes, in both forms. */
import type { Report } from '../../config/report.ts'
import { type Configuration, quoted, type RuntimeRule } from '../rule.ts'

const folder = 'Talos internal/pkg/encryption'
const old = ['machine', 'systemDiskEncryption'] as const

interface Section {
  readonly document: Report
  /** Where the section of encryption lies. */
  readonly path: readonly string[]
  /** The volume, for the sentence. */
  readonly volume: string
}

function* sectionsOf(config: Configuration): Generator<Section> {
  for (const { path, key } of config.main.entries(...old))
    yield { document: config.main, path, volume: key.toUpperCase() }
  for (const document of config.of(
    'VolumeConfig',
    'UserVolumeConfig',
    'RawVolumeConfig',
    'SwapVolumeConfig',
  ))
    if (document.has('encryption'))
      yield { document, path: ['encryption'], volume: document.text('name') }
}

function* keysOf(config: Configuration) {
  for (const { document, path, volume } of sectionsOf(config))
    for (const key of document.items(...path, 'keys')) yield { document, volume, path: key.path }
}

/** The keys of each encrypted volume, as paths. */
export function* keysByVolume(config: Configuration) {
  for (const { document, path, volume } of sectionsOf(config))
    yield { document, volume, keys: document.items(...path, 'keys').map((key) => key.path) }
}

const ciphers = [
  'aes-xts-plain64',
  'xchacha12,aes-adiantum-plain64',
  'xchacha20,aes-adiantum-plain64',
]

export const encryptionRules: readonly RuntimeRule[] = [
  {
    id: 'volume-passphrase',
    source: `${folder}/keys/static.go gives the passphrase to cryptsetup as it is, which refuses an empty one: "Nothing to read on input"`,
    level: 'refuse',
    *find(config) {
      for (const { document, path, volume } of keysOf(config)) {
        const where = [...path, 'static']
        if (
          document.nearest(where) !== document.nearest(path) &&
          document.text(...where, 'passphrase').trim() === ''
        )
          yield {
            document,
            path: where,
            sentence: `The passphrase of ${volume} is empty, so the volume is never encrypted or opened`,
          }
      }
    },
  },
  {
    id: 'volume-kms',
    source: `${folder}/keys/kms.go, getConn; internal/pkg/endpoint/endpoint.go, Parse: the volume waits until the service answers`,
    level: 'refuse',
    *find(config) {
      for (const { document, path, volume } of keysOf(config)) {
        const where = [...path, 'kms']
        if (document.nearest(where) === document.nearest(path)) continue
        const text = document.text(...where, 'endpoint')
        const url = text.includes('://') ? text : `grpc://${text}`
        if (!/^[a-z]+:\/\/(\[[\da-f:.]+\]|[^/:\s[\]]+)(:\d+)?\/?$/i.test(url) || !URL.canParse(url))
          yield {
            document,
            path: [...where, 'endpoint'],
            sentence: `${text === '' ? 'The endpoint of the key service is missing' : `${quoted(text)} is not the endpoint of a key service, such as https://kms.example.org:4050`}, so ${volume} is never opened`,
          }
      }
    },
  },
  {
    id: 'volume-kms-in-the-clear',
    source:
      'Talos internal/pkg/endpoint/endpoint.go, Parse: without a scheme it is grpc, and grpc is not encrypted',
    level: 'warn',
    *find(config) {
      for (const { document, path, volume } of keysOf(config)) {
        const where = [...path, 'kms', 'endpoint']
        const text = document.text(...where)
        if (text === '' || (text.includes('://') && !/^grpc:/i.test(text))) continue
        yield {
          document,
          path: where,
          sentence: `The key of ${volume} goes to the key service unencrypted, because ${text.includes('://') ? 'grpc' : 'an address without a scheme'} has no TLS: write https://${text.replace(/^\w+:\/\//, '')} if the service has it`,
        }
      }
    },
  },
  {
    id: 'volume-cipher',
    source:
      'siderolabs/go-blockdevice encryption/luks/luks.go, ParseCipherKind: "unknown cipher kind"',
    level: 'refuse',
    *find(config) {
      for (const { document, path, volume } of sectionsOf(config)) {
        const where = [...path, 'cipher']
        const cipher = document.text(...where)
        if (cipher !== '' && !ciphers.includes(cipher))
          yield {
            document,
            path: where,
            sentence: `Talos has no cipher ${quoted(cipher)} (${ciphers.join('; ')}), so ${volume} is never encrypted`,
          }
      }
    },
  },
]
