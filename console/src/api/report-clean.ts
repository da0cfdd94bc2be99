import type { makeFetchTransport } from '@sentry/browser'

export type Envelope = Parameters<ReturnType<typeof makeFetchTransport>['send']>[0]

/**
 * Allow-list of what an error report may contain. Every envelope goes through `cleanEnvelope` right
 * before it is sent, so that it contains no user, token, query, address or configuration
 * (docs/security.md).
 */
type Bag = Readonly<Record<string, unknown>>

const isBag = (value: unknown): value is Bag =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const bagsOf = (value: unknown): readonly Bag[] => (Array.isArray(value) ? value.filter(isBag) : [])
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Copies the named fields. */
const only = (from: Bag, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(
    names.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])),
  )

/** A path without query, fragment and object ids. A URL of another origin becomes a fixed word. */
export function barePath(url: string): string {
  if (!URL.canParse(url, location.origin)) return ''
  const { origin, pathname } = new URL(url, location.origin)
  if (origin !== location.origin) return '[elsewhere]'
  // Keep the names of our assets, which contain a content hash and nothing about users.
  if (pathname.startsWith('/assets/')) return pathname
  return pathname
    .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, '{id}')
    .replaceAll(/[^/]{25,}/g, '{id}')
}

/** Removes a query string from a word. */
function bareQuery(word: string): string {
  const at = word.indexOf('?')
  return at !== -1 && word.includes('=', at) ? `${word.slice(0, at)}?…` : word
}

/** Removes a token (RFC 7519) from a word. */
function bareToken(word: string): string {
  const at = word.search(/\beyJ/)
  return at !== -1 && word.includes('.', at) ? `${word.slice(0, at)}[token]` : word
}

/**
 * First line of an error's message without user input. Parser errors quote their input, so quoted
 * text is removed.
 */
export function bareMessage(text: string): string {
  return text
    .split(/[\r\n]/, 1)[0]!
    .slice(0, 500)
    .replaceAll(/"[^"]*"?|`[^`]*`?|“[^”]*”?/g, '"…"')
    .replaceAll(/(?<![^\s@])[^\s@]+@[^\s@]+/g, '[email]')
    .replaceAll(/(?<![\w+.-])[\w+.-]+:\/\/\S+/g, '[url]')
    .replaceAll(/\S+/g, bareQuery)
    .replaceAll(
      /\b(?=\w*?(?:password|passwd|secret|token|key|authorization|bearer))(\w+)(\s*[:=]\s*|\s+(?=\S*\d))\S+/gi,
      '$1$2[hidden]',
    )
    .replaceAll(/[\w.-]+/g, bareToken)
    .replaceAll(/[\w+/=-]{24,}/g, '[id]')
    .replaceAll(/\d{1,3}(?:\.\d{1,3}){3}(?:\/\d+)?/g, '[address]')
    .replaceAll(/(?<![\w:])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}(?:\/\d+)?/gi, '[address]')
    .slice(0, 200)
}

const frameOf = (frame: Bag) => ({
  ...only(frame, ['function', 'lineno', 'colno', 'in_app']),
  filename: barePath(textOf(frame['filename'])),
})

/** Breadcrumbs keep the kind and time of a click or navigation, not its text. */
const crumbOf = (crumb: Bag) => only(crumb, ['timestamp', 'type', 'category', 'level'])

