import { beforeAll, expect, test, vi } from 'vitest'
import { bareMessage, barePath, cleanEnvelope, type Envelope } from './report-clean.ts'
import { processorMs } from '../../../tools/testing/processor-time.ts'

beforeAll(() => void vi.stubGlobal('location', { origin: 'https://steelyard.example' }))

const canary = 'canary@example.com 10.20.30.40 fd00::7 password: canary-7f3a'

test('user input is removed from the message of an error report', () => {
  const messages: [string, string][] = [
    [
      "Cannot read properties of undefined (reading 'map')",
      "Cannot read properties of undefined (reading 'map')",
    ],
    ['no such user: someone@example.com', 'no such user: [email]'],
    ['10.1.2.3 and 10.1.0.0/16 do not answer', '[address] and [address] do not answer'],
    [
      'fd00:10::1234 and fe80::1/64 and ::1 do not answer',
      '[address] and [address] and [address] do not answer',
    ],
    ['could not load https://steelyard.example/v1/nodes?q=secret', 'could not load [url]'],
    ['at /infra/servers?q=secret&page=2 it failed', 'at /infra/servers?… it failed'],
    [
      'Unexpected token \'m\', "machine: {t"... is not valid JSON',
      'Unexpected token \'m\', "…"... is not valid JSON',
    ],
    ['a: 1\nmachine:\n  token: abc', 'a: 1'],
    ['password: hunter2 and token=abc', 'password: [hidden] and token=[hidden]'],
    ['Bearer eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJlc2ln', 'Bearer [hidden]'],
    ['sy-join-AbCdEf0123456789012345 is over', '[id] is over'],
    ['a'.repeat(20).concat(' ').repeat(50), 'a'.repeat(20).concat(' ').repeat(50).slice(0, 200)],
  ]
  for (const [given, bare] of messages) expect(bareMessage(given)).toBe(bare)
})

test('hostile messages are processed in linear time', async () => {
  const messages = [
    'a',
    '@',
    ':',
    '"',
    '?',
    '=',
    '1.',
    'x@',
    'key ',
    'a-',
    '/',
    '://',
    '`',
    'token:',
  ].map((text) => text.repeat(100_000))
  const usedMs = await processorMs(() => messages.map((hostile) => bareMessage(hostile)))
  expect(usedMs).toBeLessThan(1_000)
})

test('a path contains no object id and no query', () => {
  expect(
    barePath(
      'https://steelyard.example/infra/servers/aecdc3a2-c09c-48fb-8849-531249861cd8/patches/static-system?q=x#y',
    ),
  ).toBe('/infra/servers/{id}/patches/static-system')
  expect(barePath('/join/sy-join-AbCdEf0123456789012345')).toBe('/join/{id}')
  expect(barePath('https://elsewhere.example/x?y=z')).toBe('[elsewhere]')
  expect(barePath('http://[')).toBe('')
})

