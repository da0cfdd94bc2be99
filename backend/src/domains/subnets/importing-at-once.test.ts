/** Imports beside other writes. */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { importLimits } from '#contract/csv/imports.ts'
import { subnetExport, subnetImport, subnetList, subnetRemove } from '#contract/network/subnets.ts'
import { longTest } from '../../../../tools/testing/long-test.ts'
import { startBackend } from '../../testing/backend.ts'
import { addCluster, addDatacenter, lines } from './testing.ts'

test('a file is imported completely or not at all, even during concurrent writes', async () => {
  const own = await startBackend()
  const by = await own.signIn({ role: 'operator' })
  const place = await addDatacenter(by, 'POZ')
  const file = (from: number) =>
    lines(
      'name,cidr,datacenter',
      ...Array.from({ length: 20 }, (_, n) => `f${from}-${n},10.0.${from + n}.0/24,${place.code}`),
    )
  // Each file overlaps with the next.
  const answers = await Promise.all(
    [0, 10, 20, 30, 40].map((from) => by.call(subnetImport, { body: { csv: file(from) } })),
  )
  const written = answers.filter((a) => a.answer!.written)
  const all = (await by.call(subnetList, { query: { per_page: 1000 } })).answer!
  expect(written.length).toBeGreaterThan(0)
  expect(all.total).toBe(20 * written.length)
  for (const refused of answers.filter((a) => !a.answer!.written)) {
    expect(refused.answer!.problems.length).toBeGreaterThanOrEqual(10)
    for (const p of refused.answer!.problems)
      expect(p.message).toMatch(/^Overlaps with subnet f\d+-\d+ \(10\.0\.\d+\.0\/24\) in PL-POZ-1$/)
  }
  await own.publish()
  const { rows } = await sql<{
    action: string
    n: number
  }>`select action, count(*)::int as n from audit_entry where action like 'subnet.%' group by action`.execute(
    own.platform.db,
  )
  expect(rows).toEqual([{ action: 'subnet.created', n: all.total }])
})

longTest(
  'five thousand rows are imported in one transaction, and a concurrent removal waits or is refused',
  async () => {
    const own = await startBackend()
    const by = await own.signIn({ role: 'operator' })
    const place = await addDatacenter(by, 'POZ')
    // Each row is compared with two thousand servers with ten addresses each and the networks of a
    // hundred clusters.
    await sql`insert into server (name, datacenter_id, address, identity_state, identity_since, hardware, created_at, updated_at)
    select 'server-' || n, ${place.id}, '11.0.' || n / 256 || '.' || n % 256, 'unconfirmed', now(), json_build_object('processors', '[]'::json, 'memory', '[]'::json, 'disks', '[]'::json, 'interfaces', '[]'::json, 'addresses', '[]'::json, 'links', json_build_array(json_build_object(
      'name', 'eth0', 'addresses', (select json_agg('11.' || k || '.' || n / 256 || '.' || n % 256 || '/8') from generate_series(1, 9) k)))), now(), now()
    from generate_series(1, 2000) n`.execute(own.platform.db)
    for (let n = 0; n < 100; n++)
      await addCluster(own, place.id, `cluster-${n}`, {
        pod: `172.16.${n}.0/24`,
        service: `172.17.${n}.0/24`,
      })
    const file = lines(
      'name,cidr,datacenter',
      ...Array.from(
        { length: importLimits.rows },
        (_, n) => `n-${n},10.${n >> 8}.${n & 255}.0/24,${place.code}`,
      ),
    )
    const sent = await by.call(
      subnetImport,
      { body: { csv: file } },
      { idempotencyKey: 'five-thousand' },
    )
    const answer = sent.answer!
    expect([answer.written, answer.rows.length, answer.problems]).toEqual([
      true,
      importLimits.rows,
      [],
    ])
    // A repeat after a lost answer gets the same answer and changes nothing.
    expect(
      (await by.call(subnetImport, { body: { csv: file } }, { idempotencyKey: 'five-thousand' }))
        .answer,
    ).toEqual(answer)
    const text = (await by.call(subnetExport)).text
    expect(Buffer.byteLength(text)).toBeLessThan(importLimits.bytes)
    const [first] = (await by.call(subnetList)).answer!.items
    const [again, removed] = await Promise.all([
      by.call(subnetImport, { body: { csv: text.replace(',false,workload', ',true,workload') } }),
      by.call(subnetRemove, { params: { id: first!.id } }),
    ])
    expect(removed.status).toBe(204)
    const { problems: wrong, rows, written } = again.answer!
    // Either the import changed the row before the subnet was removed, or the import reports the
    // removal.
    expect([
      { written: true, updated: [2], wrong: [] },
      { written: false, updated: [], wrong: ['2 id'] },
    ]).toContainEqual({
      written,
      updated: rows.filter((r) => r.does === 'update').map((r) => r.line),
      wrong: wrong.map((p) => `${p.line} ${p.column}`),
    })
    // A file with every kind of error.
    const wrongRows = lines(
      'name,cidr,datacenter',
      ...Array.from({ length: importLimits.rows }, (_, n) => `N_${n},10.0.0.${n & 255}/8,nowhere`),
    )
    expect(
      (await by.call(subnetImport, { body: { csv: wrongRows } })).answer!.problems.length,
    ).toBeGreaterThan(3 * importLimits.rows - 100)
  },
)
