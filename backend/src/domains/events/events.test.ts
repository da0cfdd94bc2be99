import { expect, test } from 'vitest'
import { datacenterCreate, datacenterRemove, datacenterUpdate } from '#contract/datacenters.ts'
import { authorizeLogout } from '#contract/sessions.ts'
import { inTransaction } from '../../db/db.ts'
import { system } from '../../http/caller.ts'
import { type Backend, type SignedIn, startBackend } from '../../testing/backend.ts'
import { statementsDuring } from '../../testing/sent.ts'

interface Received {
  id: number
  event: string
  data: {
    id: number
    at: string
    object?: { kind: string; id: string; version: number | null }
    by?: string
  }
}

/**
 * Reads a user's stream until stopped. As in a browser, the token is sent in a header and not in
 * the URL.
 */
async function listen(backend: Backend, user: SignedIn, lastEventId?: number) {
  const url = await (urls.get(backend) ?? urls.set(backend, backend.listen()).get(backend)!)
  const stop = new AbortController()
  const response = await fetch(`${url}/v1/events`, {
    headers: {
      authorization: `Bearer ${user.accessToken}`,
      ...(lastEventId !== undefined && { 'last-event-id': String(lastEventId) }),
    },
    signal: stop.signal,
  })
  const events: Received[] = []
  let ended = false
  const reading = (async () => {
    let text = ''
    try {
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        text += chunk
        const blocks = text.split('\n\n')
        text = blocks.pop()!
        for (const block of blocks) {
          const fields = Object.fromEntries(
            block
              .split('\n')
              .flatMap((line) =>
                /^(id|event|data): /.test(line)
                  ? [[line.split(': ', 1)[0], line.slice(line.indexOf(': ') + 2)]]
                  : [],
              ),
          ) as Record<string, string>
          // A stream may start with events published just before it was opened, such as the test's
          // own sign-ins.
          if (fields['event'] && fields['event'] !== 'user.created')
            events.push({
              id: Number(fields['id']),
              event: fields['event'],
              data: JSON.parse(fields['data']!) as Received['data'],
            })
        }
      }
    } catch {
      // The test or the server ended the stream.
    }
    ended = true
  })()
  return { response, events, isEnded: () => ended, stop: () => stop.abort(), reading }
}
const urls = new Map<Backend, Promise<string>>()
const place = (city_code: string) => ({
  country_code: 'PL',
  city_code,
  city_name: 'Somewhere',
  tier: null,
  certifications: [],
  latitude: null,
  longitude: null,
})
const settled = (check: () => boolean, timeout = 5000) =>
  expect.poll(check, { timeout, interval: 10 }).toBe(true)

