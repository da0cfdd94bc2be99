import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { Problem } from '#contract/errors.ts'
import {
  type Operation,
  operationCancel,
  operationGet,
  operationRetry,
  operationRetryDisks,
} from '#contract/operations.ts'
import { operationResume } from '#contract/restoration.ts'
import { startApi } from './testing/api.ts'
import { startCli } from './testing/cli.ts'
import { anOperation, aStep, id } from './testing/things.ts'

const story: Operation[] = [
  anOperation({
    steps: [aStep({ status: 'running', attempt: 1 }), aStep({ key: 'boot', title: 'Boot' })],
  }),
  anOperation({
    steps: [aStep({ status: 'running', attempt: 1 }), aStep({ key: 'boot', title: 'Boot' })],
  }),
  anOperation({
    steps: [
      aStep({ status: 'done', attempt: 1 }),
      aStep({
        key: 'boot',
        title: 'Boot',
        status: 'waiting',
        attempt: 2,
        reason: 'last seen 14:06\u001b[2J',
      }),
    ],
  }),
  anOperation({
    status: 'done',
    steps: [
      aStep({ status: 'done', attempt: 1 }),
      aStep({ key: 'boot', title: 'Boot', status: 'done', attempt: 2 }),
    ],
  }),
]

async function watching(answers: (Operation | Problem)[]) {
  const api = await startApi()
  const cli = await startCli(api)
  const left = [...answers]
  api.on(operationGet, () => {
    const next = left.length > 1 ? left.shift()! : left[0]!
    if (next instanceof Problem) throw next
    return next
  })
  return { api, cli }
}
const withoutTimes = (out: string) => out.replaceAll(/^\d\d:\d\d:\d\d {2}/gm, '')

describe('operation watch', () => {
  test('operation watch prints each change of a step once and exits with 0', async () => {
    const { cli } = await watching(story)
    const ran = await cli.run(`operation watch ${id(70)}`)
    expect(ran).toMatchObject({ exit: 0, err: '' })
    expect(withoutTimes(ran.out)).toBe(
      [
        'running   Apply',
        'done      Apply',
        'waiting (attempt 2)  Boot: last seen 14:06\ufffd[2J',
        'done      Boot',
        'Create cluster web: done',
        '',
      ].join('\n'),
    )
  })

  test('operation watch --json prints one line of JSON per change', async () => {
    const { cli } = await watching(story)
    const lines = (await cli.run(`operation watch ${id(70)} --json`)).out.trim().split('\n')
    expect(lines.map((line) => (JSON.parse(line) as Operation).status)).toEqual([
      'running',
      'running',
      'done',
    ])
  })

  test.each(['failed', 'cancelled'] as const)(
    'operation watch exits with 1 if the operation is %s',
    async (status) => {
      const { cli } = await watching([anOperation({ status, reason: 'cp-1 does not answer' })])
      expect(await cli.run(`operation watch ${id(70)}`)).toMatchObject({
        exit: 1,
        out: `Create cluster web: ${status}. cp-1 does not answer\n`,
      })
    },
  )

  test('operation watch lists the servers that a scan found and counts the other addresses', async () => {
    const silent = (n: number) =>
      aStep({
        key: `ask/10.0.4.${n}`,
        title: `Ask 10.0.4.${n}`,
        status: 'skipped',
        reason: 'No answer: timeout',
      })
    const steps = [
      ...Array.from({ length: 200 }, (_, i) => silent(i + 2)),
      aStep({ key: 'ask/10.0.4.1', title: 'Ask 10.0.4.1', status: 'done' }),
    ]
    const target = { kind: 'datacenter' as const, id: null, name: '10.0.4.0/24' }
    const { cli } = await watching([
      anOperation({
        kind: 'serverAdd',
        target,
        steps,
        status: 'done',
        reason: '1 server found, no answer from 200',
      }),
    ])
    const { out } = await cli.run(`operation watch ${id(70)}`)
    expect(withoutTimes(out)).toBe(
      'done      Ask 10.0.4.1\nAdd servers 10.0.4.0/24: done. 1 server found, no answer from 200\n',
    )
  })

  test('operation watch waits while Steelyard restarts', async () => {
    const away = new Problem('unavailable', 'The database is away')
    const { cli } = await watching([story[0]!, away, away, story[3]!])
    expect(await cli.run(`operation watch ${id(70)}`)).toMatchObject({
      exit: 0,
      err: 'The database is away. Trying again.\nSteelyard answers again.\n',
    })
  })

  test('operation watch fails at once if Steelyard has never answered or the operation does not exist', async () => {
    const { cli } = await watching([new Problem('unavailable', 'The database is away')])
    expect(await cli.run(`operation watch ${id(70)}`)).toMatchObject({ exit: 7 })
    const gone = await watching([new Problem('not_found', 'No such operation')])
    expect(await gone.cli.run(`operation watch ${id(70)}`)).toMatchObject({ exit: 5 })
    const named = await gone.cli.run('operation watch web')
    expect(named).toMatchObject({
      exit: 2,
      err: 'web is not the id of an operation\nsteelyard operation list shows them\n',
    })
  })

  test('operation watch draws a progress line that fits the terminal', async () => {
    const { cli } = await watching(story)
    const ran = await cli.run(`operation watch ${id(70)}`, { columns: 24 })
    expect(ran.out).toContain('\r\u001b[K0 of 2 steps done, now…')
  })
})

