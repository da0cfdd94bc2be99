import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import { historyList } from '#contract/history/history.ts'
import { capacityMeasurements, serverMeasurements } from '#contract/measurements/measurements.ts'
import { startBackend } from '../../testing/backend.ts'
import { buildCluster, buildServer } from '../servers/testing.ts'
import { simulatedPast } from './call.ts'

test('a program without simulated servers lacks the call', async () => {
  const real = await startBackend()
  const { accessToken } = await real.signIn({ role: 'admin' })
  const answer = await real.app.inject({
    method: 'POST',
    url: simulatedPast.path,
    headers: { authorization: `Bearer ${accessToken}` },
  })
  expect(answer.statusCode).toBe(404)
})

test('the past of 30 days is written once, says that it was simulated, and stays out of the audit log', async () => {
  const demo = await startBackend({ environment: { STEELYARD_SIMULATE: '3' } })
  const admin = await demo.signIn({ role: 'admin', lasts: true })
  const operator = await demo.signIn({ role: 'operator' })
  const cluster = randomUUID()
  await buildCluster(demo, cluster, 'web')
  const of = { cluster_id: cluster, cluster_name: 'web', status: 'ready' as const }
  const ids: string[] = []
  for (const n of [1, 2, 3])
    ids.push(await buildServer(demo, { ...of, name: `web-${n}`, address: `127.20.1.${n}` }))
  await demo.platform.db
    .insertInto('cluster_server')
    .values(
      ids.map((node_id, position) => ({
        cluster_id: cluster,
        node_id,
        name: `web-${position + 1}`,
        role: 'worker' as const,
        position,
        install_disk: '/dev/sda',
        install_image: '',
        at_since: new Date(demo.clock.now()),
      })),
    )
    .execute()
  const audited = async () => (await admin.call(auditList)).answer!.total
  const before = await audited()

  expect((await operator.call(simulatedPast)).status).toBe(403)
  const { answer } = await admin.call(simulatedPast)
  expect(answer).toMatchObject({ figures: true })
  expect(answer!.entries).toBeGreaterThan(80)
  expect((await admin.call(simulatedPast)).answer).toEqual({ entries: 0, figures: false })
  expect(await audited()).toBe(before)

  const query = { per_page: 500, sort: 'at' as const, cluster }
  const { items } = (await admin.call(historyList, { query })).answer!
  const made = items.filter((e) => e.simulated)
  expect(made).toHaveLength(answer!.entries)
  const now = demo.clock.now()
  const dayMs = 24 * 3_600_000
  expect(made.every((e) => Date.parse(e.at) < now && Date.parse(e.at) > now - 31 * dayMs)).toBe(
    true,
  )
  // A server that was silent for 13 minutes.
  const silent = made.filter((e) => e.kind === 'server_contact' && e.object.name === 'web-3')
  const lengths = silent.map((e, i) => Date.parse(silent[i + 1]?.at ?? e.at) - Date.parse(e.at))
  expect(lengths).toContain(13 * 60_000)
  expect(made.map((e) => e.message)).toContain('Upgrade Talos is done')

  const capacity = (await admin.call(capacityMeasurements, { query: { step: 'day' } })).answer!
  expect(capacity.simulated_before).not.toBeNull()
  expect(capacity.series.find((s) => s.name === 'servers')!.mean[1]).toBe(3)
  const from = new Date(now - 30 * dayMs).toISOString()
  const { series } = (
    await admin.call(serverMeasurements, { params: { id: ids[0]! }, query: { from } })
  ).answer!
  const cpu = series.find((s) => s.name === 'cpu')!.mean.filter((value) => value !== null)
  expect(cpu.length).toBeGreaterThan(600)
  expect(Math.max(...cpu)).toBeLessThan(1)
})
