/** Certificates in configurations whose text is broken, and registries in both forms. */
import type { Report } from '../config/report.ts'
import type { Configuration, Hit, RuntimeRule } from './rule.ts'

const begin = '-----BEGIN CERTIFICATE-----'
const end = '-----END CERTIFICATE-----'

/** Bytes that a DER value (X.690, 8.1.3) says it has, with its tag and length; null if it is none. */
function derLength(bytes: Buffer): number | null {
  const [tag, first] = bytes
  if (tag !== 0x30 || first === undefined) return null
  if (first < 0x80) return first + 2
  const count = first - 0x80
  return count > 4 || bytes.length < 2 + count ? null : bytes.readUIntBE(2, count) + 2 + count
}

/** Why a text with certificates in PEM is broken, or null (RFC 7468; Go's `encoding/pem`). */
function pemProblem(text: string): string | null {
  const blocks = text.split(begin).slice(1)
  for (const block of blocks) {
    const [body, rest] = block.split(end, 2)
    if (rest === undefined) return `has no line ${end}`
    const inner = (body ?? '').replaceAll(/\s/g, '')
    if (inner === '') return 'is empty'
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(inner)) return 'has characters that base64 does not have'
    const bytes = Buffer.from(inner, 'base64')
    if (inner.length % 4 !== 0 || derLength(bytes) !== bytes.length)
      return 'is cut or incomplete: copy it again as a whole'
  }
  return null
}

const old = ['machine', 'registries'] as const

/** Authorities in PEM, with what they are of; base64 is decoded. */
function* authorities(
  config: Configuration,
): Iterable<{ document: Report; path: string[]; text: string; what: string }> {
  const { main } = config
  const decoded = (text: string): string => Buffer.from(text, 'base64').toString('latin1')
  for (const { path, key } of main.entries(...old, 'config'))
    yield {
      document: main,
      path: [...path, 'tls', 'ca'],
      text: decoded(main.text(...path, 'tls', 'ca')),
      what: `The authority of ${key}`,
    }
  for (const section of ['machine', 'cluster'])
    for (const { path } of main.items(section, 'acceptedCAs'))
      yield {
        document: main,
        path: [...path, 'crt'],
        text: decoded(main.text(...path, 'crt')),
        what: `An accepted authority of the ${section}`,
      }
  for (const document of config.of('RegistryTLSConfig'))
    yield {
      document,
      path: ['ca'],
      text: document.text('ca'),
      what: `The authority of ${document.text('name')}`,
    }
  for (const document of config.of('TrustedRootsConfig'))
    yield {
      document,
      path: ['certificates'],
      text: document.text('certificates'),
      what: `A certificate of ${document.text('name')}`,
    }
}

export const certificateRules: readonly RuntimeRule[] = [
  {
    id: 'certificate-broken',
    source:
      'Go crypto/x509, AppendCertsFromPEM: leaves out what it can’t parse; containerd’s core/remotes/docker/config/hosts.go fails with "unable to load CA file"',
    level: 'refuse',
    *find(config): Generator<Hit> {
      for (const { document, path, text, what } of authorities(config)) {
        const problem = text.includes(begin) ? pemProblem(text) : null
        if (problem !== null) yield { document, path, sentence: `${what} ${problem}` }
      }
    },
  },
  {
    id: 'registry-in-both-forms',
    source:
      'Talos pkg/machinery/config/container/container.go, RegistryMirrorConfigs, RegistryAuthConfigs and RegistryTLSConfigs: a document replaces the entry of the old form with its name',
    level: 'warn',
    *find(config): Generator<Hit> {
      const { main } = config
      for (const [kind, section, key] of [
        ['RegistryMirrorConfig', ['mirrors'], null],
        ['RegistryAuthConfig', ['config'], 'auth'],
        ['RegistryTLSConfig', ['config'], 'tls'],
      ] as const)
        for (const document of config.of(kind)) {
          const name = document.text('name')
          const there = [...old, ...section, name, ...(key === null ? [] : [key])]
          if (name !== '' && main.has(...there))
            yield {
              document,
              path: ['name'],
              sentence: `The ${kind} of ${name} replaces ${there.join('.')}, which has no effect: keep one of both`,
            }
        }
    },
  },
]
