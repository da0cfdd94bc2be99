/**
 * A process that guesses passwords. Each of its connections sends the next guess as soon as the
 * last one was answered, and each guess names another client address, as a trusted proxy does.
 * Every second guess is for the given account, the others for accounts that don't exist. Arguments:
 * URL, email, connections. It ends with its parent, or when it is killed.
 */
import { Agent, request } from 'node:http'
import process from 'node:process'

const [url, email, connections] = process.argv.slice(2) as [string, string, string]
const agent = new Agent({ keepAlive: true, maxSockets: Number(connections) })
let sent = 0

const guess = (n: number): Promise<number> =>
  new Promise((resolve) => {
    const from = `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': from }
    request(`${url}/v1/authorize`, { method: 'POST', agent, headers }, (answer) =>
      answer.resume().once('end', () => resolve(answer.statusCode!)),
    )
      .once('error', () => resolve(0))
      .end(
        JSON.stringify({
          email: n % 2 === 0 ? email : `nobody-${n}@example.com`,
          password: 'not the password',
        }),
      )
  })

process.on('disconnect', () => process.exit())
for (let n = 0; n < Number(connections); n++)
  void (async () => {
    for (;;) process.send!(await guess(++sent), () => undefined)
  })()
