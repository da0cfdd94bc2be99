/** Whether an endpoint leads to a Kubernetes API of the cluster, seen from Steelyard. */
import { lookup } from 'node:dns/promises'
import { connect } from 'node:tls'
import { type ConnectionCause, connectionFault, lateBy } from '#contract/connections/causes.ts'
import { connectionReason } from '#contract/connections/words.ts'
import { parseAddress } from '#contract/network/addresses.ts'
import { kubernetesPort } from '../../../kubernetes/client.ts'
import type { CoreParts } from '../../clusters/api.ts'
import { timeLimit } from '../../../time-limit.ts'

const deadlineMs = 5_000

/**
 * `api`: an API server of the cluster answers. `unnamed`: it answers, but its certificate does not
 * name the endpoint yet. `strange`: something else answers. `silent`: nothing answers. `unknown`:
 * Steelyard may not connect to the address.
 */
export type Reached =
  | { readonly kind: 'api' }
  | { readonly kind: 'unnamed' | 'strange' | 'silent' | 'unknown'; readonly why: string }

async function addressesOf(host: string): Promise<string[]> {
  return parseAddress(host) === null
    ? (await lookup(host, { all: true })).map((one) => one.address)
    : [host]
}

/** An answer, but not that of an API server of this cluster. */
const strange: ReadonlySet<ConnectionCause> = new Set([
  'plain',
  'tls',
  'tls_versions',
  'own_certificate',
  'own_expired',
  'self_signed',
  'unknown_authority',
  'expired',
  'not_yet_valid',
  'untrusted',
] as const)

/** Makes one TLS handshake and sends no request. */
function shake(address: string, host: string, ca: string, signal: AbortSignal): Promise<Reached> {
  return new Promise((resolve) => {
    const servername = parseAddress(host) === null ? { servername: host } : {}
    const socket = connect({
      host: address,
      port: kubernetesPort,
      ca,
      minVersion: 'TLSv1.2',
      ...servername,
    })
    const end = (reached: Reached): void => {
      socket.destroy()
      resolve(reached)
    }
    const stop = AbortSignal.any([signal, timeLimit(deadlineMs)])
    stop.addEventListener(
      'abort',
      () => end({ kind: 'silent', why: `${address} ${lateBy(deadlineMs)}` }),
      { once: true },
    )
    socket.once('secureConnect', () => end({ kind: 'api' }))
    socket.once('error', (error) => {
      const cause = connectionFault(error)?.cause
      if (cause === 'wrong_name')
        end({
          kind: 'unnamed',
          why: `the certificate of the Kubernetes API at ${address} does not name ${host}`,
        })
      else if (cause !== undefined && strange.has(cause))
        end({
          kind: 'strange',
          why: `${address} is not the Kubernetes API of this cluster: ${connectionReason(error)}`,
        })
      else
        end({
          kind: 'silent',
          why: `nothing answers at ${address}, port ${kubernetesPort}: ${connectionReason(error)}`,
        })
    })
  })
}

/** Tries every address of the endpoint and returns the worst result. */
export async function reach(
  { dial, secrets }: Pick<CoreParts, 'dial' | 'secrets'>,
  clusterId: string,
  host: string,
  signal: AbortSignal,
): Promise<Reached> {
  const { ca } = (await secrets.kubernetesAdmin(clusterId))!
  let addresses: string[]
  try {
    addresses = await addressesOf(host)
  } catch (error) {
    return { kind: 'silent', why: `${host} can't be found: ${connectionReason(error)}` }
  }
  let found: Reached = { kind: 'api' }
  for (const address of addresses.slice(0, 16)) {
    const verdict = dial.check(address, kubernetesPort)
    const one: Reached = verdict.ok
      ? await shake(address, host, ca, signal)
      : { kind: 'unknown', why: verdict.reason }
    if (one.kind === 'unnamed') found = one
    else if (one.kind !== 'api') return one
  }
  return found
}
