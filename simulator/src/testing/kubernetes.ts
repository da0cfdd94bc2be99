import { request, type RequestOptions } from 'node:https'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { mintKubernetesClient } from '#talos/pki/certificates.ts'
import { standardKey } from '#talos/pki/keys.ts'
import type { SecretsBundle } from '#talos/secrets/bundle.ts'

export interface Reply {
  status: number
  body: Record<string, unknown>
  text: string
}
export type Ask = (
  method: string,
  path: string,
  body?: unknown,
  contentType?: string,
  headers?: Record<string, string>,
) => Promise<Reply>

export const APPLY = 'application/apply-patch+yaml'

/** Calls an API server with these TLS settings. */
export const asker =
  (host: string, tls: RequestOptions): Ask =>
  (method, path, body, contentType = 'application/json', headers = {}) =>
    new Promise((resolve, reject) => {
      const sent = Buffer.isBuffer(body)
        ? body
        : Buffer.from(
            body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body),
          )
      const call = request(
        {
          host,
          port: 6443,
          method,
          path,
          ...tls,
          agent: false,
          headers: { ...headers, 'content-type': contentType, 'content-length': sent.length },
        },
        (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString()
            resolve({
              status: response.statusCode ?? 0,
              text,
              body: (text.startsWith('{') ? JSON.parse(text) : {}) as Reply['body'],
            })
          })
        },
      )
      call.on('error', reject)
      call.end(sent)
    })

export interface Told {
  type: string
  object: Record<string, unknown> & { metadata: { name: string; resourceVersion: string } }
}

/** A watch and its events so far. The watch ends with the test. */
const watcher =
  (host: string, tls: RequestOptions) =>
  (path: string, headers: Record<string, string> = {}): { told: Told[]; ended: () => boolean } => {
    const told: Told[] = []
    let isEnded = false
    const call = request({ host, port: 6443, path, ...tls, agent: false, headers }, (response) => {
      const lines = createInterface({ input: response })
      // The simulator may stop before the watch.
      response.on('error', () => (isEnded = true))
      lines.on('error', () => (isEnded = true))
      lines.on('line', (line) => told.push(JSON.parse(line) as Told))
      lines.on('close', () => (isEnded = true))
    })
    call.on('error', () => (isEnded = true))
    call.end()
    onTestFinished(() => void call.destroy())
    return { told, ended: () => isEnded }
  }

const credentials = async (
  bundle: SecretsBundle,
  commonName: string,
  organizations: string[],
): Promise<RequestOptions> => {
  const { ca, crt, key } = await mintKubernetesClient(bundle, {
    commonName,
    organizations,
    lifetimeMs: 3_600_000,
    now: new Date(),
  })
  return { ca, cert: crt, key: standardKey(key) }
}

/** Watches an API server as an administrator. */
export const watching = async (
  bundle: SecretsBundle,
  host: string,
): Promise<ReturnType<typeof watcher>> =>
  watcher(host, await credentials(bundle, 'steelyard', ['system:masters']))

export const as = async (
  bundle: SecretsBundle,
  host: string,
  commonName = 'steelyard',
  organizations = ['system:masters'],
): Promise<Ask> => {
  return asker(host, await credentials(bundle, commonName, organizations))
}
