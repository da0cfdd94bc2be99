import { expect, test } from 'vitest'
import { masked } from '#talos/config/mask.ts'
import { spread } from '../../../tools/testing/length.ts'
import { maskText } from '../domains/configurations/composing/masking.ts'
import { checkBody, compose } from '../domains/configurations/composing/render.ts'
import type { Caller } from '../http/caller.ts'
import { reader } from './reader.ts'
import { type For, ours, sentBy } from './asker.ts'

const talosVersion = 'v1.13.9'
const lines = (count: number, last = '') =>
  `machine:\n  sysctls:\n${Array.from({ length: count }, (_, i) => `    net.core.a${i}: "${i}"\n`).join('')}${last}`
const layer = (body: string) => ({ id: 'a', name: 'a', weight: 500, body })
const base = 'version: v1alpha1\nmachine:\n  type: worker\n'
const person = (userId: string): { caller: Caller } => ({
  caller: {
    kind: 'user',
    userId,
    email: `${userId}@example.com`,
    sessionId: userId,
    scopes: [],
    ip: '127.0.0.1',
    requestId: userId,
  },
})
/** A generous limit, because this test is not about time. */
const patient = { processorMs: 10_000 }

test('parsing in the worker thread gives the same result as in the main thread', async () => {
  const read = reader(patient)
  for (const body of [lines(3), 'machine: [', lines(2, '  type: worker\n'), lines(2_000)]) {
    expect(await read(ours, 'check', body, talosVersion)).toEqual(checkBody(body, talosVersion))
    expect(await read(ours, 'compose', base, [layer(body)], { talosVersion })).toEqual(
      compose(base, [layer(body)], { talosVersion }),
    )
  }
  for (const text of [
    lines(3),
    'a: [',
    'machine:\n  token: |\n    one\n    two\n  ca:\n    key: secret\nversion: v1alpha1\n',
  ])
    expect(await read(ours, 'mask', text, 'everybody')).toEqual(maskText(text, 'everybody'))
  const patch =
    'machine:\n  token: secret\n---\napiVersion: v1alpha1\nkind: LinkConfig\nname: eno1\n'
  const { text } = await read(ours, 'mask', patch, 'may_read_secrets')
  expect(text).toContain(masked)
  expect(await read(ours, 'unmask', text, patch, 'may_read_secrets')).toBe(patch)
  await expect(read(ours, 'unmask', text, 'machine: {}', 'may_read_secrets')).rejects.toMatchObject(
    {
      code: 'invalid',
      fields: { body: expect.stringContaining('Line 2') as string },
    },
  )
  expect(await read(ours, 'links', patch)).toEqual(['eno1'])
})

test('parsing a patch of any size blocks the main thread only during the transfer', async () => {
  const read = reader(patient)
  await read(ours, 'check', lines(1_000), talosVersion)
  /**
   * Milliseconds of main thread work during the action, in processor time: elapsed time grows if
   * other processes have the processor.
   */
  const busy = async (act: () => unknown): Promise<number> => {
    const began = process.threadCpuUsage()
    await act()
    const { user, system } = process.threadCpuUsage(began)
    return (user + system) / 1_000
  }
  const bodies = ['\n'.repeat(60_000) + 'x', lines(2_400), '#\n'.repeat(30_000) + '- x']
  for (const body of spread(bodies, 1)) {
    const here = await busy(() => checkBody(body, talosVersion))
    // The shortest of three, because a garbage collection may fall into one of them.
    const tries: number[] = []
    for (let i = 0; i < 3; i++)
      tries.push(
        await busy(() => Promise.all([1, 2, 3].map(() => read(ours, 'check', body, talosVersion)))),
      )
    expect(Math.min(...tries)).toBeLessThan(Math.max(here, 20))
  }
})

