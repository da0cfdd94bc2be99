/** A receiver of traces: an HTTP server that decodes OTLP (opentelemetry-proto, `trace.proto`). */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { createFileRegistry, fromBinary, fromJson, toJson } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { whenOver } from '../testing/ending.ts'

const label = { one: 'LABEL_OPTIONAL', many: 'LABEL_REPEATED' } as const
type Field = readonly [name: string, number: number, type: string, count?: keyof typeof label]
const message = (name: string, ...fields: readonly Field[]) => ({
  name,
  field: fields.map(([field, number, type, count = 'one']) => ({
    name: field,
    jsonName: field,
    number,
    label: label[count],
    ...(/^[A-Z]/.test(type)
      ? { type: 'TYPE_MESSAGE', typeName: `.otlp.${type}` }
      : { type: `TYPE_${type.toUpperCase()}` }),
  })),
})
/** The messages of OTLP's traces, with the numbers of the fields that are read here. */
const registry = createFileRegistry(
  fromJson(FileDescriptorSetSchema, {
    file: [
      {
        name: 'otlp.proto',
        package: 'otlp',
        syntax: 'proto3',
        messageType: [
          message('Request', ['resources', 1, 'ResourceSpans', 'many']),
          message(
            'ResourceSpans',
            ['resource', 1, 'Resource'],
            ['scopes', 2, 'ScopeSpans', 'many'],
          ),
          message('Resource', ['attributes', 1, 'KeyValue', 'many']),
          message('ScopeSpans', ['spans', 2, 'Span', 'many']),
          message(
            'Span',
            ['traceId', 1, 'bytes'],
            ['spanId', 2, 'bytes'],
            ['parentId', 4, 'bytes'],
            ['name', 5, 'string'],
            ['kind', 6, 'uint32'],
            ['start', 7, 'fixed64'],
            ['end', 8, 'fixed64'],
            ['attributes', 9, 'KeyValue', 'many'],
            ['status', 15, 'Status'],
          ),
          message('Status', ['message', 2, 'string'], ['code', 3, 'uint32']),
          message('KeyValue', ['key', 1, 'string'], ['value', 2, 'AnyValue']),
          message('AnyValue', ['text', 1, 'string'], ['number', 3, 'int64'], ['real', 4, 'double']),
        ],
      },
    ],
  }),
)

type Pairs = readonly {
  key: string
  value?: { text?: string; number?: string; real?: number }
}[]
interface Sent {
  resources: {
    resource?: { attributes?: Pairs }
    scopes?: {
      spans: {
        traceId: string
        spanId: string
        parentId?: string
        name: string
        kind: number
        start: string
        end: string
        attributes?: Pairs
        status?: { code?: number }
      }[]
    }[]
  }[]
}

const hex = (base64: string) => Buffer.from(base64, 'base64').toString('hex')
const flat = (pairs: Pairs = []) =>
  Object.fromEntries(
    pairs.map(({ key, value }) => [
      key,
      value?.text ?? value?.real ?? (value?.number === undefined ? '' : Number(value.number)),
    ]),
  )

export interface ReceivedSpan {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string
  readonly ms: number
  readonly failed: boolean
  readonly attributes: Readonly<Record<string, string | number>>
  readonly resource: Readonly<Record<string, string | number>>
}

function spansIn(bytes: Uint8Array): ReceivedSpan[] {
  const schema = registry.getMessage('otlp.Request')!
  const { resources } = toJson(schema, fromBinary(schema, bytes), { registry }) as unknown as Sent
  return resources.flatMap(({ resource, scopes = [] }) =>
    scopes.flatMap(({ spans }) =>
      spans.map(({ name, kind, traceId, spanId, parentId = '', start, end, ...span }) => ({
        name,
        kind,
        traceId: hex(traceId),
        spanId: hex(spanId),
        parentId: hex(parentId),
        ms: Number(BigInt(end) - BigInt(start)) / 1e6,
        failed: span.status?.code === 2,
        attributes: flat(span.attributes),
        resource: flat(resource?.attributes),
      })),
    ),
  )
}

/**
 * Starts a receiver, which is closed when the test or the file ends. `answer`: how it answers;
 * `never` keeps the request waiting.
 */
export async function receiver({ answer = 200 }: { answer?: number | 'never' } = {}) {
  const spans: ReceivedSpan[] = []
  const bodies: Buffer[] = []
  const requests: { readonly url: string; readonly headers: IncomingHttpHeaders }[] = []
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request)
    requests.push({ url: request.url ?? '', headers: request.headers })
    bodies.push(body)
    if (answer === 'never') return
    if (answer === 200) spans.push(...spansIn(body))
    response.writeHead(answer, { 'content-type': 'application/x-protobuf' }).end()
  }
  const server = createServer((request, response) => void take(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  whenOver(async () => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    /** What was sent, as text, to look for what mustn't be in it. */
    text: () => Buffer.concat(bodies).toString('latin1'),
    requests,
  }
}
