/**
 * A small BMC for the tests of this room: documents in memory behind HTTPS on loopback. It keeps
 * what reached it, so that a test can say what was not sent. The simulated BMC of the product
 * (`simulator/`) is written apart from this room and judges it.
 */
import { createServer, type Server } from 'node:https'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { X509Certificate } from 'node:crypto'
import { one } from './certificates.ts'

export interface Seen {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}
export type Handler = (seen: Seen, response: ServerResponse) => void | Promise<void>

export interface TestBmc {
  readonly place: { readonly address: string; readonly port: number; readonly fingerprint: string }
  readonly seen: Seen[]
  /** Documents by path. */
  readonly documents: Map<string, object>
  /** Answers in place of the documents, by `METHOD path`. */
  readonly on: Map<string, Handler>
  readonly sessions: Set<string>
  readonly close: () => Promise<void>
}

export const system = {
  '@odata.id': '/redfish/v1/Systems/1',
  Id: '1',
  UUID: '38947555-7742-3448-3784-823347823834',
  SerialNumber: '437XR1138R2',
  Manufacturer: 'Contoso',
  Model: '3500',
  PowerState: 'Off',
  LocationIndicatorActive: false,
  EthernetInterfaces: { '@odata.id': '/redfish/v1/Systems/1/EthernetInterfaces' },
  Links: { ManagedBy: [{ '@odata.id': '/redfish/v1/Managers/BMC' }] },
  Actions: {
    '#ComputerSystem.Reset': {
      target: '/redfish/v1/Systems/1/Actions/ComputerSystem.Reset',
      'ResetType@Redfish.AllowableValues': ['On', 'ForceOff', 'GracefulShutdown'],
    },
  },
}

const documents = (): [string, object][] => [
  [
    '/redfish/v1/',
    {
      RedfishVersion: '1.15.0',
      UUID: '92384634-2938-2342-8820-489239905423',
      Product: 'Contoso BMC',
      Systems: { '@odata.id': '/redfish/v1/Systems' },
      Managers: { '@odata.id': '/redfish/v1/Managers' },
      Links: { Sessions: { '@odata.id': '/redfish/v1/SessionService/Sessions' } },
    },
  ],
  ['/redfish/v1/Systems', { Members: [{ '@odata.id': '/redfish/v1/Systems/1' }] }],
  ['/redfish/v1/Systems/1', { ...system }],
  [
    '/redfish/v1/Systems/1/EthernetInterfaces',
    { Members: [{ '@odata.id': '/redfish/v1/Systems/1/EthernetInterfaces/1' }] },
  ],
  [
    '/redfish/v1/Systems/1/EthernetInterfaces/1',
    { Id: '1', MACAddress: '12:44:6A:3B:04:11', PermanentMACAddress: '12:44:6A:3B:04:11' },
  ],
  [
    '/redfish/v1/Managers/BMC',
    { '@odata.id': '/redfish/v1/Managers/BMC', Model: 'Contoso BMC', FirmwareVersion: '1.45' },
  ],
]

export const account = { username: 'steelyard', password: 'correct horse' }

const listening = new Set<TestBmc>()
/** Ends all servers of a test. */
export const closeAll = (): Promise<unknown> => Promise.all([...listening].map((b) => b.close()))

export async function testBmc({
  certificate = one,
  address = '127.0.0.1',
  port = 0,
}: { certificate?: typeof one; address?: string; port?: number } = {}): Promise<TestBmc> {
  const seen: Seen[] = []
  const docs = new Map(documents())
  const on = new Map<string, Handler>()
  const sessions = new Set<string>()
  const json = (response: ServerResponse, status: number, body?: object, headers = {}): void => {
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers })
    response.end(body === undefined ? undefined : JSON.stringify(body))
  }
  const isIn = ({ headers }: Seen): boolean => {
    const token = headers['x-auth-token']
    const basic = `Basic ${Buffer.from(`${account.username}:${account.password}`).toString('base64')}`
    return (typeof token === 'string' && sessions.has(token)) || headers.authorization === basic
  }
  const answer = async (one: Seen, response: ServerResponse): Promise<void> => {
    const own = on.get(`${one.method} ${one.path}`) ?? on.get(`${one.method} *`)
    if (own) return own(one, response)
    if (one.method === 'POST' && one.path === '/redfish/v1/SessionService/Sessions') {
      const { UserName, Password } = JSON.parse(one.body) as Record<string, string>
      if (UserName !== account.username || Password !== account.password)
        return json(response, 401, { error: { message: `Not with ${Password}.` } })
      const token = `token-${sessions.size + 1}-${seen.length}`
      sessions.add(token)
      return json(response, 201, {}, { 'X-Auth-Token': token, Location: `${one.path}/${token}` })
    }
    if (one.path !== '/redfish/v1/' && !isIn(one)) return json(response, 401)
    if (one.method === 'DELETE') {
      sessions.delete(one.path.split('/').at(-1)!)
      return json(response, 204)
    }
    const document = docs.get(one.path)
    if (one.method === 'GET' && document) return json(response, 200, document, { ETag: '"1"' })
    if (one.method === 'PATCH' && document) {
      docs.set(one.path, { ...document, ...(JSON.parse(one.body) as object) })
      return json(response, 204)
    }
    if (one.path === system.Actions['#ComputerSystem.Reset'].target) {
      const { ResetType } = JSON.parse(one.body) as { ResetType: string }
      const now = docs.get('/redfish/v1/Systems/1')!
      docs.set('/redfish/v1/Systems/1', { ...now, PowerState: ResetType === 'On' ? 'On' : 'Off' })
      return json(response, 204)
    }
    return json(response, 404, { error: { message: 'Not there.' } })
  }
  const server: Server = createServer(certificate, (request, response) => {
    let body = ''
    request.on('data', (piece: Buffer) => (body += piece.toString()))
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request
      const made = { method, path, headers, body }
      seen.push(made)
      void answer(made, response)
    })
  })
  await new Promise<void>((ready) => void server.listen(port, address, ready))
  const bmc: TestBmc = {
    place: {
      address,
      port: (server.address() as AddressInfo).port,
      fingerprint: new X509Certificate(certificate.cert).fingerprint256,
    },
    seen,
    documents: docs,
    on,
    sessions,
    close: () =>
      new Promise<void>((done) => {
        listening.delete(bmc)
        server.closeAllConnections()
        server.close(() => done())
      }),
  }
  listening.add(bmc)
  return bmc
}