function cleanEvent(event: Bag): Bag {
  const exceptions = isBag(event['exception']) ? bagsOf(event['exception']['values']) : []
  const contexts = isBag(event['contexts']) ? event['contexts'] : {}
  const trace = contexts['trace']
  return {
    ...only(event, [
      'event_id',
      'timestamp',
      'start_timestamp',
      'platform',
      'level',
      'release',
      'environment',
      'sdk',
      'type',
    ]),
    ...(isBag(event['tags']) && { tags: only(event['tags'], ['status', 'code', 'replayId']) }),
    ...(isBag(trace) && {
      contexts: { trace: only(trace, ['trace_id', 'span_id', 'parent_span_id', 'op', 'status']) },
    }),
    ...(exceptions.length > 0 && {
      exception: {
        values: exceptions.map((one) => ({
          type: bareMessage(textOf(one['type'])),
          // The server's message may name servers, addresses or configuration lines. `tags` carry
          // the error code instead.
          value: one['type'] === 'CallError' ? '' : bareMessage(textOf(one['value'])),
          ...(isBag(one['mechanism']) && {
            mechanism: only(one['mechanism'], ['type', 'handled']),
          }),
          ...(isBag(one['stacktrace']) && {
            stacktrace: { frames: bagsOf(one['stacktrace']['frames']).map(frameOf) },
          }),
        })),
      },
    }),
    breadcrumbs: bagsOf(event['breadcrumbs']).map(crumbOf),
  }
}

/** Span attributes whose text may be sent. Numbers and booleans may always be sent. */
const spanTexts = new Set([
  'sentry.op',
  'sentry.origin',
  'sentry.release',
  'sentry.environment',
  'sentry.segment.id',
  'sentry.segment.name.source',
  'sentry.sdk.name',
  'sentry.sdk.version',
  'sentry.idle_span_finish_reason',
  'sentry.trace_lifecycle',
  'http.request.method',
])

function cleanSpan(span: Bag): Bag {
  const given = isBag(span['attributes']) ? span['attributes'] : {}
  const attributes = Object.entries(given).filter(([name, attribute]) => {
    const value = isBag(attribute) ? attribute['value'] : undefined
    return typeof value === 'number' || typeof value === 'boolean' || spanTexts.has(name)
  })
  const op = textOf(isBag(given['sentry.op']) ? given['sentry.op']['value'] : '')
  const path = [given['url.path'], given['url.full']].find(isBag)?.['value']
  return {
    ...only(span, [
      'trace_id',
      'span_id',
      'parent_span_id',
      'start_timestamp',
      'end_timestamp',
      'status',
      'is_segment',
    ]),
    name: typeof path === 'string' ? `${op} ${barePath(path)}` : op,
    attributes: Object.fromEntries(attributes),
  }
}

/**
 * Element attributes that a replay needs for layout. Other attributes contain names, values and
 * labels.
 */
const drawnBy =
  /^(?:class|style|type|role|tabindex|rel|media|rowspan|colspan|width|height|hidden|disabled|checked|selected|open|dir|lang|inert|d|viewBox|fill|stroke.*|cx|cy|r|x\d?|y\d?|points|transform|_cssText|rr_\w+|data-state|aria-(?:hidden|expanded|selected|checked|disabled|current|sort|busy|pressed))$/

/** Attributes with URLs. `link` elements need them for the style sheet. */
const places = new Set(['href', 'src'])

const cleanAttributes = (attributes: Bag): Bag =>
  Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]) => {
      if (places.has(name)) return typeof value === 'string' ? [[name, barePath(value)]] : []
      return drawnBy.test(name) ? [[name, value]] : []
    }),
  )

const starred = (text: string): string => text.replaceAll(/\S/g, '*')

/** Cleans a recorded node and its children. */
function cleanNode(node: unknown): unknown {
  if (!isBag(node)) return null
  return {
    ...node,
    ...(isBag(node['attributes']) && { attributes: cleanAttributes(node['attributes']) }),
    ...(typeof node['textContent'] === 'string' && {
      textContent: node['isStyle'] === true ? node['textContent'] : starred(node['textContent']),
    }),
    ...(Array.isArray(node['childNodes']) && { childNodes: node['childNodes'].map(cleanNode) }),
  }
}

/**
 * Cleans one recorded event: a snapshot, a mutation, a pointer move. The kinds are rrweb's numbers.
 */
