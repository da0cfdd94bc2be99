import { performance } from 'node:perf_hooks'
import { expect, test } from 'vitest'
import { masked } from '#talos/config/mask.ts'
import { checkBody } from './check.ts'
import { maskText } from './masking.ts'
import { reader } from './reader.ts'
import { compose } from './render.ts'

const talosVersion = 'v1.13.9'
const lines = (count: number, last = '') => `machine:\n  sysctls:\n${Array.from({ length: count }, (_, i) => `    net.core.a${i}: "${i}"\n`).join('')}${last}`
const layer = (body: string) => ({ id: 'a', name: 'a', weight: 500, body })
const base = 'version: v1alpha1\nmachine:\n  type: worker\n'

test('what is read beside is what is read here', async () => {
  const beside = reader({ short: 0 })
  for (const body of [lines(3), 'machine: [', lines(2, '  type: worker\n'), lines(2_000)]) {
    expect(await beside.check(body, talosVersion)).toEqual(checkBody(body, talosVersion))
    expect(await beside.compose(base, [layer(body)], { talosVersion })).toEqual(compose(base, [layer(body)], { talosVersion }))
  }
  for (const text of [lines(3), 'a: [', 'machine:\n  token: |\n    one\n    two\n  ca:\n    key: secret\nversion: v1alpha1\n']) {
    const [there, here] = [await beside.mask(text), maskText(text)]
    expect(there.text).toBe(here.text)
    for (let line = 1; line < 10; line++) expect(there.lineOf(line)).toBe(here.lineOf(line))
  }
  const patch = 'machine:\n  token: secret\n---\napiVersion: v1alpha1\nkind: LinkConfig\nname: eno1\n'
  const { text } = await beside.mask(patch)
  expect(text).toContain(masked)
  expect(await beside.unmask(text, patch)).toContain('"secret"')
  await expect(beside.unmask(text, 'machine: {}')).rejects.toMatchObject({ code: 'invalid', fields: { body: expect.stringContaining('Line 2') as string } })
  expect(await beside.links(patch)).toEqual(['eno1'])
})

test('the largest patches hold the main thread no longer than their way to the other and back', async () => {
  const beside = reader()
  await beside.check(lines(1_000), talosVersion)
  const body = lines(2_400)
  /** Milliseconds that the main thread was busy meanwhile. */
  const busy = async (act: () => unknown): Promise<number> => {
    const began = performance.eventLoopUtilization()
    await act()
    return performance.eventLoopUtilization(began).active
  }
  const here = await busy(() => checkBody(body, talosVersion))
  const there = await busy(() => Promise.all([beside.check(body, talosVersion), beside.check(body, talosVersion), beside.check(body, talosVersion)]))
  expect(there).toBeLessThan(here)
})

test('a text that takes too long is given up; of many at once each is read', async () => {
  const hasty = reader({ short: 0, limitMs: 1 })
  await expect(hasty.check(lines(2_000), talosVersion)).rejects.toMatchObject({ code: 'unavailable' })
  const patient = reader({ short: 0 })
  const all = await Promise.all(Array.from({ length: 5 }, () => patient.check(lines(500), talosVersion)))
  expect(all).toEqual([[], [], [], [], []])
})
