/** Files that settings name. What is wrong with one is a sentence that begins with the setting. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { whyRefused } from './refusal.ts'

interface Read<T> {
  readonly bytes: Buffer
  /** Of stat(2). */
  readonly mode: number
  readonly parsed: T
}

/** The content of the file; undefined without a file, or if `problems` gets why it can't be read. */
export async function readAs<T>(
  setting: string,
  file: string | undefined,
  { what, parse }: { readonly what: string; readonly parse: (bytes: Buffer) => T },
  problems: string[],
): Promise<Read<T> | undefined> {
  if (file === undefined) return undefined
  let why: string | undefined
  try {
    const bytes = await readFile(file)
    const { mode } = await stat(file)
    why = `is not ${what}`
    return { bytes, mode, parsed: parse(bytes) }
  } catch (error) {
    why ??= `can't be read: ${whyRefused(error)}`
    problems.push(`${setting} names ${file}, which ${why}`)
    return undefined
  }
}

/** In PEM. */
export interface TlsPair {
  readonly cert: Buffer
  readonly key: Buffer
}

/**
 * Why OpenSSL refuses the pair; null if it doesn't. `X509Certificate` reads only the first block of
 * a file: what follows may be cut off, and a key may be too weak.
 */
function whyUnusable(pair: TlsPair): string | null {
  try {
    createSecureContext({ ...pair })
    return null
  } catch (error) {
    const { reason, message } = error as Error & { reason?: string }
    return reason ?? message
  }
}

/** The certificate that HTTPS is served with, and its key; undefined if they can't be used. */
export async function readTls(
  { certFile, keyFile }: Readonly<Record<'certFile' | 'keyFile', string | undefined>>,
  problems: string[],
): Promise<TlsPair | undefined> {
  const known = problems.length
  const cert = await readAs(
    'STEELYARD_TLS_CERT',
    certFile,
    { what: 'a certificate in PEM', parse: (bytes) => new X509Certificate(bytes) },
    problems,
  )
  const key = await readAs(
    'STEELYARD_TLS_KEY',
    keyFile,
    {
      what: 'a private key in PEM without a passphrase',
      parse: (bytes) => createPrivateKey(bytes),
    },
    problems,
  )
  if (cert && key && !cert.parsed.checkPrivateKey(key.parsed))
    problems.push('STEELYARD_TLS_KEY is not the key of the certificate in STEELYARD_TLS_CERT')
  else if (cert && key) {
    const why = whyUnusable({ cert: cert.bytes, key: key.bytes })
    if (why !== null)
      problems.push(`STEELYARD_TLS_CERT names ${certFile}, which can't be used for TLS: ${why}`)
  }
  if (key && (key.mode & 0o007) !== 0)
    problems.push(
      `STEELYARD_TLS_KEY names ${keyFile}, which all users of this machine may access: chmod o= ${keyFile}`,
    )
  return cert && key && problems.length === known ? { cert: cert.bytes, key: key.bytes } : undefined
}