test('parsing a text that takes too long is abandoned, and the next text is parsed', async () => {
  const read = reader({ processorMs: { check: 1, compose: 10_000 } })
  await expect(read(ours, 'check', lines(2_300), talosVersion)).rejects.toMatchObject({
    code: 'unavailable',
  })
  expect((await read(ours, 'compose', base, [layer(lines(2))], { talosVersion })).yaml).toContain(
    'net.core.a1',
  )
})

test('texts beyond a user’s share of the queue are refused, and another user’s text is parsed first', async () => {
  const read = reader({ ...patient, most: 20, mostOfOne: 4 })
  const answered: string[] = []
  const asked = (id: string) =>
    read(person(id), 'check', lines(500), talosVersion).then(
      () => answered.push(id),
      (error: { code: string }) => answered.push(`${id} ${error.code}`),
    )
  await Promise.all([...Array.from({ length: 8 }, () => asked('flood')), asked('other')])
  expect(answered.filter((a) => a === 'flood throttled')).toHaveLength(3)
  expect(answered.filter((a) => a === 'flood')).toHaveLength(5)
  expect(answered.filter((a) => !a.includes('throttled')).indexOf('other')).toBeLessThanOrEqual(2)
})

test('a text that is longer than its limit is refused before it is read', async () => {
  await expect(reader(patient)(ours, 'check', 'a'.repeat(5 * 1024 * 1024))).rejects.toMatchObject({
    code: 'too_large',
  })
})

test('a flood of one machine delays only the texts of this machine', async () => {
  const read = reader({ ...patient, mostOfOne: 2 })
  const answered: string[] = []
  const asked = (who: For, id: string) =>
    read(who, 'images', lines(500)).then(() => answered.push(id))
  await Promise.all([
    ...Array.from({ length: 8 }, () => asked(sentBy('10.0.0.1'), 'flood')),
    asked(sentBy('10.0.0.2'), 'other'),
    asked(person('a'), 'person'),
  ])
  expect(answered).toHaveLength(10)
  expect(answered.slice(0, 4).toSorted()).toEqual(['flood', 'flood', 'other', 'person'])
})

test('a text whose caller has disconnected is not parsed', async () => {
  const read = reader(patient)
  const gone = new AbortController()
  const first = read(person('a'), 'check', lines(500), talosVersion)
  const second = read({ ...person('a'), signal: gone.signal }, 'check', lines(500), talosVersion)
  gone.abort(new Error('The client went away'))
  await expect(second).rejects.toThrow('The client went away')
  expect(await first).toEqual([])
})

test('a call of several texts waits behind at most one text that takes long, whoever wrote more of them', async () => {
  const read = reader({ ...patient, mostOfOne: 8, slowMs: 5 })
  const order: string[] = []
  const long = () => read(person('flood'), 'check', lines(1_500), talosVersion)
  const floods = Array.from({ length: 8 }, () => long().then(() => order.push('flood')))
  for (let i = 0; i < 5; i++) {
    await read(person('other'), 'check', lines(1), talosVersion)
    order.push('other')
  }
  expect(order.indexOf('other')).toBeLessThanOrEqual(1)
  // The first of them began before anybody knew that it takes long. The thread apart works on the
  // others meanwhile, and must load its modules first.
  expect(order.slice(0, 6).filter((one) => one === 'flood').length).toBeLessThanOrEqual(2)
  await Promise.all(floods)
  expect(order.filter((one) => one === 'flood')).toHaveLength(8)
})

test('a text whose time is over sends further texts of its user to the thread apart', async () => {
  const read = reader({ processorMs: { check: 1, compose: 10_000 }, slowMs: 500 })
  const refused = read(person('flood'), 'check', lines(2_300), talosVersion)
  const waiting = Array.from({ length: 3 }, () =>
    read(person('flood'), 'compose', base, [layer(lines(2))], { talosVersion }),
  )
  await expect(refused).rejects.toMatchObject({ code: 'unavailable' })
  const answers = await Promise.all(waiting)
  expect(answers.every(({ yaml }) => yaml.includes('net.core.a1'))).toBe(true)
})
