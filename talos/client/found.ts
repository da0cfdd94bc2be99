/** The configuration that a machine reports. */
import { createHash } from 'node:crypto'
import type { TalosClient } from './client.ts'
import { TalosError } from './errors.ts'
import { resources } from './resources.ts'

export type Found = Awaited<ReturnType<typeof readFound>>

const decoder = new TextDecoder('utf-8', { fatal: false })

/**
 * Reads the configuration with one call, which needs the admin role, because the configuration
 * contains all secrets.
 * @returns `active`: the running configuration. `stored`: the configuration after the next boot,
 * which differs while a change is staged or on trial. `seen`: a digest of both
 * @throws TalosError
 */
export async function readFound(client: TalosClient) {
  const { items } = await client.list(resources.machineConfig)
  const textOf = (id: string): string | undefined => {
    const found = items.find((item) => item.id === id)
    return found && decoder.decode(found.spec.yamlMarshalled)
  }
  const active = textOf('v1alpha1')
  if (active === undefined) throw new TalosError('failed_precondition', 'it has no configuration')
  const stored = textOf('persistent') ?? active
  const digest = createHash('sha256').update(JSON.stringify([active, stored]))
  return { active, stored, seen: digest.digest('hex') }
}
