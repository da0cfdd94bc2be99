/**
 * Answers with a renewed certificate without a restart. The files of STEELYARD_TLS_CERT and
 * STEELYARD_TLS_KEY are compared once a minute: an ACME client, or Kubernetes in a mounted secret,
 * replaces them.
 */
import type { Server } from 'node:tls'
import { readTls, type TlsPair } from '../config-files.ts'
import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import { tlsOptions } from './server-options.ts'

const intervalMs = 60_000

type Files = NonNullable<Config['tls']>

/** Compares the files with what `server` answers with, each time that it is called. */
export function renewal(server: Pick<Server, 'setSecureContext'>, files: Files, log: Log) {
  let current: TlsPair | undefined
  let suspected: string | undefined
  let told: string | undefined
  return async (): Promise<void> => {
    const problems: string[] = []
    const found = await readTls(files, problems)
    if (!found) {
      const problem = problems.join('. ')
      // Two files are not replaced at the same moment, so only what stays is told, and once.
      if (problem === suspected && problem !== told) {
        log.error('certificate.refused', {
          reason: `${problem}. Steelyard goes on with the former certificate`,
        })
        told = problem
      }
      suspected = problem
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
