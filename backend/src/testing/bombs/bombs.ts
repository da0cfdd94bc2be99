/**
 * What callers may store, at its limit: how a test stores it (without the calls, which would take
 * minutes), and the calls that work on it.
 */
import { sql, type RawBuilder } from 'kysely'
import { channelLimit, channelList } from '#contract/alerts/channels.ts'
import { alertRuleLimit, alertRuleList } from '#contract/alerts/rules.ts'
import { mostSilences, silenceList } from '#contract/alerts/silences.ts'
import { bmcLimit, bmcList } from '#contract/bmcs/bmcs.ts'
import { bmcCredentialLimit, bmcCredentialList } from '#contract/bmcs/credentials.ts'
import { clusterExport, serverExport } from '#contract/csv/list-exports.ts'
import { importLimits } from '#contract/csv/imports.ts'
import { datacenterLimit, datacenterList } from '#contract/datacenters.ts'
import { imageLimit, imageList } from '#contract/images.ts'
import { joinTokenLimit, joinTokenList } from '#contract/join-tokens.ts'
import { clusterLabels, serverLabels } from '#contract/labels/known.ts'
import { labelLimits } from '#contract/labels/labels.ts'
import { clusterList } from '#contract/clusters/clusters.ts'
import { mostExclusions, mostExclusionsInAll } from '#contract/network/subnet-rules.ts'
import { subnetExport, subnetImport, subnetLimit, subnetList } from '#contract/network/subnets.ts'
import type { Operation } from '#contract/operation.ts'
import { mostServerPatchBytes, patchList, serverPatchLimit } from '#contract/patches.ts'
import { overviewGet } from '#contract/overview.ts'
import { apiTokenList, mostApiTokens } from '#contract/people/api-tokens.ts'
import { viewLimits, preferencesGet } from '#contract/people/preferences.ts'
import { invitationLimit, invitationList } from '#contract/people/invitations.ts'
import { mostSharedViews, sharedViewList } from '#contract/people/shared-views.ts'
import { rackExport, rackImport } from '#contract/racks/files.ts'
import { rackLimit, rackList } from '#contract/racks/racks.ts'
import { serverList } from '#contract/servers/server.ts'
import { bulkLimit, serverBulkPlan } from '#contract/servers/bulk.ts'
import { storeLimit, storeList } from '#contract/storage/stores.ts'
import {
  mostPlanned,
  templateLimit,
  templateList,
  templatePlan,
} from '#contract/templates/templates.ts'
import type { Hardware } from '../../db/columns.ts'
import { inTransaction } from '../../db/db.ts'
import { system } from '../../http/caller.ts'
import type { Backend } from '../backend.ts'
import type { Tables } from '../../db/tables.gen.ts'

export interface Bomb {
  /** Statements that fill the table to its limit. */
  readonly plant: readonly RawBuilder<unknown>[]
  /** Stores what only the program can, such as what is encrypted. */
  readonly fill?: (backend: Backend) => Promise<void>
  /** Calls that work on what is stored, or add to it, each with its query and body. */
  readonly calls: readonly (readonly [operation: Operation, query: string, body?: object])[]
}

/** Servers of an installation at its largest. */
export const mostServers = 10_000

/** As many labels as an object may have, of which `n` tells the objects apart. */
const labels = sql.raw(
  `(select jsonb_object_agg(rpad('key-' || k, ${labelLimits.name}, 'x'), rpad('v' || n || '-' || k, ${labelLimits.name}, 'y')) from generate_series(1, ${labelLimits.labels}) as k)`,
)
const notes = 'n'.repeat(labelLimits.notesBytes)
export const siteId = '00000000-0000-4000-8000-000000000000'
const somewhere = sql`${siteId}::uuid`

/** A datacenter that others stand in. */
export const site = sql`insert into datacenter (id, country_code, city_code, city_name, index, created_at, updated_at)
  values (${siteId}, 'PL', 'POZ', 'Poznan', 1, now(), now())`

