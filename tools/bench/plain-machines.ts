/**
 * The floor of a registration: plain Node that makes as many TLS handshakes and HTTP/2 requests
 * with as many bytes, and does nothing else. `serve PORT BYTES`: answers every request with so many
 * bytes. `dial PORT CONNECTIONS REQUESTS`: makes the connections, 32 at a time, each with so many
 * requests.
 */
import { connect, createSecureServer, type ServerHttp2Stream } from 'node:http2'
import { connect as connectTls, createSecureContext } from 'node:tls'
import { once } from 'node:events'
import { maintenanceIdentity } from '../../simulator/src/wire/maintenance-identity.ts'

const [role, ...numbers] = process.argv.slice(2)
const [port, first, second] = numbers.map(Number)
const trailers = { 'grpc-status': '0' }

if (role === 'serve') {
  const bytes = Buffer.alloc(first!)
  const { crt: cert, key } = maintenanceIdentity(['127.0.0.1'], Date.now())
  const server = createSecureServer({ cert, key })
  server.on('session', (session) => session.on('error', () => undefined))
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.resume()
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc' },
      { waitForTrailers: true },
    )
    stream.once('wantTrailers', () => stream.sendTrailers(trailers))
    stream.end(bytes)
  })
  server.listen(port, '127.0.0.1', () => console.log('ready'))
} else {
  const secureContext = createSecureContext()
  const request = Buffer.alloc(64)
  const machine = async () => {
    const socket = connectTls({
      host: '127.0.0.1',
      port: port!,
      secureContext,
      rejectUnauthorized: false,
      ALPNProtocols: ['h2'],
    })
    await once(socket, 'secureConnect')
    const session = connect(`https://127.0.0.1:${port}`, { createConnection: () => socket })
    await Promise.all(
      Array.from({ length: second! }, async () => {
        const stream = session.request({
          ':method': 'POST',
          ':path': '/cosi.resource.State/Get',
          'content-type': 'application/grpc',
          te: 'trailers',
        })
        stream.resume()
        stream.end(request)
        await once(stream, 'end')
      }),
    )
    session.destroy()
    socket.destroy()
  }
  let left = first!
  await Promise.all(
    Array.from({ length: 32 }, async () => {
      while (left-- > 0) await machine()
    }),
  )
  console.log('ready')
  // Until it is stopped, its processor time can be read.
  setInterval(() => undefined, 1_000)
}
