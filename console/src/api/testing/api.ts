import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { token, user } from './tokens.ts'

/** A response. 'never': the server accepts the request and sends no response. */
export type Answered = [status: number, body: unknown] | 'never'

/** What a valid session is answered. */
export const sessionAnswer = {
  user,
  scopes: [],
  expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
}
/** The response to a refresh. */
export const renewed = (): Answered => [
  200,
  { access_token: token('second', 600), refresh_token: 'refresh-2' },
]

/** A server on loopback that answers each path as the test says, and keeps what it was asked. */
export class TestApi {
  answers: (path: string) => Answered = () => [500, {}]
  asked: string[] = []
  /** The requests with their headers, in the order of `asked`. */
  sent: { path: string; headers: IncomingHttpHeaders; body: string }[] = []
  readonly #server: Server = createServer((request, response) => {
    const path = request.url!
    this.asked.push(path)
    const one = { path, headers: request.headers, body: '' }
    this.sent.push(one)
    request.setEncoding('utf8').on('data', (text: string) => (one.body += text))
    const answer = this.answers(path)
    if (answer === 'never') return
    response
      .writeHead(answer[0], { 'content-type': 'application/json' })
      .end(JSON.stringify(answer[1]))
  })

  /** Starts the server, and returns its address. */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Forgets what the server was asked before. */
  begin(): void {
    this.asked = []
    this.sent = []
  }

  stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}
