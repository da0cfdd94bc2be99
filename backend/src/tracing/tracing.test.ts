import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { datacenterList } from '#contract/datacenters.ts'
import { operationGet } from '#contract/operations.ts'
import { authorize } from '#contract/sessions.ts'
import { serverAdd, serverGet, serverList } from '#contract/servers/servers.ts'
import { logger } from '../log.ts'
import { startBackend } from '../testing/backend.ts'
import { startFleet } from '../testing/fleet.ts'
import { temporaryFolder } from '../testing/folder.ts'
import { type ReceivedSpan, receiver } from './testing.ts'

/** Batches leave at once. */
const at = (url: string) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_BSP_SCHEDULE_DELAY: '20',
})
const traceId = () => randomUUID().replaceAll('-', '')
const parent = (trace: string, sampled = true) =>
  `00-${trace}-00f067aa0ba902b7-${sampled ? '01' : '00'}`
const namesOf = (spans: readonly ReceivedSpan[]) => spans.map(({ name }) => name)

test('one trace leads from the request over its operation, also after a restart, to the calls of the machine', async () => {
  const simulator = await startFleet({
    servers: 1,
    dataDir: temporaryFolder('traces'),
    seed: 'traces',
    speed: 200,
  })
  onTestFinished(() => simulator.stop())
  const [first, second] = [await receiver(), await receiver()]
  const environment = { STEELYARD_SIMULATE: '1', STEELYARD_DIAL_NETWORKS: '127.20.0.0/16' }
  const backend = await startBackend({
    environment: { ...environment, ...at(first.url), OTEL_RESOURCE_ATTRIBUTES: 'rack=a%2F1' },
  })
  const operator = await backend.signIn({ role: 'operator' })
  const { address } = simulator.servers[0]!.plan
  const trace = traceId()
  const headers = { traceparent: parent(trace) }
  const added = await operator.call(serverAdd, { body: { addresses: [address] } }, { headers })
  const { id } = added.answer!.operation

  // The process that carries the operation out is another one.
  const later = await startBackend({
    beside: backend,
    environment: { ...environment, ...at(second.url) },
  })
  await expect
    .poll(async () => {
      await later.engine.run(2_000)
      return (await operator.call(operationGet, { params: { id } })).answer!.ended_at
    })
    .not.toBeNull()

  const ofTrace = ({ spans }: typeof first) => spans.filter((span) => span.traceId === trace)
  await expect.poll(() => namesOf(ofTrace(first))).toContain('POST /v1/nodes')
  await expect
    .poll(() => namesOf(ofTrace(second)).some((name) => name.startsWith('cosi.resource.State/')))
    .toBe(true)
  await expect.poll(() => namesOf(ofTrace(second))).toContain('run server-add')
  const request = ofTrace(first).find(({ name }) => name === 'POST /v1/nodes')!
  expect(request).toMatchObject({
    kind: 2,
    parentId: '00f067aa0ba902b7',
    failed: false,
    attributes: {
      'http.route': '/v1/nodes',
      'http.response.status_code': 202,
      'steelyard.request_id': added.headers['x-request-id'],
      'steelyard.operation.id': id,
    },
    resource: { 'service.name': 'steelyard', 'service.version': '1.2.3', rack: 'a/1' },
  })
  const run = ofTrace(second).find(({ name }) => name === 'run server-add')!
  expect(run.parentId).toBe(request.spanId)
  expect(run.attributes).toMatchObject({ 'steelyard.operation.id': id })
  // Each span stands below the run.
  const byId = new Map(ofTrace(second).map((span) => [span.spanId, span]))
  const rootOf = (span: ReceivedSpan): string => {
    const above = byId.get(span.parentId)
    return above ? rootOf(above) : span.name
  }
  const call = ofTrace(second).find(({ name }) => name.startsWith('cosi.resource.State/'))!
  expect(rootOf(call)).toBe('run server-add')
  expect(call).toMatchObject({
    kind: 3,
    failed: false,
    attributes: {
      'server.address': address,
      'server.port': 50_000,
      'rpc.system.name': 'grpc',
      'rpc.response.status_code': '0',
    },
  })
  const statement = ofTrace(first).find(({ name }) => name === 'INSERT operation')!
  expect(statement.parentId).toBe(request.spanId)
})

