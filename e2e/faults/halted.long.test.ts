import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { operationCancel, operationGet } from '#contract/operations.ts'
import { operationResume } from '#contract/restoration.ts'
import { create, ended, findings, openSite, patiently, type Site, signIn } from './testing/world.ts'

let site: Site
beforeAll(async () => {
  site = await openSite({ servers: 2, seed: 'halted' })
})
afterAll(() => site.stop())

test('an operation whose run ends the process twice waits for a user, who resumes it', async () => {
  const doomed = { FAILPOINT: 'bootstrap:before' }
  const first = await site.start(doomed)
  const begun = await signIn(first.url)
  const nodes = await site.take(begun, 1)
  const { cluster, operation } = await create(begun, site, 'deadly', nodes)
  expect(await Promise.race([first.ended, pause(90_000).then(() => 'not reached')])).toBe('SIGKILL')
  // Continues at once, and is killed again.
  const second = await site.start(doomed)
  expect(await Promise.race([second.ended, pause(90_000).then(() => 'not reached')])).toBe(
    'SIGKILL',
  )

  const third = await site.start(doomed)
  const call = await signIn(third.url)
  const look = () => patiently(() => call(operationGet, { params: { id: operation.id } }))
  let shown = await look()
  for (
    const until = Date.now() + 30_000;
    shown.halted !== true && Date.now() < until;
    await pause(100)
  )
    shown = await look()
  const why = expect.stringMatching(
    /^Steelyard ended twice in a row while it worked on this.* Resume the operation/,
  ) as string
  expect(shown).toMatchObject({ halted: true, status: 'waiting', reason: why, ended_at: null })
  expect(shown.steps).toContainEqual(expect.objectContaining({ reason: why }))
  // Nothing tries again: neither time nor another start.
  await pause(4_000)
  expect((await fetch(`${third.url}/readyz`)).status).toBe(200)
  await third.stop()

  const mended = await site.start()
  const after = await signIn(mended.url)
  expect(
    await patiently(() => after(operationGet, { params: { id: operation.id } })),
  ).toMatchObject({ halted: true, status: 'waiting' })
  const { operations } = await after(operationResume, { params: { id: operation.id } })
  expect(operations).toEqual([
    expect.objectContaining({ id: operation.id, status: 'running', reason: null }),
  ])
  const end = await ended(after, operation.id)
  expect(end.halted).toBeUndefined()
  expect(await findings(after, site, cluster.id, nodes, end)).toEqual([])
  await expect(after(operationResume, { params: { id: operation.id } })).rejects.toThrow(
    'transition_refused',
  )
  await mended.kill()
})

test('a halted operation can be cancelled and resumed, which ends it', async () => {
  const doomed = { FAILPOINT: 'bootstrap:before' }
  let operation: { id: string } | undefined
  for (let round = 0; round < 2; round++) {
    const program = await site.start(doomed)
    if (operation === undefined) {
      const call = await signIn(program.url)
      ;({ operation } = await create(call, site, 'given-up', await site.take(call, 1)))
    }
    expect(await Promise.race([program.ended, pause(90_000).then(() => 'not reached')])).toBe(
      'SIGKILL',
    )
  }
  const program = await site.start()
  const call = await signIn(program.url)
  const params = { id: operation!.id }
  for (
    const until = Date.now() + 30_000;
    (await call(operationGet, { params })).halted !== true && Date.now() < until;
  )
    await pause(100)
  await call(operationCancel, { params })
  expect(await call(operationGet, { params })).toMatchObject({
    halted: true,
    status: 'cancelling',
  })
  await call(operationResume, { params })
  expect(await ended(call, params.id)).toMatchObject({ status: 'cancelled' })
  await program.kill()
})
