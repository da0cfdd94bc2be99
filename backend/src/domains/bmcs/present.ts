/** Converts rows to the contract's objects. A password never leaves its row. */
import type { Bmc } from '#contract/bmcs/bmcs.ts'
import type { BmcCredential } from '#contract/bmcs/credentials.ts'
import type { BmcRow, ShownCredential } from './store.ts'

export const present = (row: BmcRow): Bmc => ({
  id: row.id,
  address: row.address,
  port: row.port,
  server: row.server_id === null ? null : { id: row.server_id, name: row.server_name ?? '' },
  candidates: row.candidates,
  status: row.status,
  reason: row.reason,
  status_since: row.status_since.toISOString(),
  fingerprint: row.fingerprint,
  certificate: row.certificate,
  vendor: row.vendor,
  model: row.model,
  firmware: row.firmware,
  identity: { uuid: row.uuid, serial: row.serial, macs: row.macs },
  capabilities: {
    media: null,
    http_boot: null,
    pxe: null,
    led: null,
    sensors: null,
    ...row.capabilities,
  },
  power: {
    state: row.power,
    seen_at: row.power_seen_at?.toISOString() ?? null,
    since: row.power_since?.toISOString() ?? null,
    wanted: row.power_wanted,
  },
  lit: row.lit,
  username: row.credential_username ?? row.username,
  credential:
    row.credential_id === null ? null : { id: row.credential_id, name: row.credential_name ?? '' },
  answered_at: row.answered_at?.toISOString() ?? null,
  version: row.version,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

export const presentCredential = (row: ShownCredential): BmcCredential => ({
  id: row.id,
  name: row.name,
  username: row.username,
  bmcs: row.bmcs ?? 0,
  version: row.version,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

/** What the audit log keeps of a BMC. */
export const audited = (row: BmcRow): object => ({
  address: row.address,
  port: row.port,
  status: row.status,
  server: row.server_name,
  fingerprint: row.fingerprint,
  username: row.credential_username ?? row.username,
  credential: row.credential_name,
})
