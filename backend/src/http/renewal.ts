/**
 * Answers with a renewed certificate without a restart. The files of STEELYARD_TLS_CERT and
 * STEELYARD_TLS_KEY are compared once a minute: an ACME client, or Kubernetes in a mounted secret,
 * replaces them.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import type { Server } from 'node:tls'
import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import { whyRefused } from '../refusal.ts'
import { tlsOptions } from './server-options.ts'

const intervalMs = 60_000

type Files = NonNullable<Config['tls']>

interface Pair {
  readonly cert: Buffer
  readonly key: Buffer
}

/** The files' content; a text says why the server can't answer with it. */
async function readPair({ certFile, keyFile }: Files): Promise<Pair | string> {
  try {
    const pair = { cert: await readFile(certFile), key: await readFile(keyFile) }
    if (((await stat(keyFile)).mode & 0o007) !== 0)
      return `All users of this machine may access ${keyFile}: chmod o= ${keyFile}`
    return new X509Certificate(pair.cert).checkPrivateKey(createPrivateKey(pair.key))
      ? pair
      : `${keyFile} is not the key of the certificate in ${certFile}`
  } catch (error) {
    return `The new certificate can't be read: ${whyRefused(error)}`
  }
}

/** Compares the files with what `server` answers with, each time that it is called. */
export function renewal(server: Pick<Server, 'setSecureContext'>, files: Files, log: Log) {
  let current: Pair | undefined
  let suspected: string | undefined
  let told: string | undefined
  return async (): Promise<void> => {
    const found = await readPair(files)
    if (typeof found === 'string') {
      // Two files are not replaced at the same moment, so only what stays is told, and once.
      if (found === suspected && found !== told) {
        log.error('certificate.refused', {
          reason: `${found}. Steelyard goes on with the former certificate`,
        })
        told = found
      }
      suspected = found
      return
    }
    suspected = told = undefined
    if (current?.cert.equals(found.cert) && current.key.equals(found.key)) return
    server.setSecureContext(tlsOptions(found))
    if (current) log.info('certificate.renewed', { file: files.certFile })
    current = found
  }
}

const hasTls = (server: object): server is Pick<Server, 'setSecureContext'> =>
  'setSecureContext' in server

/**
 * Looks once a minute until the returned function is called.
 * @param server a server with TLS
 */
export async function keepCertificate(
  server: object,
  files: Files,
  log: Log,
): Promise<() => Promise<void>> {
  if (!hasTls(server)) throw new Error('The server has no TLS')
  const look = renewal(server, files, log)
  await look()
  const timer = setInterval(() => void look(), intervalMs)
  return async () => clearInterval(timer)
}
