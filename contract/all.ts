/**
 * Every call of the API, for the OpenAPI document and for tests that check every call, such as the
 * scope matrix.
 */
import * as channels from './alerts/channels.ts'
import * as deliveries from './alerts/deliveries.ts'
import * as alertRules from './alerts/rules.ts'
import * as silences from './alerts/silences.ts'
import * as applied from './apply/applied.ts'
import * as audit from './audit.ts'
import * as bmcCredentials from './bmcs/credentials.ts'
import * as bmcPower from './bmcs/power.ts'
import * as bmcs from './bmcs/bmcs.ts'
import * as backups from './storage/backups.ts'
import * as ccs from './marketplace/ccs.ts'
import * as certificates from './clusters/certificates.ts'
import * as changes from './clusters/changes/changes.ts'
import * as clusters from './clusters/clusters.ts'
import * as pastCluster from './clusters/past-cluster.ts'
import * as clusterGroups from './clusters/groups.ts'
import * as clusterUpdates from './clusters/update.ts'
import * as listExports from './csv/list-exports.ts'
import * as datacenters from './datacenters.ts'
import * as drift from './servers/drift.ts'
import * as existing from './clusters/existing.ts'
import * as events from './events.ts'
import * as findings from './findings/findings.ts'
import * as pastFinding from './findings/past-finding.ts'
import * as extensions from './clusters/extensions.ts'
import * as incidents from './incidents/incidents.ts'
import * as history from './history/history.ts'
import * as past from './history/past.ts'
import * as pastOverview from './history/past-overview.ts'
import * as clusterFiles from './clusters/files.ts'
import * as health from './clusters/health.ts'
import * as images from './images.ts'
import * as joinTokens from './join-tokens.ts'
import * as knownLabels from './labels/known.ts'
import * as labels from './labels/labels.ts'
import * as measurements from './measurements/measurements.ts'
import * as money from './marketplace/money.ts'
import * as offers from './marketplace/offers.ts'
import type { Operation, Words } from './operation.ts'
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
import * as sharedViews from './people/shared-views.ts'
import * as signIn from './people/sign-in.ts'
import * as rackFiles from './racks/files.ts'
import * as racks from './racks/racks.ts'
import * as sharedPatches from './shared-patches/shared-patches.ts'
import * as restoration from './restoration.ts'
import * as bulk from './servers/bulk.ts'
import * as pastServer from './servers/past-server.ts'
import * as server from './servers/server.ts'
import * as serverGroups from './servers/groups.ts'
import * as servers from './servers/servers.ts'
import * as snapshots from './clusters/changes/snapshots.ts'
import * as sessions from './sessions.ts'
import * as stores from './storage/stores.ts'
import * as takeover from './clusters/takeover.ts'
import * as subnet from './network/subnet.ts'
import * as subnets from './network/subnets.ts'
import * as templates from './templates/templates.ts'
import * as users from './users.ts'
import * as versions from './versions.ts'
import * as windows from './clusters/changes/window.ts'

/** Fields that calls of several nouns have in common. */
const common: Words = {
  fields: {
    body: 'The patch: strategic-merge YAML, one document or several, at most 1 MiB.',
    challenge_id: 'Id of the challenge.',
    kind: 'What is changed.',
    cluster: 'Only objects of this cluster, by name or id.',
    confirmed_disks:
      'Confirms that these disks may be wiped. Name every chosen disk that has content or is removable, and its current content.',
    confirmed_loss:
      'Servers that may be lost: the change is sent although Steelyard would not reach them afterwards. Each is `{name, undo_after_seconds}`: if Steelyard does not reach the server within 60 to 3600 s (at most 300 in a roll-out), Talos undoes the change; null sends it for good. A bare name means 300 s. A change that no trial reaches, such as one with a restart, is sent for good.',
    content: 'Content of the disk, as the server reports it.',
    credential: 'The passkey or its answer, as `PublicKeyCredential.toJSON()` returns it.',
    datacenter: 'Only objects in this datacenter, by code or id.',
    datacenter_id: 'Id of the datacenter; null for none, if the call allows it.',
    email: 'Email address; case does not matter.',
    endpoint:
      'Address or DNS name of the Kubernetes API. Default: the address of the first control plane.',
    force: 'True: continue even if the server or the cluster does not answer.',
    id: 'Id of the object.',
    labels: 'Labels for your own use: at most 20 pairs of key and value.',
    name: 'Lowercase letters, digits and single hyphens, 1 to 25 characters; unique.',
    node_id: 'Id of a server.',
    undo_after_seconds:
      'Seconds after which Talos undoes the change, if Steelyard does not reach the server by then: 60 to 3600, in a roll-out at most 300. Null sends the change for good.',
    page: 'Page, counting from 1.',
    per_page: 'Items per page.',
    q: 'Text to search for.',
    serial: 'Serial number of the machine or disk, as an earlier response returned it.',
    sort: 'Column to sort by; a leading minus sorts in descending order.',
    status: 'Only objects with this status.',
    store_id: 'Id of a store.',
    weight: 'Order of merging: a higher weight is merged later.',
    wwid: 'World Wide Identifier (WWID) of the disk, as an earlier response returned it.',
  },
}

const isOperation = (value: unknown): value is Operation =>
  typeof value === 'object' &&
  value !== null &&
  'method' in value &&
  'path' in value &&
  'scope' in value

const nouns: readonly object[] = [
  sessions,
  signIn,
  profile,
  preferences,
  sharedViews,
  secondFactor,
  passkeys,
  apiTokens,
  users,
  invitations,
  datacenters,
  servers,
  pastServer,
  servers.serverCommands,
  listExports,
  serverGroups,
  bmcs,
  bmcCredentials,
  bmcPower,
  joinTokens,
  images,
  versions,
  patches,
  drift,
  clusters,
  pastCluster,
  clusterGroups,
  clusterUpdates,
  clusterFiles,
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
  findings,
  pastFinding,
  incidents,
  history,
  channels,
  racks,
  rackFiles,
  bulk,
  sharedPatches,
  templates,
  alertRules,
  silences,
  deliveries,
  knownLabels,
  measurements,
  overview,
  pastOverview,
  restoration,
  events,
  audit,
  applied,
]
const declared = nouns.flatMap((noun) => Object.values(noun).filter(isOperation))

export const allOperations = declared.filter((one) => !('variantOf' in one))

/** Responses that a call gives for certain values of its query parameters, beside its usual one. */
export const variantsOf = ({ name }: Operation): readonly Operation[] =>
  declared.filter((one) => 'variantOf' in one && one.variantOf === name)

/** The words of all nouns for the API documentation. No two describe the same. */
export const allWords: readonly Words[] = [
  common,
  ...[...nouns, existing, labels, money, past, server, subnet, windows].flatMap((noun) =>
    'words' in noun ? [noun.words as Words] : [],
  ),
]
