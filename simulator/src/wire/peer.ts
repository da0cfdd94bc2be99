import { X509Certificate } from 'node:crypto'
import type { Http2Session } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import {
  createContextKey,
  Code,
  ConnectError,
  type ServiceImpl,
  type HandlerContext,
} from '@connectrpc/connect'
import type { ApiMode } from '../machine/active.ts'
import type { Machine } from '../machine/machine.ts'
import type { MachineService } from '#talos/proto/gen/machine/machine_pb.ts'

/**
 * The client of a connection, the machine that was called, and the mode of the machine's API when
 * the client connected.
 */
export interface Peer {
  machine: Machine
  mode: ApiMode
  roles: readonly string[]
  session: Http2Session
}

export const PEER = createContextKey<Peer | null>(null)

/** The machine that was called. */
export const machineOf = (context: HandlerContext): Machine => context.values.get(PEER)!.machine

/**
 * The response of one machine. Talos wraps it in a list, because a call can be forwarded to several
 * machines.
 */
export const answer = <Message>(message: Message): { messages: [Message] } => ({
  messages: [message],
})

export const errorOf = (message: string, code: Code, cause: unknown): ConnectError =>
  new ConnectError(message, code, undefined, undefined, cause)

const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2'

/**
 * The roles of a client: the organizations of its certificate. Null if the certificate isn't valid
 * at the machine's time, or if its key usage isn't exactly client authentication (Talos:
 * internal/app/apid, VerifyExtKeyUsage).
 */
export const rolesOf = (socket: TLSSocket, now: number): string[] | null => {
  const certificate = socket.getPeerX509Certificate()
  if (
    !certificate ||
    now < certificate.validFromDate.getTime() ||
    now > certificate.validToDate.getTime()
  )
    return null
  const usages = new X509Certificate(certificate.raw).keyUsage ?? []
  if (usages.length !== 1 || usages[0] !== CLIENT_AUTH) return null
  return organizationsOf(certificate.subject)
}

/**
 * The organizations of a subject in Node.js's format: one attribute per line; attributes of one set
 * are joined by `+`.
 */
export const organizationsOf = (subject: string): string[] =>
  subject.split(/\n|\+/).flatMap((line) => (line.startsWith('O=') ? [line.slice(2)] : []))

/** A part of the calls of `machine.MachineService`. */
export type MachineCalls = Partial<ServiceImpl<typeof MachineService>>

/** Refuses a call on a worker. `what` names the call. */
export const onControlPlane = (machine: Machine, what: string): void => {
  if (machine.config?.node?.role !== 'controlplane')
    throw new ConnectError(`${what} is only available on control plane nodes`, Code.Unimplemented)
}
