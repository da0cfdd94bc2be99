import { expect, test } from 'vitest'
import { clusterGet } from '#contract/clusters/clusters.ts'
import { Problem } from '#contract/errors.ts'
import { eventStream } from '#contract/events.ts'
import { type Server, serverList } from '#contract/servers/servers.ts'
import { startApi } from './testing/api.ts'
import { startCli, type TestCli } from './testing/cli.ts'
import { aCluster, aServer, id, pageOf } from './testing/things.ts'

/** An API whose list of servers changes with each read, until Ctrl-C after the last. */
async function watching(names: readonly string[]) {
  const api = await startApi()
  const cli: TestCli = await startCli(api)
  let at = 0
  const next = (): Server => {
    const name = names[at]!
    if (at === names.length - 1) cli.interrupt.abort()
    else at++
    return aServer({ name })
  }
  api.on(serverList, () => pageOf([next()]))
  return { api, cli }
}
const withoutTimes = (out: string) => out.replaceAll(/\d\d:\d\d:\d\d/g, 'TIME')

test('a watched list is printed again only after a change, until Ctrl-C', async () => {
  const { cli } = await watching(['one', 'one', 'two', 'two'])
  const ran = await cli.run('server list --columns name --watch')
  expect({ ...ran, out: withoutTimes(ran.out) }).toEqual({
    exit: 130,
    out: 'TIME\nNAME\none\n\nTIME\nNAME\ntwo\n',
    err: '',
  })
})

test('with --json, each change is one line', async () => {
  const { cli } = await watching(['one', 'one', 'two', 'two'])
  const { out } = await cli.run('server list --watch --json')
  expect(
    out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { items: Server[] }).items[0]!.name),
  ).toEqual(['one', 'two'])
})

test('on a terminal the view replaces the screen and fits it', async () => {
  const { cli } = await watching(['one', 'two'])
  const { out } = await cli.run('server list --columns name --watch', { columns: 40, rows: 4 })
  const screens = withoutTimes(out).split('\u001b[H').slice(1)
  expect(screens).toHaveLength(2)
  expect(screens[1]).toBe(
    'TIME  Shown again after each change…\u001b[K\n\u001b[K\n2 more lines\u001b[K\n\u001b[J',
  )
})

test('an object is watched, while Steelyard is away too', async () => {
  const api = await startApi()
  const cli = await startCli(api)
  const answers = ['installing', 'away', 'ready', 'ready'] as const
  let at = 0
  api.on(clusterGet, () => {
    const answer = answers[at]!
    if (at === answers.length - 1) cli.interrupt.abort()
    else at++
    if (answer === 'away')
      throw new Problem('unavailable', 'Steelyard is stopping', undefined, 3600)
    return aCluster({ status: answer })
  })
  const ran = await cli.run(`cluster show ${id(20)} --watch`)
  expect(ran.exit).toBe(130)
  expect(ran.out.match(/^Status .*$/gm)).toEqual([
    expect.stringMatching(/Installing$/),
    expect.stringMatching(/Ready$/),
  ])
  expect(ran.err).toBe('Steelyard is stopping. Trying again.\nSteelyard answers again.\n')
})

test('an event causes the next read at once', async () => {
  const { api, cli } = await watching(['one', 'two'])
  const waits: number[] = []
  let send: (text: string) => void = () => undefined
  api.on(eventStream, (_input, answer) => {
    answer.writeHead(200, { 'content-type': 'text/event-stream' })
    send = (text) => void answer.write(text)
    send(': heartbeat\n\n')
    return 'done'
  })
  // Real time: only the event can end the long sleep before the next read.
  const sleep = (ms: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => {
      waits.push(ms)
      if (ms < 2_000) return void setImmediate(resolve)
      if (signal?.aborted) return resolve()
      signal?.addEventListener('abort', () => resolve(), { once: true })
      if (ms >= 10_000) send('id: 1\nevent: server.updated\ndata: {}\n\n')
      return undefined
    })
  const ran = await cli.run('server list --columns name --watch', { sleep })
  expect(withoutTimes(ran.out)).toBe('TIME\nNAME\none\n\nTIME\nNAME\ntwo\n')
  expect(waits).toContain(500)
})

test.each([
  ['holds back the whole stream', false, 2_000],
  ['passes the beginning of the stream and holds back its events', true, 10_000],
])(
  'behind a proxy that %s, a view is shown again all the same, and Ctrl-C ends it',
  async (_, passesBeginning, everyMs) => {
    const { api, cli } = await watching(['one', 'two', 'two'])
    const waits: number[] = []
    const opened = new Promise<void>((resolve) => {
      api.on(eventStream, (_input, answer) => {
        if (passesBeginning) {
          answer.writeHead(200, { 'content-type': 'text/event-stream' })
          answer.flushHeaders()
        }
        resolve()
        return 'done'
      })
    })
    const sleep = async (ms: number): Promise<void> => {
      await opened
      await new Promise((resolve) => void setImmediate(resolve))
      waits.push(ms)
    }
    const ran = await cli.run('server list --columns name --watch', { sleep })
    expect({ ...ran, out: withoutTimes(ran.out) }).toEqual({
      exit: 130,
      out: 'TIME\nNAME\none\n\nTIME\nNAME\ntwo\n',
      err: '',
    })
    expect(Math.max(...waits)).toBeLessThanOrEqual(everyMs)
  },
)

test('commands that change something have no --watch', async () => {
  const cli = await startCli()
  expect(await cli.run('server reboot x --watch')).toMatchObject({
    exit: 2,
    err: expect.stringContaining('There is no option --watch') as string,
  })
})
