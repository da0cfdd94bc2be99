/**
 * Snapshots of etcd: the committed answers of the published etcd about ours, and a snapshot that
 * the published etcd has saved. See `README.md`.
 */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { recoveredState } from '#simulator/src/cluster/recovery.ts'
import { etcdAnswersFile, etcdSnapshotFile, expectedAnswers, leftAfterWrites } from './snapshots.ts'

test('the published etcd restores every object from a simulated snapshot, with its revision', () => {
  expect(
    JSON.parse(readFileSync(etcdAnswersFile, 'utf8')),
    'if the simulator writes snapshots otherwise, run where Go is: npm run conformance',
  ).toMatchObject(expectedAnswers())
})

test('the simulator restores the newest revision of every object from a snapshot of the published etcd', () => {
  const { resourceVersion, objects } = recoveredState(readFileSync(etcdSnapshotFile), false)
  const left = Object.values(leftAfterWrites())
  expect(resourceVersion).toBe(Math.max(...left.map(({ revision }) => revision)))
  const byName = (one: Record<string, unknown>): string => JSON.stringify([one.kind, one.metadata])
  const expected = left.map(({ revision, value }) => ({
    ...value,
    metadata: { ...(value.metadata as object), resourceVersion: String(revision) },
  }))
  expect(
    Object.values(objects)
      .map(({ body }) => body)
      .toSorted((a, b) => byName(a).localeCompare(byName(b))),
  ).toEqual(expected.toSorted((a, b) => byName(a).localeCompare(byName(b))))
  expect(Object.keys(objects)).toContain('apps/deployments/shop/front')
})
