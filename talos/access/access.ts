import { stringify } from 'yaml'
import { readDocuments, textsOf } from '../config/tree.ts'
import type { Credentials } from '../pki/certificates.ts'

// Parsing of credential files from other programs.

type Fields = Readonly<Record<string, unknown>>

/**
 * Parses a YAML mapping. Throws an Error that names the expected kind of file (`what`) for any
 * other text.
 */
function yaml(text: string, what: string): Fields {
  let root: unknown
  try {
    const [first] = readDocuments(text, what)
    root = first && textsOf(first)
  } catch {
    throw new Error(`The ${what} is no YAML mapping of plain values`)
  }
  if (root === undefined) throw new Error(`This is no ${what}`)
  return root as Fields
}

function mapAt(fields: Fields | undefined, key: string): Fields | undefined {
  const value = fields?.[key]
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : undefined
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/**
 * More than the authorities of any cluster take. Longer texts could hold certificates that are slow
 * to read.
 */
const longestPem = 32 * 1024

/** Decodes PEM in base64. @throws Error with the message `missing` if the value is no PEM */
function decodedPem(value: string | undefined, missing: string): string {
  const pem = Buffer.from(value ?? '', 'base64').toString('utf8')
  if (!pem.startsWith('-----BEGIN ') || pem.length > longestPem) throw new Error(missing)
  return pem
}

/**
 * A kubeconfig with one cluster and one user. As in Talos's own files, user and context are called
 * `<user>@<cluster>` (Talos `pkg/kubeconfig/generate.go`). `server` is the endpoint's URL.
 */
export function kubeconfig(
  options: Credentials & { cluster: string; server: string; user: string },
): string {
  const name = `${options.user}@${options.cluster}`
  const encode = (pem: string) => Buffer.from(pem).toString('base64')
  return stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: options.cluster,
          cluster: { server: options.server, 'certificate-authority-data': encode(options.ca) },
        },
      ],
      users: [
        {
          name,
          user: {
            'client-certificate-data': encode(options.crt),
            'client-key-data': encode(options.key),
          },
        },
      ],
      contexts: [{ name, context: { cluster: options.cluster, namespace: 'default', user: name } }],
      'current-context': name,
    },
    { indent: 4, lineWidth: 0 },
  )
}

/**
 * Authorities and server of the current context of a kubeconfig. Throws an Error with a sentence
 * for the user.
 */
export function readKubeconfig(text: string): { server: string; ca: string } {
  const root = yaml(text, 'kubeconfig')
  const named = (
    list: unknown,
    name: string | undefined,
  ): Readonly<Record<string, unknown>> | undefined =>
    Array.isArray(list)
      ? (list as unknown[])
          .map((item) => ({ item: item as Record<string, unknown> }))
          .find(({ item }) => name === undefined || textOf(item?.['name']) === name)?.item
      : undefined
  const context = mapAt(named(root['contexts'], textOf(root['current-context'])), 'context')
  const cluster = mapAt(named(root['clusters'], textOf(context?.['cluster'])), 'cluster')
  if (!cluster) throw new Error('The kubeconfig has no cluster')
  return {
    server: textOf(cluster['server']) ?? '',
    ca: decodedPem(
      textOf(cluster['certificate-authority-data']),
      'The kubeconfig has no certificate-authority-data: write one that has (kubectl config view --raw --flatten --minify)',
    ),
  }
}

/**
 * A talosctl configuration (`~/.talos/config`). `endpoints` are the control planes that receive and
 * forward calls. `nodes` are the default targets: none, as in Talos's own files, or the only server
 * that the file is for. Source: Talos `pkg/machinery/client/config/config.go`.
 */
export function talosconfig(
  options: Credentials & {
    context: string
    endpoints: readonly string[]
    nodes?: readonly string[]
  },
): string {
  const encode = (pem: string) => Buffer.from(pem).toString('base64')
  return stringify(
    {
      context: options.context,
      contexts: {
        [options.context]: {
          endpoints: [...options.endpoints],
          ...(options.nodes === undefined || options.nodes.length === 0
            ? {}
            : { nodes: [...options.nodes] }),
          ca: encode(options.ca),
          crt: encode(options.crt),
          key: encode(options.key),
        },
      },
    },
    { indent: 4, lineWidth: 0 },
  )
}

/** The current context of a talosconfig. Throws an Error with a sentence for the user. */
export function readTalosconfig(text: string) {
  const root = yaml(text, 'talosconfig')
  const contexts = mapAt(root, 'contexts')
  const name = textOf(root?.['context']) ?? Object.keys(contexts ?? {})[0]
  const context = name === undefined ? undefined : mapAt(contexts, name)
  if (name === undefined || context === undefined) throw new Error('The talosconfig has no context')
  if (mapAt(mapAt(context, 'auth'), 'siderov1') !== undefined && !('crt' in context))
    throw new Error(
      `The context ${name} of the talosconfig signs in at Omni and has no keys of its own. Give a talosconfig with a certificate of the cluster, of the role os:admin, or the secrets of the cluster`,
    )
  const pem = (key: string): string =>
    decodedPem(textOf(context[key]), `The talosconfig has no ${key} in its context ${name}`)
  const endpoints = Array.isArray(context['endpoints'])
    ? context['endpoints'].filter((e) => typeof e === 'string')
    : []
  return {
    context: name,
    endpoints: endpoints.slice(0, 64),
    ca: pem('ca'),
    crt: pem('crt'),
    key: pem('key'),
  }
}
