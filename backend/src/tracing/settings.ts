/**
 * OpenTelemetry's standard settings of traces (opentelemetry.io: "Environment Variable
 * Specification", "OpenTelemetry Protocol Exporter"). Unlike there, a wrong value is refused at the
 * start, as with every other setting. An empty value counts as not set.
 */
export type TracingConfig = NonNullable<ReturnType<typeof readTracing>>
export type SamplerSettings = ReturnType<typeof samplerIn>

/** The settings, as rows of `settings.ts`. */
export const tracingSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    about:
      'URL of a receiver of [traces](monitoring.md#traces), without `/v1/traces`. Setting it turns traces on.',
  },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: { about: 'The same with its path, used as it is.' },
  OTEL_EXPORTER_OTLP_HEADERS: {
    about:
      'Headers for the receiver, such as `authorization=Bearer%20…`: pairs, comma-separated, with percent-encoded values. Secret, never shown.',
  },
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: { about: 'Further headers, for traces only.' },
  OTEL_EXPORTER_OTLP_PROTOCOL: { fallback: 'http/protobuf', about: 'The only protocol.' },
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: {
    about: 'The same as `OTEL_EXPORTER_OTLP_PROTOCOL`, for traces only.',
  },
  OTEL_EXPORTER_OTLP_TIMEOUT: {
    fallback: '10000',
    about: 'Milliseconds in which the receiver must take a batch.',
  },
  OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: {
    about: 'The same as `OTEL_EXPORTER_OTLP_TIMEOUT`, for traces only.',
  },
  OTEL_TRACES_EXPORTER: {
    shown: '`otlp` with an endpoint, otherwise `none`',
    about: '`otlp` without an endpoint sends to `http://localhost:4318`; `none` turns traces off.',
  },
  OTEL_SDK_DISABLED: { about: '`true` turns traces off, whatever else is set.' },
  OTEL_SERVICE_NAME: { shown: '`steelyard`', about: 'Name of the service in traces.' },
  OTEL_RESOURCE_ATTRIBUTES: {
    about:
      'Further attributes of the service, as pairs like the headers, such as `deployment.environment.name=production`.',
  },
  OTEL_TRACES_SAMPLER: {
    fallback: 'parentbased_always_on',
    about:
      'Which traces are kept: `always_on`, `always_off`, `traceidratio`, or one of these after `parentbased_`, which leaves the decision to the caller if there is one.',
  },
  OTEL_TRACES_SAMPLER_ARG: {
    shown: '`1`',
    about: 'Share of traces that `traceidratio` keeps, from 0 to 1.',
  },
  OTEL_BSP_SCHEDULE_DELAY: {
    fallback: '5000',
    about: 'Milliseconds for which spans are collected before they are sent.',
  },
} as const
type Setting = keyof typeof tracingSettings

interface Reading {
  readonly value: (name: Setting) => string | undefined
  readonly wrong: (name: Setting, why: string) => void
}

const defaultEndpoint = 'http://localhost:4318'
const tracesPath = 'v1/traces'
const protocol = 'http/protobuf'
const longestMs = 60_000

const roots = ['always_on', 'always_off', 'traceidratio'] as const
type Root = (typeof roots)[number]
const samplers = roots.flatMap((root) => [root, `parentbased_${root}`])
const isRoot = (text: string): text is Root => (roots as readonly string[]).includes(text)