test('a span has no value of a query, a body, a header or a statement', async () => {
  const { url, spans, text, requests } = await receiver()
  const header = 'k3y with space'
  const backend = await startBackend({
    environment: {
      ...at(url),
      OTEL_SERVICE_NAME: 'rack one',
      OTEL_EXPORTER_OTLP_HEADERS: `x-token=${encodeURIComponent(header)}`,
    },
  })
  const viewer = await backend.signIn({ role: 'viewer' })
  await viewer.call(serverList, { query: { page: 1, per_page: 10, q: 'needle-of-query' } })
  const id = randomUUID()
  await viewer.call(serverGet, { params: { id } })
  const password = 'needle of password'
  await backend.call(authorize, { body: { email: 'needle@example.com', password } })
  await expect
    .poll(() => namesOf(spans))
    .toEqual(expect.arrayContaining(['GET /v1/nodes', 'GET /v1/nodes/{id}', 'POST /v1/authorize']))
  for (const secret of ['needle', id, viewer.accessToken, viewer.email, viewer.password, header])
    expect(text()).not.toContain(secret)
  expect(namesOf(spans).some((name) => /^SELECT \w+$/.test(name))).toBe(true)
  expect(spans[0]!.resource['service.name']).toBe('rack one')
  expect(requests[0]).toMatchObject({ url: '/v1/traces', headers: { 'x-token': header } })
})

test('a caller decides whether its trace is kept; a malformed or foreign context begins a new trace', async () => {
  const { url, spans } = await receiver()
  const backend = await startBackend({ environment: at(url) })
  const viewer = await backend.signIn({ role: 'viewer' })
  const call = (traceparent: string) =>
    viewer.call(datacenterList, {}, { headers: { traceparent } })
  const [unkept, kept] = [traceId(), traceId()]
  await call(parent(unkept, false))
  await call('00-zz-needle-01')
  await call(`00-${'0'.repeat(32)}-00f067aa0ba902b7-01`)
  await call(parent(kept))
  await expect.poll(() => spans.some((span) => span.traceId === kept)).toBe(true)
  const requests = () => spans.filter(({ name }) => name.startsWith('GET /v1/datacenters'))
  await expect.poll(() => requests().length).toBe(3)
  expect(spans.some((span) => span.traceId === unkept)).toBe(false)
  expect(requests().filter(({ parentId }) => parentId === '')).toHaveLength(2)
})

test('without the settings nothing of OpenTelemetry is started, and operations have no trace', async () => {
  const backend = await startBackend({ environment: { STEELYARD_DIAL_NETWORKS: '10.0.0.0/8' } })
  expect(backend.platform.tracing).toBeUndefined()
  const operator = await backend.signIn({ role: 'operator' })
  const headers = { traceparent: parent(traceId()) }
  await operator.call(serverAdd, { body: { addresses: ['10.0.0.1'] } }, { headers })
  const rows = await backend.platform.db.selectFrom('operation').select('traceparent').execute()
  expect(rows).toEqual([{ traceparent: null }])
})

test.each([
  ['that refuses', 503],
  ['that never answers', 'never'],
  ['that nobody runs', undefined],
] as const)(
  'a receiver %s changes no response, and the log has one line about lost spans, without the header',
  async (_which, answer) => {
    const url = answer === undefined ? 'http://127.0.0.1:9' : (await receiver({ answer })).url
    const lines: string[] = []
    const log = logger({
      level: 'info',
      readable: false,
      now: Date.now,
      write: (line) => void lines.push(line),
    })
    const backend = await startBackend({
      log,
      environment: {
        ...at(url),
        OTEL_EXPORTER_OTLP_TIMEOUT: '50',
        OTEL_EXPORTER_OTLP_HEADERS: 'x-token=k3y',
      },
    })
    const viewer = await backend.signIn({ role: 'viewer' })
    const lost = () => lines.filter((line) => line.includes('tracing.spans_lost'))
    await expect
      .poll(async () => {
        expect((await viewer.call(datacenterList)).status).toBe(200)
        return lost().length
      })
      .toBe(1)
    for (let i = 0; i < 20; i++) expect((await viewer.call(datacenterList)).status).toBe(200)
    await backend.platform.tracing!.stop()
    expect(lost()).toHaveLength(1)
    expect(JSON.parse(lost()[0]!)).toMatchObject({ level: 'warn', host: new URL(url).host })
    expect(lines.join('')).not.toContain('k3y')
  },
)
