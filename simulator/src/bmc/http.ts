/** HTTP of a simulated BMC: authentication, methods, entity tags, and the faults of the service. */
import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { Duplex } from 'node:stream'
import { wholeBody } from '../body.ts'
import type { Speaker } from '../wire/port.ts'
import type { Bmc } from './bmc.ts'
import { expanded, expansionOf } from './expand.ts'
import { isJson } from './fields.ts'
import type { Account } from './kept.ts'
import { metadata, schemaUrl } from './metadata.ts'
import { mayDo, signIn } from './people.ts'
import { errorBody, type Json, Refusal } from './refusal.ts'
import { treeOf } from './service.ts'
import type { Session } from './sessions.ts'
import { type Answer, type Call, type Resource, ROOT, type Tree } from './tree.ts'

const MOST_BODY_BYTES = 64 * 1024
const MOST_PATH = 2048

/** What nobody needs to sign in for (DSP0266, "Resource and operation authentication requirements"). */
const OPEN_TO_ALL = new Set(['/redfish', ROOT, `${ROOT}/odata`, `${ROOT}/$metadata`])

const HEADERS = { 'OData-Version': '4.0', 'Cache-Control': 'no-cache' } as const

/** The HTTPS server of a BMC. */
export const speakerOf = (bmc: Bmc): Speaker => {
  const { crt, key } = bmc.identity
  const server = createServer({ cert: crt, key }, (request, response) => {
    const { counters } = bmc
    counters.requests++
    underWay.set(bmc, (underWay.get(bmc) ?? 0) + 1)
    counters.mostAtOnce = Math.max(counters.mostAtOnce, underWay.get(bmc)!)
    response.once('close', () => underWay.set(bmc, underWay.get(bmc)! - 1))
    serve(bmc, request, response).catch((cause: unknown) => {
      bmc.machine.world.say(`${bmc.machine.plan.name}: BMC: ${String(cause)}`)
      response.destroy()
    })
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    const status =
      error.code === 'HPE_INVALID_METHOD'
        ? '501 Not Implemented'
        : error.code === 'HPE_HEADER_OVERFLOW'
          ? '431 Request Header Fields Too Large'
          : '400 Bad Request'
    if (socket.writable)
      socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
    else socket.destroy()
  })
  return server
}
const underWay = new WeakMap<Bmc, number>()

const serve = async (
  bmc: Bmc,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  if (bmc.has('hang')) return
  const slow = bmc.fault('slow')
  if (slow) await new Promise((resolve) => setTimeout(resolve, slow.ms))
  if (response.destroyed) return
  if (misbehave(bmc, request, response)) return
  let answer: Answer & { text?: string }
  try {
    answer = await answerTo(bmc, request)
  } catch (cause) {
    const refusal = cause instanceof Refusal ? cause : new Refusal('GeneralError')
    if (refusal !== cause) bmc.machine.world.say(`${bmc.machine.plan.name}: BMC: ${String(cause)}`)
    answer = { status: refusal.status, body: errorBody(refusal), headers: refusal.headers }
  }
  const content = answer.text ?? (answer.body === undefined ? '' : JSON.stringify(answer.body))
  response.writeHead(answer.status, {
    ...HEADERS,
    ...(answer.body !== undefined && { 'Content-Type': 'application/json; charset=utf-8' }),
    ...answer.headers,
    ...(answer.status !== 204 && { 'Content-Length': Buffer.byteLength(content) }),
  })
  response.end(request.method === 'HEAD' ? '' : content)
}

