/**
 * Every call of the API, for the OpenAPI document and for tests that check every call, such as the
 * scope matrix.
 */
import * as applied from './apply/applied.ts'
import * as audit from './audit.ts'
import * as backups from './storage/backups.ts'
import * as ccs from './marketplace/ccs.ts'
import * as certificates from './clusters/certificates.ts'
import * as changes from './clusters/changes/changes.ts'
import * as clusters from './clusters/clusters.ts'
import * as datacenters from './datacenters.ts'
import * as drift from './servers/drift.ts'
import * as events from './events.ts'
import * as extensions from './clusters/extensions.ts'
import * as health from './clusters/health.ts'
import * as images from './images.ts'
import * as joinTokens from './join-tokens.ts'
import * as offers from './marketplace/offers.ts'
import type { Operation } from './operation.ts'
import * as operations from './operations.ts'
import * as overview from './overview.ts'
import * as patches from './patches.ts'
import * as apiTokens from './people/api-tokens.ts'
import * as invitations from './people/invitations.ts'
import * as passkeys from './people/passkeys.ts'
import * as preferences from './people/preferences.ts'
import * as pods from './clusters/pods.ts'
import * as profile from './people/profile.ts'
import * as secondFactor from './people/second-factor.ts'
import * as signIn from './people/sign-in.ts'
import * as restoration from './restoration.ts'
import * as servers from './servers/servers.ts'
import * as snapshots from './clusters/changes/snapshots.ts'
import * as sessions from './sessions.ts'
import * as stores from './storage/stores.ts'
import * as takeover from './clusters/takeover.ts'
import * as subnets from './network/subnets.ts'
import * as users from './users.ts'
import * as versions from './versions.ts'

const isOperation = (value: unknown): value is Operation =>
  typeof value === 'object' &&
  value !== null &&
  'method' in value &&
  'path' in value &&
  'scope' in value

const declared: readonly Operation[] = [
  sessions,
  signIn,
  profile,
  preferences,
  secondFactor,
  passkeys,
  apiTokens,
  users,
  invitations,
  datacenters,
  servers,
  servers.serverCommands,
  joinTokens,
  images,
  versions,
  patches,
  drift,
  clusters,
  takeover,
  changes,
  health,
  pods,
  stores,
  backups,
  snapshots,
  certificates,
  extensions,
  subnets,
  offers,
  ccs,
  operations,
  overview,
  restoration,
  events,
  audit,
  applied,
].flatMap((noun) => Object.values(noun).filter(isOperation))

export const allOperations = declared.filter((one) => !('variantOf' in one))

/** Responses that a call gives for certain values of its query parameters, beside its usual one. */
export const variantsOf = ({ name }: Operation): readonly Operation[] =>
  declared.filter((one) => 'variantOf' in one && one.variantOf === name)