test('a change is published after its commit, with the changed object and the user', async () => {
  const backend = await startBackend()
  const [operator, viewer] = [
    await backend.signIn({ role: 'operator' }),
    await backend.signIn({ role: 'viewer' }),
  ]
  await backend.publish()
  const stream = await listen(backend, viewer)
  expect(stream.response.status).toBe(200)
  expect(stream.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect(stream.response.headers.get('x-content-type-options')).toBe('nosniff')
  const { answer } = await operator.call(datacenterCreate, { body: place('AAA') })
  await operator.call(datacenterUpdate, { params: { id: answer!.id }, body: { tier: 3 } })
  await operator.call(datacenterRemove, { params: { id: answer!.id } })
  await backend.publish()
  await settled(() => stream.events.length === 3)
  expect(stream.events.map((e) => [e.event, e.data.object!.version])).toEqual([
    ['datacenter.created', 1],
    ['datacenter.updated', 2],
    ['datacenter.removed', 2],
  ])
  expect(stream.events[0]!.data).toMatchObject({
    object: { kind: 'datacenter', id: answer!.id },
    by: operator.email,
  })
  expect(stream.events.map((e) => e.id)).toEqual(stream.events.map((e) => e.data.id))
  stream.stop()
})

test('a reader gets only the events that the user may see', async () => {
  const backend = await startBackend()
  const [admin, viewer] = [await backend.signIn(), await backend.signIn({ role: 'viewer' })]
  await backend.publish()
  const streams = [await listen(backend, admin), await listen(backend, viewer)]
  const { db, tell } = backend.platform
  await inTransaction(db, (tx) =>
    tell(tx, system, { name: 'user.updated', object: { kind: 'user', id: viewer.userId } }),
  )
  await admin.call(datacenterCreate, { body: place('AAA') })
  await backend.publish()
  await settled(() => streams.every((s) => s.events.some((e) => e.event === 'datacenter.created')))
  expect(streams.map((s) => s.events.map((e) => e.event))).toEqual([
    ['user.updated', 'datacenter.created'],
    ['datacenter.created'],
  ])
  for (const stream of streams) stream.stop()
})

test('a stream resumes after the last event that the reader received, without a gap or a repetition', async () => {
  const backend = await startBackend()
  const admin = await backend.signIn()
  const make = async (n: number) => {
    for (let i = 0; i < n; i++) await admin.call(datacenterCreate, { body: place('AAA') })
    await backend.publish()
  }
  await backend.publish()
  const first = await listen(backend, admin)
  await make(3)
  await settled(() => first.events.length === 3)
  first.stop()
  await make(4)
  const second = await listen(backend, admin, first.events[1]!.id)
  await make(2)
  await settled(() => second.events.length === 7)
  const ids = second.events.map((e) => e.id)
  expect(ids).toEqual(Array.from({ length: 7 }, (_, i) => first.events[2]!.id + i))
  second.stop()
})

test('a reader that requests removed or unknown events gets a resync event', async () => {
  const backend = await startBackend()
  const admin = await backend.signIn()
  await admin.call(datacenterCreate, { body: place('AAA') })
  await admin.call(datacenterCreate, { body: place('AAA') })
  await backend.publish()
  await backend.platform.db.deleteFrom('event').where('id', '=', 2).execute()
  for (const lastId of [1, 1_000_000]) {
    const stream = await listen(backend, admin, lastId)
    await settled(() => stream.events.length > 0)
    expect(stream.events[0]!.event).toBe('resync')
    stream.stop()
  }
})

test('an idle stream sends heartbeats', async () => {
  const backend = await startBackend()
  const stop = new AbortController()
  const caller = {
    kind: 'user',
    userId: '',
    email: '',
    sessionId: '',
    scopes: [],
    ip: '',
    requestId: '',
  } as const
  const parts = backend.domains.events.stream(caller, undefined, stop.signal)
  await parts.next()
  // A line that begins with a colon is a comment (WHATWG HTML, 9.2.6).
  expect((await parts.next()).value).toMatch(/^: *\n\n$/)
  stop.abort()
  await parts.return(undefined)
})

test('a stream ends when its access token expires, and at once when its session ends', async () => {
  const backend = await startBackend()
  const [one, two] = [await backend.signIn(), await backend.signIn()]
  const streams = [await listen(backend, one), await listen(backend, two)]
  await backend.call(authorizeLogout, { body: { refresh_token: one.refreshToken } })
  await settled(() => streams[0]!.isEnded(), 2000)
  expect(streams[1]!.isEnded()).toBe(false)
  backend.clock.advance(600_000)
  await settled(() => streams[1]!.isEnded(), 3000)
})

test('event numbers are in the order of commits, not of inserts, so a slow transaction is never skipped', async () => {
  const backend = await startBackend()
  const admin = await backend.signIn()
  await backend.publish()
  const stream = await listen(backend, admin)
  const { db, tell } = backend.platform
  let commit: () => void = () => undefined
  const held = new Promise<void>((resolve) => (commit = resolve))
  const inserted = Promise.withResolvers<void>()
  const slow = inTransaction(db, async (tx) => {
    await tell(tx, system, {
      name: 'datacenter.updated',
      object: { kind: 'datacenter', id: 'slow' },
    })
    inserted.resolve()
    await held
  })
  await inserted.promise
  await inTransaction(db, (tx) =>
    tell(tx, system, { name: 'datacenter.updated', object: { kind: 'datacenter', id: 'fast' } }),
  )
  await backend.publish()
  await settled(() => stream.events.length === 1)
  commit()
  await slow
  await backend.publish()
  await settled(() => stream.events.length === 2)
  expect(stream.events.map((e) => e.data.object!.id)).toEqual(['fast', 'slow'])
  expect(stream.events[1]!.id).toBe(stream.events[0]!.id + 1)
  stream.stop()
})

test('two concurrent publishers assign each number once', async () => {
  const backend = await startBackend()
  const beside = await startBackend({ beside: backend })
  const { db, tell } = backend.platform
  for (let round = 0; round < 10; round++) {
    await Promise.all(
      Array.from({ length: 10 }, () =>
        inTransaction(db, (tx) =>
          tell(tx, system, { name: 'datacenter.updated', object: { kind: 'datacenter', id: 'x' } }),
        ),
      ),
    )
    await Promise.all([backend.publish(), beside.publish()])
  }
  await backend.publish()
  const ids = (await db.selectFrom('event').select('id').orderBy('id').execute()).map((e) => e.id)
  expect(ids).toEqual(Array.from({ length: 100 }, (_, i) => i + 1))
})

test('a look into an empty outbox takes one statement', async () => {
  const backend = await startBackend()
  await backend.publish()
  const texts = await statementsDuring(() => backend.publish())
  expect(texts.filter((text) => /begin|commit|lock|outbox/.test(text))).toEqual([
    expect.stringContaining('outbox'),
  ])
})

test('a process receives the events that another process published', async () => {
  const backend = await startBackend()
  const beside = await startBackend({ beside: backend })
  const admin = await backend.signIn()
  await backend.publish()
  const stream = await listen(beside, admin)
  await admin.call(datacenterCreate, { body: place('AAA') })
  await backend.publish()
  await settled(() => stream.events.length === 1)
  expect(stream.events[0]!.event).toBe('datacenter.created')
  stream.stop()
})

test('a slow reader gets a resync event, and its buffer does not grow', async () => {
  const backend = await startBackend()
  const { db, tell } = backend.platform
  const stop = new AbortController()
  const caller = {
    kind: 'user',
    userId: '',
    email: '',
    sessionId: '',
    scopes: ['datacenters:read'],
    ip: '',
    requestId: '',
  } as const
  const parts = backend.domains.events.stream(caller, undefined, stop.signal)
  await parts.next()
  await inTransaction(db, async (tx) => {
    for (let i = 0; i < 400; i++)
      await tell(tx, system, {
        name: 'datacenter.updated',
        object: { kind: 'datacenter', id: 'x' },
      })
  })
  await backend.publish()
  await expect.poll(async () => (await parts.next()).value as string).toContain('event: resync')
  stop.abort()
  await parts.return(undefined)
})
