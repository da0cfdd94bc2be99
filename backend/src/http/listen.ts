/**
 * Listens on every address of a name: `localhost` is 127.0.0.1 and ::1. Fastify would create a
 * separate server for the second address, without the limits that are set on the first
 * (`multipleBindings` in its `lib/server.js`). Here all sockets are passed to one server, as
 * Node.js allows (https://nodejs.org/api/http.html#event-connection).
 */
import { lookup } from 'node:dns/promises'
import { type AddressInfo, createServer, type Server } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Log } from '../log.ts'

const addressesOf = async (host: string): Promise<string[]> =>
  (await lookup(host, { all: true })).map((a) => a.address)

/**
 * Returns a function that closes the listeners of all addresses but the first, which the app
 * closes. @throws if it can't listen on the first address
 */
export async function listen(
  app: FastifyInstance,
  { host, port }: { host: string; port: number },
  log: Log,
  resolve = addressesOf,
): Promise<() => void> {
  const [first, ...others] = host === 'localhost' ? [...new Set(await resolve(host))] : [host]
  await app.listen({ host: first!, port })
  const { server } = app
  const more: Server[] = []
  for (const address of others) {
    // The options that Node.js uses for the sockets of an HTTP server.
    const listener = createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
      server.emit('connection', socket),
    )
    listener.maxConnections = server.maxConnections
    const problem = await new Promise<Error | undefined>((done) => {
      listener.once('error', done)
      listener.listen({ host: address, port: (server.address() as AddressInfo).port }, () =>
        done(undefined),
      )
    })
    if (problem === undefined) more.push(listener)
    // Only a warning, because a machine without IPv6 may also have ::1 in its hosts file.
    else log.warn('listen.failed', { address, reason: problem.message })
  }
  return () => more.forEach((listener) => listener.close())
}
