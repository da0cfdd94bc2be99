/** Registries and their mirrors. */
import type { Report } from '../config/report.ts'
import { isBase64 } from '../config/formats.ts'
import { type Configuration, quoted, type RuntimeRule } from './rule.ts'

const source = 'Talos internal/pkg/containers/cri/containerd/hosts.go, GenerateHosts'
const old = ['machine', 'registries'] as const

const endpointsOf = (config: Configuration) => {
  const { main } = config
  const mirrors = main.entries(...old, 'mirrors').flatMap(({ path }) =>
    main.texts(...path, 'endpoints').map(({ path: where, text }) => ({
      document: main,
      path: where,
      url: text,
      hasOwnPath: main.flag(...path, 'overridePath'),
    })),
  )
  const documents = config.of('RegistryMirrorConfig').flatMap((document) =>
    document.items('endpoints').map(({ path }) => ({
      document,
      path: [...path, 'url'],
      url: document.text(...path, 'url'),
      hasOwnPath: document.flag(...path, 'overridePath'),
    })),
  )
  return [...mirrors, ...documents]
}

const namesOf = (config: Configuration): { document: Report; path: string[]; name: string }[] => [
  ...['mirrors', 'config'].flatMap((section) =>
    config.main
      .entries(...old, section)
      .map(({ path, key }) => ({ document: config.main, path, name: key })),
  ),
  ...config
    .of('RegistryMirrorConfig', 'RegistryAuthConfig', 'RegistryTLSConfig')
    .map((document) => ({ document, path: ['name'], name: document.text('name') })),
]

/** The text in base64; empty for another text. */
const decoded = (text: string): string =>
  isBase64(text) ? Buffer.from(text, 'base64').toString('utf8') : ''

