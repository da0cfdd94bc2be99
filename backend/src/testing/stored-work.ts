/**
 * What is stored and worked on again, by table: what bounds it, what the work costs, and where it
 * runs. Whoever may store something must not be able to slow the program for others, today or after
 * a restart. A table that is missing here fails the check of types, and `stored-work.test.ts`.
 */
import { channelLimit } from '#contract/alerts/channels.ts'
import { alertRuleLimit } from '#contract/alerts/rules.ts'
import { mostSilences } from '#contract/alerts/silences.ts'
import { bmcLimit } from '#contract/bmcs/bmcs.ts'
import { bmcCredentialLimit } from '#contract/bmcs/credentials.ts'
import { datacenterLimit } from '#contract/datacenters.ts'
import { earlyLimits } from '#contract/images/early.ts'
import { imageLimit } from '#contract/images.ts'
import { joinTokenEarlyLimit, joinTokenLimit } from '#contract/join-tokens.ts'
import { labelLimits } from '#contract/labels/labels.ts'
import { mostExclusions, mostExclusionsInAll } from '#contract/network/subnet-rules.ts'
import { subnetLimit } from '#contract/network/subnets.ts'
import { mostServerPatchBytes, patchLimits, serverPatchLimit } from '#contract/patches.ts'
import { mostApiTokens } from '#contract/people/api-tokens.ts'
import { invitationLimit } from '#contract/people/invitations.ts'
import { mostPasskeys } from '#contract/people/passkeys.ts'
import { viewLimits } from '#contract/people/preferences.ts'
import { mostSharedViews } from '#contract/people/shared-views.ts'
import { rackLimit } from '#contract/racks/racks.ts'
import { bulkLimit } from '#contract/servers/bulk.ts'
import { sharedPatchLimits } from '#contract/shared-patches/shared-patches.ts'
import { variableLimits } from '#contract/shared-patches/variables.ts'
import { storeLimit } from '#contract/storage/stores.ts'
import { templateLimit } from '#contract/templates/templates.ts'
import type { Tables } from '../db/tables.gen.ts'

/** What callers store, and what is done with it again. */
export interface StoredWork {
  /** The limits of the contract. */
  readonly bound: readonly number[]
  /** What is done again, and what it grows with. */
  readonly cost: string
  /**
   * `main`: the main thread, at most a slice at once; `slices`: the main thread, in slices
   * (`slices.ts`); `thread`: the threads of `reading`; `database`: the database, by an index or a
   * page.
   */
  readonly on: readonly ('main' | 'slices' | 'thread' | 'database')[]
  /** When: per request, in the background, or both. */
  readonly when: 'request' | 'background' | 'both'
  /** File and title of the test that measures it at its limit, or why none is needed. */
  readonly bomb: readonly [file: string, title: string] | string
}

/**
 * Tables that hold nothing whose size or number a caller chooses freely: one row, rows of fixed size
 * that follow from another table, or what the program itself writes.
 */
export type NotWorkedOn = string

const deciding = 'backend/src/domains/alerts/deciding.test.ts'
const full: StoredWork['bomb'] = [
  'backend/src/testing/bombs/bombs.long.test.ts',
  'a full table of %s is listed, judged and read after a restart in short turns',
]
const costs = 'backend/src/domains/patches/shared/costs.test.ts'