/** Responds as a broken service, if the BMC has such a fault. */
const misbehave = (bmc: Bmc, request: IncomingMessage, response: ServerResponse): boolean => {
  const url = request.url ?? '/'
  const unavailable = bmc.fault('unavailable')
  if (unavailable) {
    const seconds = String(unavailable.retry_after_s)
    const body = errorBody(new Refusal('ServiceTemporarilyUnavailable', [seconds]))
    response
      .writeHead(503, { ...HEADERS, 'Content-Type': 'application/json', 'Retry-After': seconds })
      .end(JSON.stringify(body))
    return true
  }
  const redirect = bmc.fault('redirect')
  if (redirect && url.includes(redirect.path)) {
    response.writeHead(307, { Location: redirect.to, 'Content-Length': 0 }).end()
    return true
  }
  if (bmc.has('html')) {
    response
      .writeHead(200, { 'Content-Type': 'text/html' })
      .end('<!doctype html><title>Simulated BMC</title><h1>Please sign in</h1>')
    return true
  }
  const endless = bmc.fault('endless')
  if (endless && url.includes(endless.path)) {
    response.writeHead(200, { ...HEADERS, 'Content-Type': 'application/json' })
    pour(response)
    return true
  }
  return false
}

/** Sends a document without an end, as fast as the client reads. */
const pour = (response: ServerResponse): void => {
  const piece = '{"@odata.id":"/redfish/v1/Systems/simulated"},'.repeat(1_000)
  response.write('{"Members":[')
  const more = (): void => {
    while (!response.destroyed) if (!response.write(piece)) return
  }
  response.on('drain', more)
  more()
}

interface SignedIn {
  readonly account: Account | null
  readonly session: Session | null
}

/** Who asks: by token, or by Basic authentication. Throws `Refusal` (401) for a wrong one. */
const signedIn = (bmc: Bmc, { headers }: IncomingMessage): SignedIn => {
  const token = headers['x-auth-token']
  if (typeof token === 'string') {
    const session = bmc.personality.hasSessions ? bmc.sessions.withToken(token) : undefined
    const account = bmc.kept.state.accounts.find(({ id }) => id === session?.accountId)
    if (!session || !account?.isEnabled) throw notSignedIn()
    return { account, session }
  }
  const { authorization } = headers
  if (authorization === undefined) return { account: null, session: null }
  const encoded = /^Basic ([A-Za-z0-9+/=]+)$/i.exec(authorization)?.[1]
  const text = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString('utf8')
  const at = text.indexOf(':')
  if (at === -1) throw notSignedIn()
  try {
    return { account: signIn(bmc, text.slice(0, at), text.slice(at + 1)), session: null }
  } catch (cause) {
    throw cause instanceof Refusal && cause.status === 401 ? notSignedIn() : cause
  }
}

const notSignedIn = (): Refusal =>
  new Refusal('NoValidSession', [], {
    headers: { 'WWW-Authenticate': 'Basic realm="Simulated BMC"' },
  })

const answerTo = async (
  bmc: Bmc,
  request: IncomingMessage,
): Promise<Answer & { text?: string }> => {
  const target = request.url ?? '/'
  if (target.length > MOST_PATH) throw new Refusal('GeneralError', [], { status: 414 })
  const url = URL.parse(target, 'https://bmc')
  if (!url) throw new Refusal('GeneralError', [], { status: 400 })
  const path = url.pathname.replace(/(?<=.)\/$/, '')
  const method = request.method ?? 'GET'
  const sessions = `${ROOT}/SessionService/Sessions`
  const opensSession = method === 'POST' && (path === sessions || path === `${sessions}/Members`)
  const isRead = method === 'GET' || method === 'HEAD'
  const isOpen = (isRead && OPEN_TO_ALL.has(path)) || (opensSession && bmc.personality.hasSessions)
  const who = opensSession ? { account: null, session: null } : signedIn(bmc, request)
  if (!isOpen && who.account === null) throw notSignedIn()
  const version = request.headers['odata-version']
  if (version !== undefined && version !== '4.0')
    throw new Refusal('HeaderInvalid', ['OData-Version'], { status: 412 })

  const tree = treeOf(bmc)
  if (path === `${ROOT}/$metadata`) return metadataAnswer(tree, isRead)
  const resource = tree.get(path)
  if (!resource) throw new Refusal('ResourceMissingAtURI', [path])
  const allow = allowed(resource)
  if (!allow.includes(method))
    throw new Refusal('OperationNotAllowed', [], { headers: { Allow: allow.join(', ') } })
  if (isRead) return read(bmc, tree, resource, url, request)
  const body = await bodyOf(request)
  const call: Call = { ...who, body, from: request.socket.remoteAddress ?? '' }
  if (who.account !== null && !mayDo(who.account, needed(resource, who, body)))
    throw new Refusal('InsufficientPrivilege')
  checkMatch(request, resource)
  const act = { PATCH: resource.patch, POST: resource.post, DELETE: resource.remove }[
    method as 'PATCH' | 'POST' | 'DELETE'
  ]!
  const answer = await act(call)
  const tag = method === 'PATCH' && answer.body ? { ETag: tagOf(answer.body) } : {}
  return {
    ...answer,
    ...(answer.body && { body: withTag(answer.body) }),
    headers: { Allow: allow.join(', '), ...linkTo(answer.body), ...tag, ...answer.headers },
  }
}

