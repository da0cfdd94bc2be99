/** Row → contract. The only place where a join token's columns become its fields. */
import type { Arrival, JoinToken } from '#contract/join-tokens.ts'
import type { ArrivalRow, TokenRow } from './store.ts'

/** What ended it first in importance: a revoked one is revoked, whatever else it is. `now` in ms since 1970. */
export const statusOf = (
  { revoked_at, expires_at, max_uses, uses }: Pick<TokenRow, 'revoked_at' | 'expires_at' | 'max_uses' | 'uses'>,
  now: number,
): JoinToken['status'] => {
  if (revoked_at !== null) return 'revoked'
  if (expires_at !== null && expires_at.getTime() <= now) return 'expired'
  return max_uses !== null && uses >= max_uses ? 'used_up' : 'usable'
}

export const present = (row: TokenRow, { codes, now }: { codes: ReadonlyMap<string, string>; now: number }): JoinToken => {
  const code = row.datacenter_id === null ? undefined : codes.get(row.datacenter_id)
  return {
    id: row.id,
    name: row.name,
    status: statusOf(row, now),
    datacenter: row.datacenter_id !== null && code !== undefined ? { id: row.datacenter_id, code } : null,
    max_uses: row.max_uses,
    uses: row.uses,
    expires_at: row.expires_at?.toISOString() ?? null,
    revoked_at: row.revoked_at?.toISOString() ?? null,
    last_used_at: row.last_used_at?.toISOString() ?? null,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    version: row.version,
  }
}

/** @param names of servers by id */
export const presentArrival = (row: ArrivalRow, names: ReadonlyMap<string, string>): Arrival => {
  const name = row.server_id === null ? undefined : names.get(row.server_id)
  return {
    id: row.id,
    at: row.at.toISOString(),
    uuid: row.uuid,
    serial: row.serial,
    mac: row.mac,
    address: row.address,
    result: row.result,
    reason: row.reason,
    server: row.server_id !== null && name !== undefined ? { id: row.server_id, name } : null,
  }
}
