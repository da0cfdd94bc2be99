/** The owner of a cluster that Steelyard takes over: acts on it without Steelyard. */
import { parse, stringify } from 'yaml'
import type { TalosClient } from '#talos/client/client.ts'
import { connectSecure } from '#talos/client/connect.ts'
import { createAuthority, type Credentials, mintTalosClient } from '#talos/pki/certificates.ts'
import { generateSecrets, type SecretsBundle } from '#talos/secrets/bundle.ts'
import { readyKeys } from '#talos/testing/keys.ts'
import { readFound } from '#talos/client/found.ts'
import type { ClusterWorld } from '../testing/world.ts'

export const adminOf = (of: SecretsBundle): Promise<Credentials> =>
  mintTalosClient(of, { roles: ['os:admin'], lifetimeMs: 3_600_000, now: new Date() })

/** Connects as talosctl does, with an admin's certificate and without Steelyard. */
export const outside = async <T>(
  address: string,
  keys: Credentials,
  act: (client: TalosClient) => Promise<T>,
): Promise<T> => {
  const client = await connectSecure({ host: address }, keys, { deadlineMs: 10_000 })
  try {
    return await act(client)
  } finally {
    client.close()
  }
}

/** The configuration that the machine at an address has. */
export const held = (address: string, keys: Credentials): Promise<string> =>
  outside(address, keys, async (client) => (await readFound(client)).active)

/** Secrets of another cluster. */
export const otherBundle = async () =>
  generateSecrets({
    now: new Date(),
    keys: { k8sServiceAccount: (await readyKeys()).k8sServiceAccount },
  })

/**
 * The steps of `talosctl rotate-ca`: accept the new authority, sign with it, then stop accepting
 * the old one. `madeAt`: when the new authority was made, which is valid for ten years.
 */
export async function rotate(
  addresses: readonly string[],
  from: SecretsBundle,
  until: ClusterWorld['until'],
  madeAt = new Date(),
): Promise<SecretsBundle> {
  const os = await createAuthority({
    kind: 'ed25519',
    subject: { organizations: ['talos'] },
    now: madeAt,
  })
  const to = { ...from, certs: { ...from.certs, os } }
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const [old, fresh] = [await adminOf(from), await adminOf(to)]
  // During the rotation a machine may use a certificate of the old or the new authority, so both
  // are tried.
  const byEither = <T>(address: string, act: (client: TalosClient) => Promise<T>) =>
    outside(address, old, act).catch(() => outside(address, fresh, act))
  const change = async (edit: (machine: Record<string, unknown>) => void) => {
    for (const address of addresses) {
      const parts = (
        await byEither(address, async (client) => (await readFound(client)).active)
      ).split('---\n')
      const main = parse(parts[0]!) as { machine: Record<string, unknown> }
      edit(main.machine)
      await byEither(address, (client) =>
        client.applyConfiguration([stringify(main), ...parts.slice(1)].join('---\n'), {
          mode: 'auto',
        }),
      )
    }
  }
  await change((machine) => (machine['acceptedCAs'] = [{ crt: base64(os.crt), key: '' }]))
  await change((machine) => {
    const key = (machine['ca'] as { key: string }).key
    machine['ca'] = { crt: base64(os.crt), key: key === '' ? '' : base64(os.key) }
    machine['acceptedCAs'] = [{ crt: base64(from.certs.os.crt), key: '' }]
  })
  const answers = (keys: Credentials) =>
    until(
      () => Promise.all(addresses.map((address) => held(address, keys).catch(() => null))),
      (all) => all.every((one) => one !== null),
    )
  await answers(fresh)
  await change((machine) => delete machine['acceptedCAs'])
  await answers(fresh)
  return to
}
