import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { isAbout, type SilenceTerms } from '#contract/alerts/silences.ts'
import { startBackend } from '../../testing/backend.ts'
import { counts } from './store-groups.ts'

const { db } = (await startBackend()).platform

test('the database counts the same findings as silenced as the contract', async () => {
  const [places, clusters] = [
    [randomUUID(), randomUUID()],
    [randomUUID(), randomUUID()],
  ]
  const kinds = [
    { kind: 'server_unreachable', severity: 'down', object: 'server' },
    { kind: 'cluster_etcd_full', severity: 'degraded', object: 'cluster' },
  ] as const
  const findings = kinds.flatMap(({ kind, severity, object }) =>
    [...places, null].flatMap((place) =>
      [...clusters, null].map((cluster) => ({
        kind,
        severity,
        object: { kind: object, id: randomUUID(), name: 'one' },
        datacenter: place === null ? null : { id: place, code: 'DE-FRA-1' },
        cluster: cluster === null ? null : { id: cluster, name: 'web' },
      })),
    ),
  )
  const since = new Date('2026-11-20T12:00:00Z')
  await db
    .insertInto('finding')
    .values(
      findings.map(({ kind, severity, object, datacenter, cluster }) => ({
        kind,
        severity,
        object_kind: object.kind,
        object_id: object.id,
        object_name: object.name,
        datacenter_id: datacenter?.id ?? null,
        datacenter_code: datacenter?.code ?? null,
        cluster_id: cluster?.id ?? null,
        cluster_name: cluster?.name ?? null,
        since,
        reason: 'why',
        begins: [since],
      })),
    )
    .execute()
  const terms = (more: Partial<SilenceTerms>): SilenceTerms => ({
    severities: [],
    kinds: [],
    datacenter_ids: [],
    cluster_ids: [],
    object: null,
    starts_at: since.toISOString(),
    ends_at: '2027-01-01T00:00:00Z',
    repeats: null,
    ...more,
  })
  const silences = [
    terms({ severities: ['down'] }),
    terms({ kinds: ['cluster_etcd_full', 'cluster_failed'] }),
    terms({ datacenter_ids: [places[0]!] }),
    terms({ cluster_ids: clusters, severities: ['degraded'] }),
    terms({ object: { id: findings[0]!.object.id } }),
    terms({ object: { id: findings[0]!.object.id }, severities: ['attention'] }),
    terms({ datacenter_ids: [randomUUID()] }),
  ]
  const combined = [[], ...silences.map((one) => [one]), silences.slice(2, 5)]
  for (const some of combined) {
    const expected = findings.filter((f) => some.some((one) => isAbout(one, f))).length
    const silenced = { silences: some, together: [] }
    expect(await counts(db, ['server', 'cluster', 'datacenter'], silenced)).toEqual({
      total: findings.length - expected,
      acknowledged: 0,
      // The findings of this test belong to no incident.
      silenced_incidents: [],
      silenced: expected,
    })
  }
})