/** A file that adds as many subnets as one may name. */
const subnetCsv = `name,cidr,datacenter\n${Array.from({ length: importLimits.rows }, (_, n) => `more-${n},11.${n >> 8}.${n & 255}.0/24,PL-POZ-1\n`).join('')}`
const rackCsv = `datacenter,rack,rack_units\n${Array.from({ length: importLimits.rows }, (_, n) => `PL-POZ-1,more-${n},42\n`).join('')}`
const hardware = JSON.stringify({
  processors: [{ id: 'CPU-0', cpu_cores: 16, thread_count: 32 }],
  memory: [{ id: 'DIMM-0', size: 64 * 1024 ** 3 }],
  disks: [{ id: 'nvme0n1', size: 1_000_000_000_000, content: 'empty' }],
  interfaces: [],
  addresses: ['10.0.0.1'],
  links: [],
  routes: [],
} satisfies Hardware)
/** As many clusters as one plan may have, from servers of the whole datacenter. */
const plan = {
  template: { name: 'many', control_planes: { count: 3 }, workers: { count: 20 } },
  datacenter_id: siteId,
  clusters: Array.from({ length: mostPlanned }, (_, n) => ({ name: `planned-${n}` })),
}
const serverIds = Array.from(
  { length: bulkLimit },
  (_, n) => `00000000-0000-4000-8000-${String(n + 1).padStart(12, '0')}`,
)

/** A patch of this size, with settings that no other has. */
function sysctls(n: number, bytes: number): string {
  let text = 'machine:\n  sysctls:\n'
  for (let k = 0; ; k++) {
    const line = `    net.test-${n}-${k}.value: "${k}"\n`
    if (text.length + line.length > bytes) return text
    text += line
  }
}

/** As many ids as a rule or a silence may name. */
const ids = sql.raw(`array(select gen_random_uuid() from generate_series(1, 100) where n > 0)`)