export const registryRules: readonly RuntimeRule[] = [
  {
    id: 'registry-endpoint',
    source,
    level: 'refuse',
    *find(config) {
      for (const { document, path, url } of endpointsOf(config))
        if (!/^https?:\/\/[^/?#\s]+(\/[^\s?#]*)?$/.test(url) || !URL.canParse(url))
          yield {
            document,
            path,
            sentence: `The mirror ${quoted(url)} can’t be used: it must be a URL such as https://mirror.example.org, without spaces`,
          }
    },
  },
  {
    id: 'registry-name',
    source: `${source}; containerd looks a registry up by its host (docs/hosts.md)`,
    level: 'refuse',
    *find(config) {
      for (const { document, path, name } of namesOf(config))
        if (name !== '*' && /[/*\s]/.test(name))
          yield {
            document,
            path,
            sentence: `The registry ${quoted(name)} is never found: images name it by its host alone, such as ${/^(?:[a-z]+:\/\/)?([^/*\s]+)/.exec(name.trim())?.[1] ?? 'ghcr.io'}`,
          }
    },
  },
  {
    id: 'registry-of-docker',
    source: 'distribution reference/normalize.go: images of Docker Hub have the domain docker.io',
    level: 'warn',
    *find(config) {
      for (const { document, path, name } of namesOf(config))
        if (name === 'index.docker.io' || name === 'registry-1.docker.io')
          yield {
            document,
            path,
            sentence: `Images of Docker Hub are looked for as docker.io, not as ${name}`,
          }
    },
  },
  {
    id: 'registry-of-endpoint',
    source: `${source}: a registry is found by host and port`,
    level: 'warn',
    *find(config) {
      const hosts = endpointsOf(config).flatMap(({ url }) =>
        URL.canParse(url) ? [new URL(url)] : [],
      )
      const isMirrored = (name: string) =>
        config.main.has(...old, 'mirrors', name) ||
        config.of('RegistryMirrorConfig').some((document) => document.text('name') === name)
      const settings = [
        ...config.main
          .entries(...old, 'config')
          .map(({ path, key }) => ({ document: config.main, path, name: key })),
        ...config
          .of('RegistryAuthConfig', 'RegistryTLSConfig')
          .map((document) => ({ document, path: ['name'], name: document.text('name') })),
      ]
      for (const { document, path, name } of settings) {
        const other = hosts.find((url) => url.hostname === name && url.port !== '')
        if (other && !isMirrored(name) && !hosts.some((url) => url.host === name))
          yield {
            document,
            path,
            sentence: `The mirror is ${other.host}, so the settings of ${name} are not used for it: write ${quoted(other.host)}`,
          }
      }
    },
  },
  {
    id: 'registry-tls-of-all',
    source: `${source}: "wildcard host TLS configuration is not supported"`,
    level: 'refuse',
    *find(config) {
      const { main } = config
      const hasMirror =
        main.has(...old, 'mirrors', '*') ||
        config.of('RegistryMirrorConfig').some((document) => document.text('name') === '*')
      if (hasMirror) return
      const sentence =
        'TLS of the registry * is not possible without a mirror of *: Talos stops configuring all registries'
      if (main.has(...old, 'config', '*', 'tls'))
        yield { document: main, path: [...old, 'config', '*', 'tls'], sentence }
      for (const document of config.of('RegistryTLSConfig'))
        if (document.text('name') === '*') yield { document, path: ['name'], sentence }
    },
  },
  {
    id: 'registry-tls-without-https',
    source:
      'Talos internal/pkg/containers/image/resolver.go, RegistryHosts: "TLS config specified for non-HTTPS registry" (siderolabs/talos#10450)',
    level: 'refuse',
    *find(config) {
      const { main } = config
      const hasTls = (host: string): boolean =>
        main.has(...old, 'config', host, 'tls') ||
        config.of('RegistryTLSConfig').some((document) => document.text('name') === host)
      for (const { document, path, url } of endpointsOf(config)) {
        const host = /^http:\/\/([^/]+)/.exec(url)?.[1]
        if (host !== undefined && hasTls(host))
          yield {
            document,
            path,
            sentence: `The mirror ${url} is plain http, and ${host} has settings of TLS, so Talos gets no image of this registry: write https, or take the TLS of ${host} out`,
          }
      }
    },
  },
  {
    id: 'registry-path',
    source: 'containerd docs/hosts.md, override_path: /v2 is added to a path without it',
    level: 'warn',
    *find(config) {
      for (const { document, path, url, hasOwnPath } of endpointsOf(config))
        if (!hasOwnPath && /^https?:\/\/[^/]+\/(.*\/)?v2(\/|$)/.test(url))
          yield {
            document,
            path,
            sentence: `Images are looked for at ${url.replace(/\/$/, '')}/v2: with /v2 in the URL, the mirror needs overridePath: true`,
          }
    },
  },
  {
    id: 'registry-certificate',
    source: `${source}: the authority is written to a file, and containerd fails with "invalid PEM"`,
    level: 'refuse',
    *find({ main }) {
      for (const { path, key } of main.entries(...old, 'config')) {
        const text = main.text(...path, 'tls', 'ca')
        if (text !== '' && !Buffer.from(text, 'base64').includes('-----BEGIN CERTIFICATE-----'))
          yield {
            document: main,
            path: [...path, 'tls', 'ca'],
            sentence: `The authority of ${key} must be a certificate in PEM, in base64: begin with base64 of -----BEGIN CERTIFICATE-----`,
          }
      }
    },
  },
  {
    id: 'registry-auth',
    source:
      'containerd internal/cri/server/images/image_pull.go, ParseAuth: base64 of name:password, else "invalid decoded auth"',
    level: 'refuse',
    *find(config) {
      const { main } = config
      const found = [
        ...main
          .entries(...old, 'config')
          .map(({ path, key }) => ({ document: main, at: [...path, 'auth'], key })),
        ...config
          .of('RegistryAuthConfig')
          .map((document) => ({ document, at: [] as string[], key: document.text('name') })),
      ]
      for (const { document, at, key } of found) {
        const auth = document.text(...at, 'auth')
        if (auth !== '' && !/^[^:]+:./s.test(decoded(auth)))
          yield {
            document,
            path: [...at, 'auth'],
            sentence: `The field auth of ${key} must be base64 of name:password, so no image is pulled from it`,
          }
      }
    },
  },
  {
    id: 'registry-user-in-url',
    source:
      'containerd core/remotes/docker/config/hosts.go: of the URL, scheme, host and path are used only',
    level: 'warn',
    *find(config) {
      for (const { document, path, url } of endpointsOf(config))
        if (/^https?:\/\/[^/?#\s]*@/.test(url))
          yield {
            document,
            path,
            sentence:
              'A name and password in the URL of a mirror are left out: write them into the auth of the mirror’s host',
          }
    },
  },
  {
    id: 'registry-closed',
    source: `${source}: without endpoints and with skipFallback no server is left`,
    level: 'warn',
    *find(config) {
      const { main } = config
      const found = [
        ...main
          .entries(...old, 'mirrors')
          .map(({ path, key }) => ({ document: main, at: path, key })),
        ...config
          .of('RegistryMirrorConfig')
          .map((document) => ({ document, at: [] as string[], key: document.text('name') })),
      ]
      for (const { document, at, key } of found)
        if (document.flag(...at, 'skipFallback') && !document.has(...at, 'endpoints'))
          yield {
            document,
            path: [...at, 'skipFallback'],
            sentence: `The registry ${key} has no mirror and no way back to itself, so no image is pulled from it`,
          }
    },
  },
]