export const storedWork: { readonly [table in keyof Tables]: StoredWork | NotWorkedOn } = {
  alert: 'a row for each finding and channel',
  alert_rule: {
    bound: [alertRuleLimit.most],
    cost: 'open findings × rules × channels, at each decision',
    on: ['slices'],
    when: 'background',
    bomb: [
      deciding,
      'with as many rules and silences as there can be, each of a hundred ids, decisions about a thousand findings are made in slices',
    ],
  },
  api_token: {
    bound: [mostApiTokens],
    cost: 'one row by its digest, per request',
    on: ['database'],
    when: 'request',
    bomb: full,
  },
  applied_object: 'a row of fixed size for each object of a set',
  audit_entry: 'written by the program; read by pages and verified on a thread of its own',
  audit_excerpt: 'written by the program beside an entry, of bounded length',
  bmc: {
    bound: [bmcLimit.most, labelLimits.labels],
    cost: 'one question a minute for each, 32 at once; its documents on a thread, within limits',
    on: ['database', 'thread'],
    when: 'background',
    bomb: full,
  },
  bmc_contact: 'a row of fixed size for each BMC',
  bmc_credential: {
    bound: [bmcCredentialLimit.most],
    cost: 'one row, when a BMC is signed in to',
    on: ['database'],
    when: 'both',
    bomb: full,
  },
  capacity_commitment: 'a row of fixed size for each server',
  channel: {
    bound: [channelLimit.most],
    cost: 'open findings × rules × channels, at each decision; one message at a time for each',
    on: ['slices'],
    when: 'background',
    bomb: [
      deciding,
      'with as many rules and silences as there can be, each of a hundred ids, decisions about a thousand findings are made in slices',
    ],
  },
  city_index: 'a row of fixed size for each city',
  cluster: {
    bound: [labelLimits.labels, labelLimits.notesBytes],
    cost: 'labels and one maintenance window of each cluster; filters of labels',
    on: ['database'],
    when: 'both',
    bomb: full,
  },
  cluster_bootstrap: 'a row of fixed size for each cluster',
  cluster_pool: 'rows of fixed size for the subnets of a cluster',
  cluster_recovery: 'written by the program',
  cluster_rotation: 'written by the program',
  cluster_secret: 'written by the program; of a takeover, read on a thread with its limits',
  cluster_secret_generation: 'written by the program',
  cluster_server: 'a row for each server; disks that the machine has',
  cluster_server_base: 'a configuration, read on a thread with its limits',
  cluster_server_config: 'a configuration, read on a thread with its limits',
  configuration_claim: 'a row of fixed size for each server',
  configuration_trial: 'a row for each server',
  control_plane_claim: 'a row of fixed size for each cluster',
  data_key: 'written by the program',
  datacenter: {
    bound: [datacenterLimit.most],
    cost: 'one row of each, by pages',
    on: ['database'],
    when: 'request',
    bomb: full,
  },
  delivery: 'written by the program, one message at a time for each channel',
  delivery_attempt: 'written by the program',
  delivery_recipient: 'a row of fixed size for each recipient of a mail, at most 20 at a time',
  early_documents: {
    bound: [joinTokenEarlyLimit, earlyLimits.bytes],
    cost: 'one row by its digest, at each announcement and each new server',
    on: ['database', 'thread'],
    when: 'both',
    bomb: 'one document of at most 64 KiB is read at a time',
  },
  effect: 'written by the program',
  event: 'written by the program',
  finding: 'written by the program, one for each kind and object',
  finding_affected: 'a row of fixed size for each server of a finding',
  fleet_member: 'a row of fixed size for each process',
  fleet_shard: '64 rows',
  history: 'written by the program',
  history_base: 'written by the program',
  hold: 'a row of fixed size for each object',
  idempotent_call: 'the answer of a call, kept for a day and read by its key',
  image: {
    bound: [imageLimit.most],
    cost: 'one row of each, by pages; the versions that are offered, at each look at the factory',
    on: ['database'],
    when: 'both',
    bomb: full,
  },
  incident: 'written by the program, one for each finding without a cause',
  incident_step: 'at most 80 for each incident',
  installation: 'one row',
  invitation: {
    bound: [invitationLimit.most],
    cost: 'one row by its digest',
    on: ['database'],
    when: 'request',
    bomb: full,
  },
  join_arrival: 'limited in all; the oldest make room',
  join_key: 'written by the program',
  join_token: {
    bound: [joinTokenLimit.most, labelLimits.labels],
    cost: 'one row by its digest, at each announcement',
    on: ['database'],
    when: 'request',
    bomb: full,
  },
  machine_event: 'a bounded number for each machine',
  measurement_day: 'written by the program',
  measurement_minute: 'written by the program',
  measurement_simulated: 'written by the program',
  offer: 'a row for each delegation, by pages',
  offer_detection: 'one row',
  offer_proof: 'a row of fixed size for each offer',
  operation: 'removed when it is older than the history; arguments are those of one call',
  operation_delay: 'a row of fixed size for an operation that waits, written by the program',
  operation_step: 'a bounded number for each operation, presented in turns',
  outbox: 'written by the program; published in portions',
  passkey: {
    bound: [mostPasskeys],
    cost: 'those of one user at a sign-in',
    on: ['main'],
    when: 'request',
    bomb: `at most ${mostPasskeys} rows of fixed size`,
  },
  password_reset: 'a row of fixed size for each user',
  patch: {
    bound: [patchLimits.bodyBytes, serverPatchLimit.most, mostServerPatchBytes],
    cost: 'all patches of a server are merged at each change, preview and comparison of it',
    on: ['thread'],
    when: 'both',
    bomb: full,
  },
  person: 'a row of fixed size for each user',
  person_identity: 'a row of fixed size for each user',
  preference: {
    bound: [viewLimits.views],
    cost: 'those of one user, when they are asked for',
    on: ['main'],
    when: 'request',
    bomb: full,
  },
  publication: 'written by the program',
  rack: {
    bound: [rackLimit.most],
    cost: 'one row of each, by pages; the servers of one rack',
    on: ['database'],
    when: 'request',
    bomb: full,
  },
  recovery_code: 'a fixed number for each user',
  refresh_token: 'a row of fixed size for each session',
  restoration: 'one row',
  server: {
    bound: [labelLimits.labels, labelLimits.notesBytes],
    cost: 'kept in memory; what was written since the last look is read again',
    on: ['slices'],
    when: 'both',
    bomb: [
      'backend/src/domains/findings/background.test.ts',
      'judging 10,000 servers takes no more queries than judging one, and less time than reading them',
    ],
  },
  server_bulk_item: {
    bound: [bulkLimit],
    cost: 'one server after another',
    on: ['main'],
    when: 'background',
    bomb: 'rows of fixed size; the plan of as many servers is measured with `server`',
  },
  server_contact: 'a row of fixed size for each server',
  session: 'a row of fixed size; those of one user are limited',
  shared_layer: {
    bound: [sharedPatchLimits.patches, patchLimits.bodyBytes],
    cost: 'as patches of a server; what changed is compared with its shared patch',
    on: ['thread', 'slices'],
    when: 'both',
    bomb: [costs, 'a change of a server, of a patch or of what a server has is judged'],
  },
  shared_patch: {
    bound: [
      sharedPatchLimits.patches,
      sharedPatchLimits.bytes,
      sharedPatchLimits.selectors,
      sharedPatchLimits.conditions,
      sharedPatchLimits.clusters,
      sharedPatchLimits.servers,
      variableLimits.places,
      variableLimits.variables,
      patchLimits.bodyBytes,
    ],
    cost: 'servers × conditions at the first judgement and when the patch changes; then what changed',
    on: ['slices'],
    when: 'both',
    bomb: [
      costs,
      'with 200 patches at their limits, judging 1,000 servers again costs at most 1.5 times judging them against none',
    ],
  },
  shared_roll_out: 'a row for each roll-out, removed with its operation',
  shared_roll_out_server: {
    bound: [sharedPatchLimits.servers, patchLimits.bodyBytes],
    cost: 'the layers of one server at a time',
    on: ['main'],
    when: 'background',
    bomb: [
      costs,
      'what is saved above a limit is read, renamed and rolled out, made smaller, and only not left so large',
    ],
  },
  shared_view: {
    bound: [mostSharedViews],
    cost: 'those of one list, when they are asked for',
    on: ['database'],
    when: 'request',
    bomb: full,
  },
  sign_in_challenge: 'limited in all',
  sign_in_failure: 'limited in all',
  signing_key: 'written by the program',
  silence: {
    bound: [mostSilences],
    cost: 'silences once, and open findings × silences, at each decision',
    on: ['slices', 'database'],
    when: 'both',
    bomb: [
      deciding,
      'with as many rules and silences as there can be, each of a hundred ids, decisions about a thousand findings are made in slices',
    ],
  },
  snapshot: 'written by the program; the schedule says how many are kept',
  snapshot_schedule: 'a row of fixed size for each cluster',
  store: {
    bound: [storeLimit.most],
    cost: 'one check of each store at a time',
    on: ['main'],
    when: 'background',
    bomb: full,
  },
  subnet: {
    bound: [subnetLimit.most, mostExclusions, mostExclusionsInAll],
    cost: 'one row of each, by pages; the free addresses of one subnet',
    on: ['database'],
    when: 'both',
    bomb: full,
  },
  subnet_assignment: 'a row of fixed size for each use',
  subnet_use: 'a row of fixed size for each use',
  talos_upgrade: 'a row for each upgrade',
  template: {
    bound: [templateLimit.most, patchLimits.bodyBytes],
    cost: 'the definition of one template, when it is planned or read',
    on: ['thread'],
    when: 'request',
    bomb: full,
  },
  totp: 'a row of fixed size for each user',
  waitlist_entry: 'limited in all',
  wake_up: 'a row of fixed size for each key of a queue',
}
