import { X509Certificate } from 'node:crypto'
import type { Http2Session } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { createContextKey } from '@connectrpc/connect'
import type { ApiMode, Machine } from '../machine/machine.ts'

/** Who is at the other end of a connection, and to which machine in which mode it was made. */
export interface Peer {
  machine: Machine
  mode: ApiMode
  roles: readonly string[]
  session: Http2Session
}

export const PEER = createContextKey<Peer | null>(null)

const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2'

/**
 * Roles are the organizations of the client's certificate. Null: its key usage isn't exactly client authentication, which Talos refuses
 * (Talos: internal/app/apid, VerifyExtKeyUsage), or by the machine's clock it is out of its time.
 */
export const rolesOf = (socket: TLSSocket, now: number): string[] | null => {
  const certificate = socket.getPeerX509Certificate()
  if (!certificate || now < certificate.validFromDate.getTime() || now > certificate.validToDate.getTime()) return null
  const usages = new X509Certificate(certificate.raw).keyUsage ?? []
  if (usages.length !== 1 || usages[0] !== CLIENT_AUTH) return null
  return organizationsOf(certificate.subject)
}

/** Every O of a subject as Node prints it: one attribute per line, those of one set joined by `+`. */
export const organizationsOf = (subject: string): string[] => subject.split(/\n|\+/).flatMap((line) => (line.startsWith('O=') ? [line.slice(2)] : []))