test('Ctrl-C ends only the watching, and a message says that the operation continues', async () => {
  const { api, cli } = await watching([story[0]!])
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('main.ts', import.meta.url)), 'operation', 'watch', id(70)],
    {
      env: { ...process.env, ...cli.env, STEELYARD_URL: api.url },
    },
  )
  await once(child.stdout, 'data')
  child.kill('SIGINT')
  const [[code], err] = await Promise.all([once(child, 'exit'), text(child.stderr)])
  expect(code).toBe(130)
  expect(err).toBe(
    `Stopped watching. The operation continues\nWatch it again: steelyard operation watch ${id(70)}\n`,
  )
  expect(api.callsOf(operationCancel)).toHaveLength(0)
})

test('operation cancel and retry print the new state', async () => {
  const { api, cli } = await watching([anOperation({ status: 'done' })])
  api.on(operationCancel, () => anOperation({ status: 'cancelling' }))
  api.on(operationRetry, () => anOperation({ status: 'pending' }))
  expect(await cli.run(`operation cancel ${id(70)}`)).toMatchObject({
    exit: 0,
    out: 'Create cluster web: cancelling\n',
  })
  expect(await cli.run(`operation retry ${id(70)} --wait`)).toMatchObject({
    exit: 0,
    out: 'Create cluster web: done\n',
  })
})

test('a command with --wait waits also if Steelyard is busy right after it began', async () => {
  const busy = new Problem('unavailable', 'Server busy')
  const { api, cli } = await watching([busy, busy, story[3]!])
  api.on(operationRetryDisks, () => ({ items: [] }))
  api.on(operationRetry, () => anOperation({ status: 'pending' }))
  const ran = await cli.run(`operation retry ${id(70)} --wait`)
  expect(ran).toMatchObject({
    exit: 0,
    err: expect.stringContaining(
      'Server busy. Trying again.\nSteelyard answers again.\n',
    ) as string,
  })
})

test('operation retry asks for the name of the disk that would be wiped, and sends it', async () => {
  const { api, cli } = await watching([anOperation({ status: 'done' })])
  const by = { wwid: 'naa.1', serial: 'S1', content: 'ext4 "data"' }
  const disk = {
    server: 'brave-otter-042',
    device: '/dev/sda',
    disk: { id: 'sda', model: 'PM9A3', serial: 'S1', wwid: 'naa.1', content: by.content },
  }
  api.on(operationRetryDisks, () => ({
    items: [{ ...disk, content: by.content, media: null, by }],
  }))
  api.on(operationRetry, ({ body }) => {
    if (body.confirmed_disks.length === 0)
      throw new Problem('disk_not_confirmed', '/dev/sda of brave-otter-042: it holds ext4 "data"')
    return anOperation({ status: 'pending' })
  })
  const unasked = await cli.run(`operation retry ${id(70)}`)
  expect(unasked).toMatchObject({
    exit: 6,
    err: expect.stringContaining("--confirm-disk 'SERIAL=CONTENT'") as string,
  })
  const wrong = await cli.run(`operation retry ${id(70)}`, { ask: () => Promise.resolve('S2') })
  expect(wrong.err).toContain('Nothing was done')
  expect(api.callsOf(operationRetry).map((c) => c.body)).toEqual([
    { confirmed_disks: [] },
    { confirmed_disks: [] },
  ])
  const asked = await cli.run(`operation retry ${id(70)}`, { ask: () => Promise.resolve('S1') })
  expect(asked).toMatchObject({ exit: 0, out: 'Create cluster web: pending\n' })
  expect(api.callsOf(operationRetry).at(-1)!.body).toEqual({ confirmed_disks: [by] })
})

test("operation resume prints what continues, or why the operation can't be resumed yet", async () => {
  const { api, cli } = await watching([])
  api.on(operationResume, () => ({ operations: [anOperation({ status: 'running' })] }))
  expect(await cli.run(`operation resume ${id(70)}`)).toMatchObject({
    exit: 0,
    out: 'Create cluster web: running\n',
  })
  expect(api.callsOf(operationResume)[0]!.params).toEqual({ id: id(70) })
  const why =
    'brave-otter-042 has not been contacted since the restore: wait until each has answered or failed to answer'
  api.on(operationResume, () => {
    throw new Problem('transition_refused', why)
  })
  expect(await cli.run(`operation resume ${id(70)}`)).toMatchObject({
    exit: 6,
    err: expect.stringContaining(why) as string,
  })
  expect((await cli.run('operation resume web')).exit).toBe(2)
})
