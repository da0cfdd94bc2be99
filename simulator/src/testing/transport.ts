import { createGrpcTransport } from '@connectrpc/connect-node'
import { mintTalosClient, type TalosRole } from '#talos/pki/certificates.ts'
import { standardKey } from '#talos/pki/keys.ts'
import type { SecretsBundle } from '#talos/secrets/bundle.ts'

/** A transport for calls with arbitrary metadata, like talosctl's. */
export const rawTransport = async (
  host: string,
  bundle: SecretsBundle,
  roles: TalosRole[] = ['os:admin'],
): Promise<ReturnType<typeof createGrpcTransport>> => {
  const { ca, crt, key } = await mintTalosClient(bundle, {
    roles,
    lifetimeMs: 3_600_000,
    now: new Date(),
  })
  return createGrpcTransport({
    baseUrl: `https://${host}:50000`,
    nodeOptions: { ca, cert: crt, key: standardKey(key) },
    idleConnectionTimeoutMs: 200,
  })
}
