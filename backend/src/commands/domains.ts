/** The domains for the program's short commands. */
import { systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Database } from '../db/db.ts'
import { failpoint } from '../engine/failpoint.ts'
import { silent } from '../log.ts'
import { buildDomains, type Domains } from '../parts.ts'
import { buildPlatform } from '../platform.ts'
import type { KeyRing } from '../vault/key-file.ts'
import type { Surroundings } from './surroundings.ts'

/** Builds the domains and starts none of their work. `owner`: name of the command. */
export const domainsFor = (
  { kill, version }: Surroundings,
  {
    config,
    database,
    keys,
    owner,
  }: { config: Config; database: Database; keys: KeyRing; owner: string },
): Domains =>
  buildDomains(
    buildPlatform({
      config,
      database,
      clock: systemClock,
      random: Math.random,
      log: silent,
      owner,
      keys,
      failpoint: failpoint(undefined, kill),
      version,
    }),
    () => undefined,
  )
