import { expect, test } from 'vitest'
import { manifestDiff } from './manifests.ts'

const object = (i: number) => ({
  title: `ConfigMap kube-system/c${i}`,
  body: {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `c${i}`, namespace: 'kube-system' },
  },
})
/** A cluster in which each object would change. */
const api = {
  get: (path: string) =>
    Promise.resolve(
      path === '/api/v1'
        ? { resources: [{ name: 'configmaps', kind: 'ConfigMap', namespaced: true }] }
        : {},
    ),
  applyAs: (_path: string, body: unknown) => Promise.resolve(body),
}
const diffOf = async (count: number) =>
  (
    await manifestDiff(
      api,
      Array.from({ length: count }, (_, i) => object(i)),
      'v1.13.9',
      AbortSignal.timeout(30_000),
    )
  )
    .split('\n')
    .filter((line) => line.startsWith('#'))

test('a plan says how many manifests it does not compare', async () => {
  expect(await diffOf(2)).toEqual(['# ConfigMap kube-system/c0', '# ConfigMap kube-system/c1'])
  const many = await diffOf(502)
  expect(many).toHaveLength(501)
  expect(many.at(-1)).toBe('# Updated as well, but not compared here: 2 more objects')
})