/** A report with every possible field, in which every text is recognisable. */
const event = {
  event_id: 'e',
  level: 'error',
  release: '1.2.3',
  message: canary,
  user: { email: canary },
  request: { url: canary, headers: { Authorization: canary } },
  extra: { canary },
  tags: { status: '401', code: 'invalid_credentials', canary },
  transaction: canary,
  contexts: { trace: { trace_id: 't', data: { canary } }, state: { canary } },
  breadcrumbs: [{ category: 'ui.click', message: canary, data: { canary } }],
  exception: {
    values: [
      {
        type: 'CallError',
        value: canary,
        mechanism: { type: 'generic', handled: true, data: { canary } },
      },
      {
        type: 'Error',
        value: canary,
        stacktrace: {
          frames: [
            {
              function: 'f',
              filename: `https://steelyard.example/assets/index.js?${canary}`,
              vars: { canary },
            },
          ],
        },
      },
    ],
  },
}
const node = {
  type: 2,
  tagName: 'a',
  attributes: {
    class: 'x',
    href: `/infra/servers?q=${encodeURIComponent(canary)}`,
    title: canary,
    'aria-label': canary,
    'data-name': canary,
    value: canary,
    id: canary,
  },
  childNodes: [{ type: 3, textContent: canary }],
}
const recorded = [
  {
    type: 4,
    data: { href: `https://steelyard.example/infra/servers?q=${canary}`, width: 1280, height: 900 },
    timestamp: 1,
  },
  { type: 2, data: { node: { type: 0, childNodes: [node] } }, timestamp: 2 },
  {
    type: 3,
    data: {
      source: 0,
      texts: [{ id: 1, value: canary }],
      attributes: [{ id: 2, attributes: { title: canary, class: 'y' } }],
      adds: [{ parentId: 1, node }],
      removes: [],
    },
    timestamp: 3,
  },
  { type: 3, data: { source: 5, text: canary, isChecked: false, id: 3 }, timestamp: 4 },
  {
    type: 5,
    data: {
      tag: 'breadcrumb',
      payload: { category: 'ui.click', message: canary, data: { canary } },
    },
    timestamp: 5,
  },
  {
    type: 5,
    data: {
      tag: 'performanceSpan',
      payload: { op: 'resource.fetch', description: `/v1/nodes?q=${canary}`, data: { canary } },
    },
    timestamp: 6,
  },
]
const span = {
  trace_id: 't',
  span_id: 's',
  name: `GET /v1/nodes?q=${canary}`,
  attributes: {
    'sentry.op': { type: 'string', value: 'http.client' },
    'url.full': {
      type: 'string',
      value: `https://steelyard.example/v1/nodes/aecdc3a2-c09c-48fb-8849-531249861cd8?q=${canary}`,
    },
    'url.query': { type: 'string', value: canary },
    'browser.web_vital.lcp.element': { type: 'string', value: canary },
    'http.response.status_code': { type: 'integer', value: 200 },
  },
}

test('only allow-listed fields of a report are sent', () => {
  const envelope = [
    {
      event_id: 'e',
      sent_at: 'now',
      dsn: canary,
      trace: { trace_id: 't', transaction: canary, sampled: 'true' },
    },
    [
      [{ type: 'event' }, event],
      [
        { type: 'replay_event' },
        { ...event, replay_id: 'r', urls: [`https://steelyard.example/?q=${canary}`] },
      ],
      [{ type: 'replay_recording', length: 1 }, `{"segment_id":0}\n${JSON.stringify(recorded)}`],
      [
        { type: 'span', item_count: 1, content_type: 'application/vnd.sentry.items.span.v2+json' },
        { items: [span] },
      ],
      [
        { type: 'session' },
        {
          sid: 'x',
          did: canary,
          attrs: { release: '1.2.3', ip_address: canary, user_agent: canary },
        },
      ],
      [{ type: 'log' }, { items: [{ body: canary }] }],
      [{ type: 'attachment', filename: 'x' }, canary],
    ],
  ] as unknown as Envelope
  const clean = cleanEnvelope(envelope)!
  const text = JSON.stringify(clean)
  for (const part of ['canary', '10.20.30.40', 'fd00', '?q=', encodeURIComponent(canary)])
    expect(text).not.toContain(part)
  expect(clean[1].map(([about]) => about.type)).toEqual([
    'event',
    'replay_event',
    'replay_recording',
    'span',
    'session',
  ])
  expect(clean[1][0][1]).toMatchObject({
    release: '1.2.3',
    tags: { status: '401', code: 'invalid_credentials' },
    exception: {
      values: [
        { type: 'CallError', value: '' },
        {
          type: 'Error',
          stacktrace: { frames: [{ function: 'f', filename: '/assets/index.js' }] },
        },
      ],
    },
  })
  expect(clean[1][3]![1]).toMatchObject({
    items: [
      {
        name: 'http.client /v1/nodes/{id}',
        attributes: { 'http.response.status_code': { value: 200 } },
      },
    ],
  })
  // A replay keeps the page's structure and the length of texts.
  expect(text).toContain(String.raw`\"class\":\"x\"`)
  expect(text).toContain('***')
})

test('an unreadable recording is not sent, nor is an empty envelope', () => {
  const packed = [
    {},
    [[{ type: 'replay_recording', length: 3 }, new Uint8Array(3)]],
  ] as unknown as Envelope
  expect(cleanEnvelope(packed)).toBeUndefined()
  expect(
    cleanEnvelope([
      {},
      [[{ type: 'replay_recording', length: 3 }, '{}\n{']],
    ] as unknown as Envelope),
  ).toBeUndefined()
})
