/** For tests: a backend with a simulated image factory, and one user of each role. */
import { afterEach } from 'vitest'
import { datacenterCreate } from '#contract/datacenters.ts'
import { imageCreate, type NewImage } from '#contract/images.ts'
import { joinTokenCreate } from '#contract/join-tokens.ts'
import { startFactory } from '#simulator/src/factory/serve.ts'
import { logger } from '../../log.ts'
import { startBackend } from '../../testing/backend.ts'
import { whenOver } from '../../testing/ending.ts'

export const image = (more: Partial<NewImage> = {}) => ({ talos_version: 'v1.13.9', ...more })

/** Builds the backend and the factory. Simulated faults of the factory end after each test. */
export async function imageWorld() {
  const simulated = await startFactory()
  whenOver(() => simulated.stop())
  afterEach(() => simulated.fault(null))
  const lines: string[] = []
  const log = logger({
    level: 'debug',
    readable: false,
    now: () => Date.now(),
    write: (line) => void lines.push(line),
  })
  const backend = await startBackend({
    log,
    environment: {
      IMAGE_FACTORY_URL: simulated.url,
      STEELYARD_PUBLIC_URL: 'https://steelyard.example.com',
    },
  })
  const signIn = async () => ({
    operator: await backend.signIn({ role: 'operator' }),
    viewer: await backend.signIn({ role: 'viewer' }),
    admin: await backend.signIn(),
  })
  let made = 0
  const world = {
    simulated,
    backend,
    people: await signIn(),
    /** The backend's log. */
    lines,
    /**
     * Advances the clock, by default until cached lists of the factory are outdated, and signs all
     * users in again.
     */
    later: async (ms = 11 * 60_000): Promise<void> => {
      backend.clock.advance(ms)
      world.people = await signIn()
    },
    create: (more: Partial<NewImage> = {}) =>
      world.people.operator.call(imageCreate, { body: image(more) }),
    datacenter: async () => {
      made += 1
      const city_code = `${String.fromCodePoint(65 + Math.floor(made / 26))}${String.fromCodePoint(65 + (made % 26))}X`
      return (
        await world.people.operator.call(datacenterCreate, {
          body: { country_code: 'PL', city_code, city_name: 'Somewhere' },
        })
      ).answer!
    },
    token: async (
      more: { datacenter_id?: string; max_uses?: number; lifetime_hours?: number | null } = {},
    ) => {
      made += 1
      return (
        await world.people.operator.call(joinTokenCreate, {
          body: { name: `token-${made}`, lifetime_hours: null, ...more },
        })
      ).answer!
    },
  }
  return world
}
