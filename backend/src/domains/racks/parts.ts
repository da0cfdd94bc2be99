/** What the use cases of racks need, and what they say of violated constraints. */
import { Problem } from '#contract/errors.ts'
import { rackNameTaken } from '#contract/racks/racks.ts'
import { violatedConstraint } from '../../db/db.ts'
import type { Platform } from '../../platform.ts'
import type { Datacenters } from '../datacenters/api.ts'
import type { Servers } from '../servers/api.ts'

export interface RackParts extends Platform {
  readonly datacenters: Pick<Datacenters, 'find' | 'names'>
  readonly servers: Pick<
    Servers,
    'get' | 'standing' | 'standingIn' | 'lockStanding' | 'place' | 'rackRenamed'
  >
}

/** Explains a constraint that was violated in spite of the checks. */
export function explained(error: unknown): unknown {
  const constraint = violatedConstraint(error)
  if (constraint === 'rack_name')
    return new Problem('name_taken', rackNameTaken, { name: rackNameTaken })
  return constraint?.startsWith('server_') === true && /place|rack/.test(constraint)
    ? new Problem(
        'conflict',
        'The rack or the server was changed at the same moment. Nothing was written: please try again',
      )
    : error
}
