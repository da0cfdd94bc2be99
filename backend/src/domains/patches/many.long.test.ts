import { expect, test } from 'vitest'
import { mostListBytes } from '#contract/list.ts'
import { patchCreate, patchGet, patchList } from '#contract/patches.ts'
import { startBackend } from '../../testing/backend.ts'
import { buildServer } from '../servers/testing.ts'

test('a list of patches leaves out the bodies beyond its bound, and each patch has its own', async () => {
  const backend = await startBackend()
  const operator = await backend.signIn({ role: 'operator' })
  const id = await buildServer(backend, { address: '10.0.0.6' })
  const body = `machine:\n  sysctls:\n    net.core.somaxconn: "4096"\n${`# ${'x'.repeat(997)}\n`.repeat(1000)}`
  for (let n = 1; n <= 9; n++) {
    const made = await operator.call(patchCreate, {
      params: { id },
      body: { name: `large-${n}`, weight: n, body },
    })
    expect(made.status).toBe(201)
  }
  const { answer, text } = await operator.call(patchList, { params: { id } })
  expect(text.length).toBeLessThan(mostListBytes)
  const own = answer!.items.filter((p) => !p.read_only)
  expect(own.map((p) => p.body_listed ?? true)).toEqual([...Array(7).fill(true), false, false])
  const last = own.at(-1)!
  expect(last).toMatchObject({ name: 'large-9', body: '' })
  const params = { id, patchId: last.patch_id }
  expect((await operator.call(patchGet, { params })).answer!.body).toBe(body)
})
