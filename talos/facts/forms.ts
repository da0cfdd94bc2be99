/** How values are written in a configuration, in the main document and in documents. */
import type { TreeNode } from '../config/tree.ts'
import { encodePem, type KeyPair } from '../pki/keys.ts'
import { type Form, type Home, nodeAt, put } from './home.ts'

/** As it was written: `012` stays `012`. */
const textOf = (node: TreeNode | undefined): string | null =>
  node?.is === 'scalar' && node.value !== null ? (node.plain ?? String(node.value)) : null

export const text: Form<string | null> = {
  read: (node) => textOf(node) || null,
  write: (value) => value ?? undefined,
}

/** An unset list is empty. */
export const texts: Form<readonly string[]> = {
  read: (node) => (node?.is === 'list' ? node.items.flatMap((item) => textOf(item) ?? []) : []),
  write: (value) => value,
}

/** A flag that is false if it is unset. */
export const flag: Form<boolean> = {
  read: (node) => textOf(node) === 'true',
  write: (value) => value || undefined,
}

/** The opposite of a flag that is true if it is unset. */
export const unless: Form<boolean> = {
  read: (node) => textOf(node) === 'false',
  write: (value) => (value ? false : undefined),
}

/** Arguments of a program by flag. A flag may have several values. */
export type Arguments = Readonly<Record<string, readonly string[]>>
export const argumentsOf: Form<Arguments> = {
  read: (node) =>
    node?.is === 'map'
      ? Object.fromEntries(
          Array.from(node.entries, ([name, { value }]) => [
            name,
            value.is === 'list' ? texts.read(value) : [textOf(value) ?? ''],
          ]),
        )
      : {},
  write: (value) =>
    Object.fromEntries(
      Object.entries(value).map(([name, values]) => [
        name,
        values.length === 1 ? values[0] : values,
      ]),
    ),
}

/** Flags by name. */
export const flags: Form<Readonly<Record<string, boolean>>> = {
  read: (node) =>
    node?.is === 'map'
      ? Object.fromEntries(
          Array.from(node.entries, ([name, { value }]) => [name, textOf(value) === 'true']),
        )
      : {},
  write: (value) => value,
}

// Latin-1 keeps every byte of a text that somebody else has written.
const decoded = (base64: string | null): string =>
  Buffer.from(base64 ?? '', 'base64').toString('latin1')
const encoded = (pem: string): string => Buffer.from(pem, 'latin1').toString('base64')

/** A private key: in PEM, and in base64 in the main document. */
export const encodedKey: Form<string | null> = {
  read: (node) => decoded(textOf(node)) || null,
  write: (value) => (value === null ? undefined : encodePem(value)),
}

/**
 * An authority, and others whose certificates are accepted too. In PEM. Without a key, which only
 * control planes have, `key` is empty.
 */
export interface Authorities {
  readonly issuing: KeyPair | null
  readonly accepted: readonly string[]
}

/**
 * The authority in base64 at one path, and the accepted ones at another. Without `acceptedPath` the
 * main document can accept one only.
 */
export const encodedAuthorities = (
  path: string,
  acceptedPath: string | null,
): Home<Authorities> => ({
  kind: '',
  paths: acceptedPath === null ? [path] : [path, acceptedPath],
  read(root) {
    const crt = decoded(textOf(nodeAt(root, `${path}.crt`)))
    const key = decoded(textOf(nodeAt(root, `${path}.key`)))
    const list = acceptedPath === null ? undefined : nodeAt(root, acceptedPath)
    return {
      issuing: crt === '' ? null : { crt, key },
      accepted:
        list?.is === 'list'
          ? list.items.flatMap(
              (item) => decoded(textOf(item.is === 'map' ? nodeAt(item, 'crt') : undefined)) || [],
            )
          : [],
    }
  },
  write(root, { issuing, accepted }) {
    const pair = issuing && { crt: encoded(issuing.crt), key: encoded(issuing.key) }
    const issued = put(root, path, pair ?? undefined)
    return acceptedPath === null
      ? issued
      : put(
          issued,
          acceptedPath,
          accepted.length === 0 ? undefined : accepted.map((crt) => ({ crt: encoded(crt) })),
        )
  },
})

/**
 * Authorities in PEM, in a document of their own. A machine that issues nothing has only accepted
 * ones, the issuing one first (Talos `config/generate/rotatepatcher/kubernetes.go`, K8sSetCA).
 */
export const documentAuthorities = (kind: string): Home<Authorities> => ({
  kind,
  paths: ['issuingCA', 'acceptedCAs'],
  read(root) {
    const crt = textOf(nodeAt(root, 'issuingCA.cert'))
    const key = textOf(nodeAt(root, 'issuingCA.key'))
    const accepted = texts.read(nodeAt(root, 'acceptedCAs'))
    if (crt !== null) return { issuing: { crt, key: key ?? '' }, accepted }
    const [issuing, ...others] = accepted
    return {
      issuing: issuing === undefined ? null : { crt: issuing, key: '' },
      accepted: others,
    }
  },
  write(root, { issuing, accepted }) {
    const isIssuer = issuing !== null && issuing.key !== ''
    const all = issuing === null || isIssuer ? accepted : [issuing.crt, ...accepted]
    const issued = put(
      root,
      'issuingCA',
      isIssuer ? { cert: issuing.crt, key: issuing.key } : undefined,
    )
    return put(issued, 'acceptedCAs', all.length === 0 ? undefined : all)
  },
})
