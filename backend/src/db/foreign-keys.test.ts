import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { freshDatabase } from '../testing/databases.ts'
import { connect } from './db.ts'

const root = path.resolve(import.meta.dirname, '..')
/** The tables from which Steelyard deletes rows. */
const deletedFrom = (): Set<string> => {
  const texts = globSync('**/*.ts', { cwd: root, exclude: ['**/*.test.ts', '**/testing/**'] }).map(
    (name) => readFileSync(path.join(root, name), 'utf8'),
  )
  return new Set(
    texts.flatMap((text) =>
      Array.from(
        text.matchAll(/(?:deleteFrom\('|delete from )(?<table>[a-z_]+)/g),
        (m) => m.groups!['table']!,
      ),
    ),
  )
}

/**
 * The references to such rows that the database refuses to leave behind, and what prevents the
 * error, which would be a 500. Whoever adds a reference or a deletion adds the reason, and a test
 * of it beside the domain.
 */
const prevented: Record<string, string> = {
  'bmc.credential_id → bmc_credential': 'bmc_credential_in_use',
  'cluster.datacenter_id → datacenter':
    'datacenter_in_use; deleted clusters forget their datacenter',
  'cluster.operation_id → operation': 'an operation that a cluster names is kept',
  'cluster_pool.operation_id → operation': 'an operation that pools name is kept',
  'cluster_recovery.snapshot_id → snapshot':
    'the row of a snapshot is kept as long as a recovery names it',
  'cluster_server.operation_id → operation': 'an operation that a member names is kept',
  'image.token_id → join_token': 'a revoked token that an image has is kept',
  'join_arrival.token_id → join_token': 'a revoked token with arrivals is kept',
  'server.datacenter_id → datacenter': 'datacenter_in_use; removed servers forget their datacenter',
  'server.rack_id → rack': 'a rack with servers is not removed (conflict)',
  'shared_layer.patch_id → shared_patch':
    'a shared patch that servers have is not removed (conflict)',
  'snapshot_schedule.store_id → store': 'store_in_use',
  'subnet.datacenter_id → datacenter': 'datacenter_in_use',
  'subnet_assignment.subnet_id → subnet': 'subnet_in_use',
}

test('each deletion of a row to which others may refer is preceded by a check of them', async () => {
  const database = connect({ connection: await freshDatabase() })
  try {
    const { rows } = await database.pool.query<{ child: string; column: string; parent: string }>(`
      select c.conrelid::regclass::text as child, a.attname as column, c.confrelid::regclass::text as parent
      from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
      where c.contype = 'f' and c.confdeltype in ('a', 'r')`)
    const deleted = deletedFrom()
    expect(deleted).toContain('store')
    const found = rows
      .filter(({ parent }) => deleted.has(parent))
      .map(({ child, column, parent }) => `${child}.${column} → ${parent}`)
    // Two references may begin with the same column.
    expect([...new Set(found)].toSorted((a, b) => (a < b ? -1 : 1))).toEqual(
      Object.keys(prevented).toSorted((a, b) => (a < b ? -1 : 1)),
    )
  } finally {
    await database.close()
  }
})
