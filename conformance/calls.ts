/**
 * Uses the product's client to call a server that is built with grpc-go, Talos's gRPC library, and
 * counts the responses that are lost.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { TalosClient } from '#talos/client/client.ts'
import { connectMaintenance } from '#talos/client/connect.ts'
import { resources } from '#talos/client/resources.ts'

/** Number of resources that the server has. Must be equal to `links` in `calls/main.go`. */
const links = 50
const logLines = 200
const deadlineMs = 10_000

/**
 * Three calls: one with a single response, one that streams a file, one that streams resources.
 * Each throws if the response is incomplete.
 */
const kinds: readonly ((client: TalosClient) => Promise<void>)[] = [
  async (client) => {
    const { tag } = await client.version()
    if (tag !== 'v1.13.9') throw new Error(`Version answered ${tag}`)
  },
  async (client) => {
    const { items } = await client.list(resources.link)
    if (items.length !== links)
      throw new Error(`List answered ${items.length} of ${links} resources`)
  },
  async (client) => {
    let text = ''
    for await (const bytes of client.logs({ service: 'machined' }))
      text += Buffer.from(bytes).toString()
    const lines = text.split('\n').length - 1
    if (lines !== logLines) throw new Error(`Logs answered ${lines} of ${logLines} lines`)
  },
]

export interface Count {
  calls: number
  /** Why each lost call failed. */
  lost: string[]
}

/**
 * Makes `calls` calls to the server `program` (built from `calls/`): the first half one after
 * another, the second half with eight in parallel.
 */
export async function countLostCalls(program: string, calls: number): Promise<Count> {
  const server = spawn(program, [], { stdio: ['pipe', 'pipe', 'inherit'] })
  try {
    const { port, certificate } = await announced(server)
    const client = await connectMaintenance(
      { host: '127.0.0.1', port },
      { sha256: new X509Certificate(certificate).fingerprint256 },
      { deadlineMs },
    )
    const lost: string[] = []
    let made = 0
    const until = async (count: number): Promise<void> => {
      while (made < count) {
        const kind = kinds[made++ % kinds.length]!
        await kind(client).catch((error: Error) => lost.push(error.message))
      }
    }
    await until(Math.floor(calls / 2))
    await Promise.all(Array.from({ length: 8 }, () => until(calls)))
    client.close()
    return { calls: made, lost }
  } finally {
    server.stdin.end()
    if (server.exitCode === null) await once(server, 'exit')
  }
}

async function announced(server: ChildProcess): Promise<{ port: number; certificate: string }> {
  const lines = createInterface({ input: server.stdout! })
  const line = await Promise.race([
    once(lines, 'line'),
    once(server, 'exit').then(([code]) =>
      Promise.reject(new Error(`the server ended with ${code}`)),
    ),
  ])
  return JSON.parse(String(line[0])) as { port: number; certificate: string }
}
