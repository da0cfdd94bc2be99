import { request, type RequestOptions } from 'node:https'
import { mintKubernetesClient } from '#talos/pki/clients.ts'
import { standardKey } from '#talos/pki/keys.ts'
import type { SecretsBundle } from '#talos/secrets/bundle.ts'

export interface Reply {
  status: number
  body: Record<string, unknown>
  text: string
}
export type Ask = (method: string, path: string, body?: unknown, contentType?: string) => Promise<Reply>

export const APPLY = 'application/apply-patch+yaml'

/** Calls of one API server, with these TLS settings. */
export const asker =
  (host: string, tls: RequestOptions): Ask =>
  (method, path, body, contentType = 'application/json') =>
    new Promise((resolve, reject) => {
      const call = request({ host, port: 6443, method, path, ...tls, agent: false, headers: { 'content-type': contentType } }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          resolve({ status: response.statusCode ?? 0, text, body: (text.startsWith('{') ? JSON.parse(text) : {}) as Reply['body'] })
        })
      })
      call.on('error', reject)
      call.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body))
    })

export const as = async (bundle: SecretsBundle, host: string, commonName = 'steelyard', organizations = ['system:masters']): Promise<Ask> => {
  const { ca, crt, key } = await mintKubernetesClient(bundle, { commonName, organizations, lifetimeMs: 3_600_000, now: new Date() })
  return asker(host, { ca, cert: crt, key: standardKey(key) })
}