function cleanRecorded(event: Bag): Bag {
  const data = isBag(event['data']) ? event['data'] : {}
  const kind = event['type']
  if (kind === 4) return { ...event, data: { ...data, href: barePath(textOf(data['href'])) } }
  if (kind === 2) return { ...event, data: { ...data, node: cleanNode(data['node']) } }
  if (kind === 5) {
    const payload = isBag(data['payload']) ? data['payload'] : {}
    const kept = only(payload, [
      'timestamp',
      'type',
      'category',
      'level',
      'op',
      'startTimestamp',
      'endTimestamp',
    ])
    return {
      ...event,
      data: { tag: data['tag'], payload: data['tag'] === 'options' ? payload : kept },
    }
  }
  if (kind !== 3) return event
  const { source } = data
  if (source === 0) {
    return {
      ...event,
      data: {
        ...data,
        texts: bagsOf(data['texts']).map((text) => ({
          ...text,
          value: typeof text['value'] === 'string' ? starred(text['value']) : null,
        })),
        attributes: bagsOf(data['attributes']).map((one) => ({
          ...one,
          attributes: isBag(one['attributes']) ? cleanAttributes(one['attributes']) : {},
        })),
        adds: bagsOf(data['adds']).map((add) => ({ ...add, node: cleanNode(add['node']) })),
      },
    }
  }
  return source === 5 ? { ...event, data: { ...data, text: starred(textOf(data['text'])) } } : event
}

/** Cleans a recording: a header line, then a list of events. An unreadable recording is dropped. */
function cleanRecording(recording: unknown): string | null {
  if (typeof recording !== 'string') return null
  const end = recording.indexOf('\n')
  try {
    const recorded = JSON.parse(recording.slice(end + 1)) as unknown
    return `${recording.slice(0, end)}\n${JSON.stringify(bagsOf(recorded).map(cleanRecorded))}`
  } catch {
    return null
  }
}

function cleanReplay(event: Bag): Bag {
  const urls = Array.isArray(event['urls']) ? event['urls'].map((url) => barePath(textOf(url))) : []
  return {
    ...cleanEvent(event),
    ...only(event, [
      'replay_id',
      'replay_type',
      'segment_id',
      'replay_start_timestamp',
      'error_ids',
      'trace_ids',
    ]),
    urls,
  }
}

/** Cleans one item of an envelope. Null for kinds of items that may not be sent. */
function cleanPayload(type: string, payload: unknown): unknown {
  if (type === 'replay_recording') return cleanRecording(payload)
  if (!isBag(payload)) return null
  if (type === 'event') return cleanEvent(payload)
  if (type === 'replay_event') return cleanReplay(payload)
  if (type === 'span')
    return {
      ...only(payload, ['version', 'ingest_settings']),
      items: bagsOf(payload['items']).map(cleanSpan),
    }
  if (type === 'session') {
    const attributes = isBag(payload['attrs']) ? payload['attrs'] : {}
    return {
      ...only(payload, ['sid', 'init', 'started', 'timestamp', 'status', 'errors', 'duration']),
      attrs: only(attributes, ['release', 'environment']),
    }
  }
  return type === 'client_report' ? payload : null
}

/** Cleans an envelope. Undefined if nothing in it may be sent. */
export function cleanEnvelope([headers, items]: Envelope): Envelope | undefined {
  const { trace, ...rest } = headers as Bag
  const cleaned = (items as readonly Envelope[1][number][]).flatMap(([about, payload]) => {
    const clean = cleanPayload(about.type, payload)
    if (clean === null) return []
    return [
      [
        typeof clean === 'string'
          ? { ...about, length: new TextEncoder().encode(clean).length }
          : about,
        clean,
      ],
    ]
  })
  if (cleaned.length === 0) return undefined
  const of = isBag(trace) && {
    trace: only(trace, [
      'trace_id',
      'public_key',
      'release',
      'environment',
      'sample_rate',
      'sample_rand',
      'sampled',
      'replay_id',
    ]),
  }
  return [{ ...only(rest, ['event_id', 'sent_at', 'sdk']), ...of }, cleaned] as Envelope
}