/** Undefined if traces are off, or if a setting is wrong, which is then reported. */
export function readTracing(reading: Reading) {
  const { value, wrong } = reading
  const disabled = value('OTEL_SDK_DISABLED')?.toLowerCase()
  if (disabled !== undefined && disabled !== 'true' && disabled !== 'false')
    wrong('OTEL_SDK_DISABLED', 'must be true or false')
  if (disabled === 'true') return undefined

  const named: Setting =
    value('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') === undefined
      ? 'OTEL_EXPORTER_OTLP_ENDPOINT'
      : 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'
  const exporter = value('OTEL_TRACES_EXPORTER') ?? (value(named) === undefined ? 'none' : 'otlp')
  if (exporter === 'none') return undefined
  if (exporter !== 'otlp') {
    wrong('OTEL_TRACES_EXPORTER', 'must be otlp or none')
    return undefined
  }

  const ofProtocol = firstOf(reading, 'PROTOCOL')
  if (value(ofProtocol) !== protocol)
    wrong(ofProtocol, `must be ${protocol}, the only protocol that Steelyard sends traces with`)
  const name = value('OTEL_SERVICE_NAME')
  const endpoint = endpointIn(reading, named)
  const rest = {
    /** Secrets. */
    headers: {
      ...headersIn(reading, 'OTEL_EXPORTER_OTLP_HEADERS'),
      ...headersIn(reading, 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'),
    },
    timeoutMs: wholeMs(reading, firstOf(reading, 'TIMEOUT')),
    delayMs: wholeMs(reading, 'OTEL_BSP_SCHEDULE_DELAY'),
    /** Attributes of this process, in addition to Steelyard's own. */
    resource: {
      ...pairsIn(reading, 'OTEL_RESOURCE_ATTRIBUTES'),
      ...(name !== undefined && { 'service.name': name }),
    },
    sampler: samplerIn(reading),
  }
  return endpoint && { endpoint, ...rest }
}

/** The setting for traces, or else the one for everything that is sent by OTLP. */
const firstOf = ({ value }: Reading, what: 'PROTOCOL' | 'TIMEOUT'): Setting => {
  const ofTraces = `OTEL_EXPORTER_OTLP_TRACES_${what}` as const
  return value(ofTraces) === undefined ? `OTEL_EXPORTER_OTLP_${what}` : ofTraces
}

/** The endpoint for traces is used as it is. The one for everything has no path of a signal. */
function endpointIn({ value, wrong }: Reading, name: Setting): URL | undefined {
  const given = value(name) ?? defaultEndpoint
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) {
    wrong(name, 'must be a URL that begins with http:// or https://')
    return undefined
  }
  if (url.username !== '' || url.password !== '') {
    wrong(
      name,
      'must hold no user name and no password: put them into a header, OTEL_EXPORTER_OTLP_HEADERS',
    )
    return undefined
  }
  if (name === 'OTEL_EXPORTER_OTLP_ENDPOINT')
    url.pathname = `${url.pathname.replace(/(?<!\/)\/+$/, '')}/${tracesPath}`
  return url
}

/**
 * `key=value` pairs separated by commas, with percent-encoded values (W3C Baggage). Problems don't
 * repeat the text, because values may be secrets.
 */
function pairsIn({ value, wrong }: Reading, name: Setting): Record<string, string> {
  const pairs: [string, string][] = []
  for (const [at, text] of (value(name) ?? '').split(',').entries()) {
    if (text.trim() === '') continue
    const middle = text.indexOf('=')
    const key = text.slice(0, Math.max(0, middle)).trim()
    try {
      if (key === '') throw new Error('no key')
      pairs.push([decodeURIComponent(key), decodeURIComponent(text.slice(middle + 1).trim())])
    } catch {
      wrong(
        name,
        `must be KEY=VALUE pairs, comma-separated, with percent-encoded values; pair ${at + 1} is not`,
      )
      return {}
    }
  }
  return Object.fromEntries(pairs)
}

function headersIn(reading: Reading, name: Setting): Record<string, string> {
  const pairs = pairsIn(reading, name)
  // RFC 9110, 5.1 and 5.5.
  for (const [key, text] of Object.entries(pairs)) {
    const isName = /^[\w!#$%&'*+.^`|~-]+$/.test(key)
    if (isName && /^[\t\x20-\x7e\x80-\xff]*$/.test(text)) continue
    reading.wrong(
      name,
      isName
        ? `holds a value of ${key} that no header may have, such as a line break`
        : 'holds a name that no header may have',
    )
    return {}
  }
  return pairs
}

function wholeMs({ value, wrong }: Reading, name: Setting): number {
  const text = value(name) ?? ''
  const ms = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (ms < 1 || ms > longestMs)
    wrong(name, `must be a whole number of milliseconds from 1 to ${longestMs}`)
  return ms
}

function samplerIn({ value, wrong }: Reading) {
  const text = value('OTEL_TRACES_SAMPLER') ?? ''
  const followsParent = text.startsWith('parentbased_')
  const root = text.replace(/^parentbased_/, '')
  if (!isRoot(root)) wrong('OTEL_TRACES_SAMPLER', `must be one of ${samplers.join(', ')}`)
  const share = value('OTEL_TRACES_SAMPLER_ARG') ?? '1'
  const ratio = /^\d{0,3}(?:\.\d{1,15})?$/.test(share) ? Number(share) : -1
  if (root === 'traceidratio' && (ratio < 0 || ratio > 1))
    wrong('OTEL_TRACES_SAMPLER_ARG', 'must be a number from 0 to 1, the share of traces to keep')
  return { root: isRoot(root) ? root : ('always_on' as const), ratio, followsParent }
}