const needed = (resource: Resource, who: SignedIn, body: Json) =>
  resource.needs?.({ ...who, body, from: '' }) ?? (['ConfigureManager'] as const)

const allowed = ({ read: get, patch, post, remove }: Resource): string[] => [
  ...(get ? ['GET', 'HEAD'] : []),
  ...(patch ? ['PATCH'] : []),
  ...(post ? ['POST'] : []),
  ...(remove ? ['DELETE'] : []),
]

const metadataAnswer = (tree: Tree, isRead: boolean): Answer & { text?: string } => {
  if (!isRead) throw new Refusal('OperationNotAllowed', [], { headers: { Allow: 'GET, HEAD' } })
  return {
    status: 200,
    text: metadata(tree),
    headers: { 'Content-Type': 'application/xml; charset=utf-8', Allow: 'GET, HEAD' },
  }
}

const read = (
  bmc: Bmc,
  tree: Tree,
  resource: Resource,
  url: URL,
  request: IncomingMessage,
): Answer => {
  const expansion = expansionOf(url.searchParams, bmc.personality.expands)
  const plain = resource.read!()
  const status = resource.status?.() ?? 200
  const tag = tagOf(plain)
  const headers = {
    Allow: allowed(resource).join(', '),
    ...linkTo(plain),
    ...(status === 202 && { Location: url.pathname, 'Retry-After': '1' }),
  }
  if (expansion) return { status, body: expanded(tree, plain, expansion), headers }
  if (request.headers['if-none-match'] === tag)
    return { status: 304, headers: { ...headers, ETag: tag } }
  return { status, body: withTag(plain), headers: { ...headers, ETag: tag } }
}

const linkTo = (document: Json | undefined): Record<string, string> => {
  const schema = document && schemaUrl(document)
  return schema ? { Link: `<${schema}>; rel=describedby` } : {}
}

/** Fields that change by themselves: a tag that a client holds stays valid. */
const LIVE = new Set(['DateTime', 'Reading', 'BootProgress'])

/** The entity tag of a document: a strong one, of its content. */
const tagOf = (document: Json): string =>
  `"${createHash('sha256')
    .update(JSON.stringify(document, (key, value: unknown) => (LIVE.has(key) ? null : value)))
    .digest('hex')
    .slice(0, 16)}"`

const withTag = (document: Json): Json =>
  document['@odata.id'] === undefined ? document : { ...document, '@odata.etag': tagOf(document) }

const checkMatch = ({ headers }: IncomingMessage, resource: Resource): void => {
  const wanted = headers['if-match']
  if (wanted === undefined || wanted === '*' || !resource.read) return
  const tags = wanted.split(',').map((tag) => tag.trim())
  if (!tags.includes(tagOf(resource.read()))) throw new Refusal('PreconditionFailed')
}

/** The JSON object of a request; an empty one for an empty body. */
const bodyOf = async (request: IncomingMessage): Promise<Json> => {
  const bytes = await wholeBody(
    request,
    MOST_BODY_BYTES,
    () => new Refusal('GeneralError', [], { status: 413 }),
  )
  if (bytes.length === 0) return {}
  const type = request.headers['content-type'] ?? ''
  if (!/^application\/json\b/i.test(type))
    throw new Refusal('HeaderInvalid', ['Content-Type'], { status: 415 })
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch {
    throw new Refusal('MalformedJSON')
  }
  if (!isJson(value)) throw new Refusal('MalformedJSON')
  return value
}
