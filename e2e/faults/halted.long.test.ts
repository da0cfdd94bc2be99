import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { channelCreate } from '#contract/alerts/channels.ts'
import { findingList } from '#contract/findings/findings.ts'
import { operationCancel, operationGet } from '#contract/operations.ts'
import { operationResume } from '#contract/restoration.ts'
import type { Caller } from '../../tools/api-client.ts'
import { create, ended, findings, openSite, patiently, type Site, signIn } from './testing/world.ts'

/** What a channel was told. */
const told: string[] = []
const receiver = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (part: string) => (body += part))
  request.on('end', () => {
    told.push(body)
    response.end()
  })
})
let site: Site
beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  site = await openSite({ servers: 2, seed: 'halted' })
})
afterAll(async () => {
  receiver.closeAllConnections()
  receiver.close()
  await site.stop()
})

/** Ends that happen beside other work count against none, so there may be more than three. */
const mostEnds = 12

/** Starts the program with a failpoint, again after each kill, until the operation is halted. */
async function untilHalted<T extends { readonly operation: { readonly id: string } }>(
  doomed: Readonly<Record<string, string>>,
  begin: (call: Caller) => Promise<T>,
) {
  let begun: T | undefined
  for (let ends = 0; ends < mostEnds; ends++) {
    const program = await site.start(doomed)
    const isGone = program.ended.then(() => true)
    // The program may end as soon as it is ready.
    const call = await signIn(program.url).catch(() => undefined)
    if (call === undefined) {
      await program.ended
      continue
    }
    begun ??= await begin(call)
    const { id } = begun.operation
    for (
      const until = Date.now() + 90_000;
      Date.now() < until && !(await Promise.race([isGone, pause(100).then(() => false)]));
    ) {
      const shown = await call(operationGet, { params: { id } }).catch(() => undefined)
      if (shown?.halted === true) {
        if (ends < 3) throw new Error(`The operation was halted after ${ends} ends`)
        return { program, call, begun }
      }
    }
    expect(await Promise.race([program.ended, pause(1_000).then(() => 'not reached')])).toBe(
      'SIGKILL',
    )
  }
  throw new Error('The operation was not halted')
}

test('an operation whose run ends the process again and again waits, is a finding, and is resumed', async () => {
  const doomed = { FAILPOINT: 'bootstrap:before', STEELYARD_ALERT_NETWORKS: '127.0.0.0/8' }
  const begin = async (call: Caller) => {
    await call(channelCreate, {
      body: {
        name: 'on-call',
        kind: 'webhook',
        url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
        secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
      },
    })
    const nodes = await site.take(call, 1)
    return { nodes, ...(await create(call, site, 'deadly', nodes)) }
  }
  const { program: third, call, begun } = await untilHalted(doomed, begin)
  const { cluster, operation, nodes } = begun
  const look = () => patiently(() => call(operationGet, { params: { id: operation.id } }))
  const shown = await look()
  const why = expect.stringMatching(
    /^Steelyard ended three times in a row while it worked on nothing but this.* Resume the operation/,
  ) as string
  expect(shown).toMatchObject({ halted: true, status: 'waiting', reason: why, ended_at: null })
  expect(shown.steps).toContainEqual(expect.objectContaining({ reason: why }))
  await expect
    .poll(async () => (await call(findingList, { query: {} })).items.map(({ kind }) => kind), {
      timeout: 60_000,
    })
    .toContain('installation_operation_halted')
  // Somebody who doesn't look is told.
  await expect
    .poll(() => told.filter((body) => body.includes('installation_operation_halted')).length, {
      timeout: 180_000,
    })
    .toBeGreaterThan(0)
  // Nothing tries again at once: neither time nor another start.
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
  const { program: last, begun } = await untilHalted(doomed, async (first) =>
    create(first, site, 'given-up', await site.take(first, 1)),
  )
  await last.kill()
  const program = await site.start()
  const call = await signIn(program.url)
  const params = { id: begun.operation.id }
  await call(operationCancel, { params })
  expect(await call(operationGet, { params })).toMatchObject({
    halted: true,
    status: 'cancelling',
  })
  await call(operationResume, { params })
  expect(await ended(call, params.id)).toMatchObject({ status: 'cancelled' })
  await program.kill()
})
