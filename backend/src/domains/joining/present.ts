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

/** @param codes of datacenters by id */
export const present = (
  { datacenter_id, hash: _hash, updated_at: _updated, ...row }: TokenRow,
  { codes, now }: { codes: ReadonlyMap<string, string>; now: number },
): JoinToken => {
  const code = datacenter_id === null ? undefined : codes.get(datacenter_id)
  return {
    ...row,
    status: statusOf(row, now),
    datacenter: datacenter_id !== null && code !== undefined ? { id: datacenter_id, code } : null,
    expires_at: row.expires_at?.toISOString() ?? null,
    revoked_at: row.revoked_at?.toISOString() ?? null,
    last_used_at: row.last_used_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
  }
}

/** @param names of servers by id */
export const presentArrival = (
  { token_id: _token, host_name: _secret, counted: _counted, shard: _shard, server_id: id, ...row }: ArrivalRow,
  names: ReadonlyMap<string, string>,
): Arrival => {
  const name = id === null ? undefined : names.get(id)
  return { ...row, at: row.at.toISOString(), server: id !== null && name !== undefined ? { id, name } : null }
}
