/** Rows of new BMCs. */
import { randomUUID } from 'node:crypto'
import type { Insertable } from 'kysely'
import type { Tx } from '../../db/db.ts'
import type { Tables } from '../../db/tables.gen.ts'
import type { Caller } from '../../http/caller.ts'
import type { NewBmc } from './file.ts'
import type { BmcWorld } from './parts.ts'
import { audited } from './present.ts'
import type { BmcRow } from './store.ts'

export interface NewRows {
  readonly rowOf: (
    tx: Tx,
    bmc: NewBmc,
    more: { readonly port: number; readonly credential_id: string | null },
  ) => Promise<Insertable<Tables['bmc']>>
  /** Records that BMCs were added. */
  readonly added: (tx: Tx, caller: Caller, rows: readonly BmcRow[]) => Promise<void>
}

export function newRows({
  clock,
  record,
  accounts,
}: Pick<BmcWorld, 'clock' | 'record' | 'accounts'>): NewRows {
  const rowOf: NewRows['rowOf'] = async (
    tx,
    { address, username, password, wishes },
    { port, credential_id },
  ) => {
    const id = randomUUID()
    const at = new Date(clock.now())
    return {
      id,
      address,
      port,
      status: 'unreachable' as const,
      reason: 'Not asked yet',
      status_since: at,
      credential_id: username === undefined ? credential_id : null,
      username: username ?? null,
      password_sealed: password === undefined ? null : await accounts.sealForBmc(tx, id, password),
      wishes: JSON.stringify(wishes),
      created_at: at,
      updated_at: at,
    }
  }
  const added = (tx: Tx, caller: Caller, rows: readonly BmcRow[]): Promise<void> =>
    record(
      tx,
      caller,
      rows.map((row) => ({
        action: 'bmc.added' as const,
        target: { kind: 'bmc', id: row.id, name: row.address },
        after: audited(row),
        event: { name: 'bmc.created' as const, version: row.version },
      })),
    )

  return { rowOf, added }
}
