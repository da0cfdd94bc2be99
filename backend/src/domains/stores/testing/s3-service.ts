/**
 * A strict S3 service in memory, for tests of failures: it computes each signature itself (AWS
 * Signature Version 4), compares each body with its hash, and loses data or refuses calls on
 * request. The client is also tested against a published service (`npm run s3`).
 */
import { createHash, createHmac, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type S3Trouble =
  | 'refuses'
  | 'forgets-part'
  | 'changes-byte'
  | 'cuts-answer'
  | 'busy-once'
  | 'refuses-last-part'
  | 'redirects'
  | 'hangs'
  | 'answers-404'
  | 'hangs-cancelling'

const hmac = (key: string | Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest()
const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex')
const encoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  )

export async function s3Service({
  accessKeyId = 'test-key',
  secret = 'test secret',
  region = 'eu-test-1',
  bucket = 'backups',
} = {}) {
  const objects = new Map<string, Buffer>()
  const uploads = new Map<string, { key: string; parts: Map<number, Buffer> }>()
  let trouble: S3Trouble | null = null
  let requests = 0

  const isSigned = (request: IncomingMessage, url: URL, body: Buffer): boolean => {
    const { authorization = '' } = request.headers
    const match =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
        authorization,
      )
    if (!match) return false
    const [, key, day = '', place, names = '', signature = ''] = match
    const hash = String(request.headers['x-amz-content-sha256'])
    if (
      key !== accessKeyId ||
      place !== region ||
      hash !== sha256(body) ||
      !names.split(';').includes('x-amz-content-sha256')
    )
      return false
    const query = [...url.searchParams]
      .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
      .toSorted()
      .join('&')
    const headers = names
      .split(';')
      .map((name) => `${name}:${String(request.headers[name]).trim()}\n`)
    const canonical = [request.method, url.pathname, query, headers.join(''), names, hash].join(
      '\n',
    )
    const scope = `${day}/${region}/s3/aws4_request`
    const toSign = [
      'AWS4-HMAC-SHA256',
      request.headers['x-amz-date'],
      scope,
      sha256(canonical),
    ].join('\n')
    const signing = hmac(hmac(hmac(hmac(`AWS4${secret}`, day), region), 's3'), 'aws4_request')
    return hmac(signing, toSign).toString('hex') === signature
  }

  const fail = (response: ServerResponse, status: number, code: string) => {
    response
      .writeHead(status, { 'content-type': 'application/xml' })
      .end(
        `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${code} it is</Message></Error>`,
      )
  }
  const xml = (response: ServerResponse, body: string) =>
    void response.writeHead(200, { 'content-type': 'application/xml' }).end(body)

  const answer = (
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    body: Buffer,
  ): void => {
    const key = decodeURIComponent(url.pathname.slice(bucket.length + 2))
    const { searchParams: query } = url
    const uploadId = query.get('uploadId')
    const upload = uploadId === null ? undefined : uploads.get(uploadId)
    if (uploadId !== null && !upload) return fail(response, 404, 'NoSuchUpload')
    switch (request.method) {
      case 'GET': {
        if (query.has('uploads')) {
          const listed = [...uploads].filter(([, one]) =>
            one.key.startsWith(query.get('prefix') ?? ''),
          )
          return xml(
            response,
            `<Result>${listed.map(([id, one]) => `<Upload><Key>${one.key}</Key><UploadId>${id}</UploadId></Upload>`).join('')}</Result>`,
          )
        }
        const found = objects.get(key)
        if (!found) return fail(response, 404, 'NoSuchKey')
        const sent = Buffer.from(found)
        if (trouble === 'changes-byte') sent[Math.floor(sent.length / 2)]! ^= 1
        response.writeHead(200, { 'content-length': String(sent.length) })
        if (trouble === 'cuts-answer') {
          response.write(sent.subarray(0, sent.length >> 1), () => response.destroy())
          return undefined
        }
        return void response.end(sent)
      }
      case 'POST': {
        if (query.has('uploads')) {
          const id = randomUUID()
          uploads.set(id, { key, parts: new Map() })
          return xml(response, `<Result><UploadId>${id}</UploadId></Result>`)
        }
        const parts = [...upload!.parts].toSorted(([a], [b]) => a - b)
        const named = [
          ...body
            .toString()
            .matchAll(
              /<PartNumber>(\d+)<\/PartNumber><ETag>(?:&quot;|")([0-9a-f]+)(?:&quot;|")<\/ETag>/g,
            ),
        ]
        if (
          named.length !== parts.length ||
          named.some(
            ([, number, tag], i) => Number(number) !== parts[i]![0] || tag !== sha256(parts[i]![1]),
          )
        )
          return xml(
            response,
            '<?xml version="1.0"?><Error><Code>InvalidPart</Code><Message>A part is missing</Message></Error>',
          )
        const kept = trouble === 'forgets-part' ? parts.slice(0, -1) : parts
        objects.set(key, Buffer.concat(kept.map(([, bytes]) => bytes)))
        uploads.delete(uploadId!)
        return xml(response, '<Result/>')
      }
      case 'PUT': {
        if (upload) {
          const number = Number(query.get('partNumber'))
          if (trouble === 'refuses-last-part' && number > 1)
            return fail(response, 403, 'QuotaExceeded')
          upload.parts.set(number, body)
        } else objects.set(key, body)
        return void response.writeHead(200, { etag: `"${sha256(body)}"` }).end()
      }
      case 'DELETE': {
        if (uploadId !== null) uploads.delete(uploadId)
        else objects.delete(key)
        return void response.writeHead(204).end()
      }
      default:
        return fail(response, 405, 'MethodNotAllowed')
    }
  }

  const server = createServer((request, response) => {
    void (async () => {
      requests += 1
      const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>))
      const url = new URL(request.url!, `http://${request.headers.host}`)
      if (
        trouble === 'hangs' ||
        (trouble === 'hangs-cancelling' && url.searchParams.has('uploadId'))
      )
        return
      if (trouble === 'redirects')
        return void response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end()
      // As a load balancer without a service behind it.
      if (trouble === 'answers-404')
        return void response.writeHead(404, { 'content-type': 'text/html' }).end('Not found')
      if (trouble === 'busy-once') {
        trouble = null
        return fail(response, 503, 'SlowDown')
      }
      if (!isSigned(request, url, body)) return fail(response, 403, 'SignatureDoesNotMatch')
      if (trouble === 'refuses') return fail(response, 403, 'AccessDenied')
      if (!url.pathname.startsWith(`/${bucket}`)) return fail(response, 404, 'NoSuchBucket')
      answer(request, response, url, body)
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    accessKeyId,
    secret,
    region,
    bucket,
    objects,
    uploads,
    requests: () => requests,
    trouble: (what: S3Trouble | null): void => void (trouble = what),
    stop: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
export type S3Service = Awaited<ReturnType<typeof s3Service>>

/** The body of `storeCreate` for the service. */
export const s3Body = (service: S3Service, more: object = {}) => ({
  name: 'offsite',
  kind: 's3' as const,
  endpoint: service.url,
  region: service.region,
  bucket: service.bucket,
  prefix: 'steelyard/prod',
  access_key_id: service.accessKeyId,
  secret_access_key: service.secret,
  ...more,
})