export const bombs: Partial<Record<keyof Tables, Bomb>> = {
  alert_rule: {
    plant: [
      sql`insert into alert_rule (name, severities, kinds, datacenter_ids, cluster_ids, channel_ids, wait_minutes, created_at, updated_at)
        select 'rule-' || n, '{}', '{}', ${ids}, ${ids}, ${ids}, 0, now(), now() from generate_series(1, ${alertRuleLimit.most - 1}::int) as n`,
    ],
    calls: [[alertRuleList, 'per_page=100']],
  },
  api_token: {
    plant: [
      sql`insert into api_token (person_id, name, hash, scopes, created_at, expires_at)
        select p.id, 'token-' || n, sha256(n::text::bytea), '{servers:read}', now(), now() + interval '1 year'
        from (select id from person limit 1) as p, generate_series(1, ${mostApiTokens}::int) as n`,
    ],
    calls: [[apiTokenList, '']],
  },
  bmc: {
    plant: [
      sql`insert into bmc (address, port, status, status_since, macs, vendor, model, created_at, updated_at)
        select host('10.2.0.0'::inet + n), 443, 'unconfirmed', now(), array['02:00:00:00:00:01'], 'Vendor', 'Model', now(), now()
        from generate_series(1, ${bmcLimit.most}::int) as n`,
    ],
    calls: [[bmcList, 'per_page=100']],
  },
  bmc_credential: {
    plant: [
      sql`insert into bmc_credential (name, username, password_sealed, created_at, updated_at)
        select 'credential-' || n, rpad('user', 60, 'u'), '', now(), now() from generate_series(1, ${bmcCredentialLimit.most}::int) as n`,
    ],
    calls: [[bmcCredentialList, 'per_page=100']],
  },
  channel: {
    plant: [
      sql`insert into channel (name, kind, url, created_at, updated_at, paused)
        select 'channel-' || n, 'webhook', 'http://127.0.0.1:9/' || rpad('', 1900, 'u'), now(), now(), true
        from generate_series(1, ${channelLimit.most}::int) as n`,
    ],
    calls: [[channelList, 'per_page=100']],
  },
  cluster: {
    plant: [
      sql`insert into cluster (name, datacenter_id, talos_version, contract, kubernetes_version, endpoint, virtual_ip, pod_cidr, service_cidr, chain_address, created_at, updated_at, labels, notes)
        select 'cluster-' || n, ${somewhere}, 'v1.13.9', '1.13', '1.36.3', 'https://10.0.0.1:6443', false, '10.244.0.0/16', '10.96.0.0/12', '0x', now(), now(), ${labels}, ${notes}
        from generate_series(1, 1000) as n`,
    ],
    calls: [
      [clusterList, 'per_page=200'],
      [clusterList, 'per_page=200&label=none%3D1'],
      [clusterLabels, ''],
      [clusterExport, ''],
    ],
  },
  datacenter: {
    plant: [
      sql`insert into datacenter (country_code, city_code, city_name, index, notes, created_at, updated_at)
        select 'DE', 'FRA', 'Frankfurt', n, rpad('', 2000, 'n'), now(), now() from generate_series(1, ${datacenterLimit.most - 1}::int) as n`,
    ],
    calls: [
      [datacenterList, 'per_page=200'],
      [overviewGet, ''],
    ],
  },
  image: {
    plant: [
      sql`insert into image (talos_version, arch, secureboot, extensions, kernel_args, format, public_url, factory_url, schematic_id, created_at, updated_at)
        select 'v1.13.9', 'amd64', false, array(select 'siderolabs/' || rpad('extension-' || k, 60, 'x') from generate_series(1, 64) as k),
          array(select rpad('argument-' || n || '-' || k, 200, 'a') from generate_series(1, 32) as k), 'iso', 'https://steelyard.example.com', 'https://factory.talos.dev', md5(n::text), now(), now()
        from generate_series(1, ${imageLimit.most}::int) as n`,
    ],
    calls: [[imageList, 'per_page=200']],
  },
  invitation: {
    plant: [
      sql`insert into invitation (email, name, role, hash, created_at, expires_at)
        select 'invited-' || n || '@example.com', rpad('n', 100, 'n'), 'viewer', sha256(n::text::bytea), now(), now() + interval '7 days'
        from generate_series(1, ${invitationLimit.most}::int) as n`,
    ],
    calls: [[invitationList, 'per_page=200']],
  },
  join_token: {
    plant: [
      sql`insert into join_token (name, hash, created_at, updated_at, labels)
        select 'token-' || n, sha256(n::text::bytea), now(), now(), ${labels} from generate_series(1, ${joinTokenLimit.most}::int) as n`,
    ],
    calls: [[joinTokenList, 'per_page=200']],
  },
  patch: {
    plant: [
      sql`insert into server (id, name, datacenter_id, hardware, hardware_at, address, identity_state, identity_since, uuid, serial, created_at, updated_at, reachable)
        values (${somewhere}, 'patched', ${somewhere}, ${hardware}::jsonb, now(), '10.1.0.1', 'confirmed', now(), 'u', 's', now(), now(), true)`,
    ],
    fill: ({ platform, domains }) =>
      inTransaction(platform.db, async (tx) => {
        for (let n = 0; n < serverPatchLimit.most - 1; n++)
          await domains.patches.createIn(tx, system, siteId, {
            name: `patch-${n}`,
            weight: 500,
            labels: {},
            // Steelyard's own layers count.
            body: sysctls(n, Math.floor(mostServerPatchBytes / serverPatchLimit.most) - 100),
          })
      }),
    calls: [[patchList, '']],
  },
  preference: {
    plant: [
      // As many tables as a request has room for, each with as many views as it may have.
      sql`insert into preference (person_id, preferences, updated_at)
        select p.id, jsonb_build_object('theme', 'dark', 'views', (select jsonb_object_agg('table-' || t, (select jsonb_agg(jsonb_build_object('name', 'view-' || v, 'search', jsonb_build_object('q', rpad('q', 200, 'q')))) from generate_series(1, ${viewLimits.views}::int) as v where t > 0)) from generate_series(1, 190) as t)), now()
        from (select id from person limit 1) as p`,
    ],
    calls: [[preferencesGet, '']],
  },
  rack: {
    plant: [
      sql`insert into rack (datacenter_id, name, units, created_at, updated_at)
        select ${somewhere}, 'rack-' || n, 60, now(), now() from generate_series(1, ${rackLimit.most}::int) as n`,
    ],
    calls: [
      [rackList, 'per_page=200'],
      [rackExport, ''],
      [rackImport, '', { csv: rackCsv, dry_run: true }],
    ],
  },
  server: {
    plant: [
      sql`insert into server (id, name, datacenter_id, hardware, hardware_at, address, identity_state, identity_since, uuid, serial, created_at, updated_at, reachable, labels, notes)
        select ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'many-' || n, ${somewhere}, ${hardware}::jsonb, now(), host('10.1.0.0'::inet + n), 'confirmed', now(), gen_random_uuid()::text, n::text, now(), now(), true, ${labels}, ${notes}
        from generate_series(1, ${mostServers}::int) as n`,
    ],
    calls: [
      [serverList, 'per_page=200'],
      [serverList, 'per_page=200&label=none%3D1'],
      [serverList, 'per_page=200&q=vvvv'],
      [serverLabels, ''],
      [serverExport, ''],
      [serverBulkPlan, '', { act: { kind: 'reboot' }, node_ids: serverIds }],
      [templatePlan, '', plan],
      [overviewGet, ''],
    ],
  },
  shared_view: {
    plant: [
      sql`insert into shared_view (list, name, search, author, created_at, updated_at)
        select 'servers', 'view-' || n, (select jsonb_object_agg('key-' || k, rpad('v', 200, 'v')) from generate_series(1, 40) as k), 'ada@example.com', now(), now()
        from generate_series(1, ${mostSharedViews}::int) as n`,
    ],
    calls: [[sharedViewList, 'list=servers']],
  },
  silence: {
    plant: [
      sql`insert into silence (note, severities, kinds, datacenter_ids, cluster_ids, starts_at, ends_at, repeats, made_by, created_at, updated_at)
        select rpad('note', 500, 'n'), '{}', '{}', ${ids}, ${ids}, now(), now() + interval '300 days', '{"days":["sun"],"from":"02:00","minutes":60,"time_zone":"Europe/Warsaw"}'::jsonb, 'ada@example.com', now(), now()
        from generate_series(1, ${mostSilences}::int) as n`,
    ],
    calls: [[silenceList, 'per_page=100']],
  },
  store: {
    plant: [
      sql`insert into store (name, kind, endpoint, region, bucket, access_key_id, secret_sealed, created_at, updated_at)
        select 'store-' || n, 's3', 'http://127.0.0.1:9', 'eu', 'bucket-' || n, 'key', '', now(), now() from generate_series(1, ${storeLimit.most}::int) as n`,
    ],
    calls: [[storeList, 'per_page=200']],
  },
  subnet: {
    plant: [
      sql`insert into subnet (name, datacenter_id, cidr, exclude, total, created_at, updated_at, updated_by)
        select 'subnet-' || n, ${somewhere}, set_masklen('10.0.0.0'::inet + n::bigint * 256, 24)::cidr,
          array(select host('10.0.0.0'::inet + n::bigint * 256 + k % 250) from generate_series(1, case when n % ${subnetLimit.most / (mostExclusionsInAll / mostExclusions)}::int = 0 then ${mostExclusions}::int else 0 end) as k), 254, now(), now(), 'ada@example.com'
        from generate_series(1, ${subnetLimit.most}::int) as n`,
    ],
    calls: [
      [subnetList, 'per_page=200'],
      [subnetList, 'per_page=200&sort=used'],
      [subnetExport, ''],
      [subnetImport, '', { csv: subnetCsv, dry_run: true }],
    ],
  },
  template: {
    plant: [
      sql`insert into template (name, definition, listed, created_at, updated_at, created_by_name)
        select 'template-' || n, d, d, now(), now(), 'ada@example.com'
        from generate_series(1, ${templateLimit.most}::int) as n,
          lateral (select jsonb_build_object('notes', ${notes}::text, 'virtual_ip', false, 'vlan_id', null, 'pod_cidr', '10.244.0.0/16', 'service_cidr', '10.96.0.0/12',
            'control_planes', '{"count":3,"needs":{"disks":[]},"install_disk":{"prefer":"smallest"},"workload_disks":null}'::jsonb,
            'workers', '{"count":3,"needs":{"disks":[]},"install_disk":{"prefer":"smallest"},"workload_disks":null}'::jsonb,
            'spread_over_racks', true, 'subnets', '[]'::jsonb, 'labels', ${labels}, 'maintenance_window', null, 'snapshots', null) as d) as body`,
    ],
    calls: [[templateList, 'per_page=50']],
  },
}
