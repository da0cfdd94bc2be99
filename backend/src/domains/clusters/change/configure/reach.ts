/** Whether an endpoint leads to a Kubernetes API of the cluster, seen from Steelyard. */
import { lookup } from 'node:dns/promises'
import { connect } from 'node:tls'
import { parseAddress } from '#contract/network/addresses.ts'
import { kubernetesPort } from '../../../../kubernetes/client.ts'
import type { CoreParts } from '../../parts.ts'

const deadlineMs = 5_000

/**
 * `api`: an API server of the cluster answers. `unnamed`: it answers, but its certificate does not
 * name the endpoint yet. `strange`: something else answers. `silent`: nothing answers. `unknown`:
 * Steelyard may not connect to the address.
 */
export type Reached =
  | { readonly kind: 'api' }
  | { readonly kind: 'unnamed' | 'strange' | 'silent' | 'unknown'; readonly why: string }

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : 'unknown error'

async function addressesOf(host: string): Promise<string[]> {
  return parseAddress(host) === null
    ? (await lookup(host, { all: true })).map((one) => one.address)
    : [host]
}

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
    const stop = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)])
    stop.addEventListener(
      'abort',
      () =>
        end({ kind: 'silent', why: `${address} does not answer within ${deadlineMs / 1000} s` }),
      { once: true },
    )
    socket.once('secureConnect', () => end({ kind: 'api' }))
    socket.once('error', (error) => {
      const code = codeOf(error)
      if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
        end({
          kind: 'unnamed',
          why: `the certificate of the Kubernetes API at ${address} does not name ${host}`,
        })
      else if (/CERT|SIGNED|VERIFY|ISSUER|SSL|EPROTO/.test(code))
        end({
          kind: 'strange',
          why: `${address} is not the Kubernetes API of this cluster (${code})`,
        })
      else
        end({
          kind: 'silent',
          why: `nothing answers at ${address}, port ${kubernetesPort} (${code})`,
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
    return { kind: 'silent', why: `${host} has no address (${codeOf(error)})` }
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
