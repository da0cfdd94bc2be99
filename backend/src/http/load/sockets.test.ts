import { EventEmitter } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import { afterEach, expect, test, vi } from 'vitest'
import { readNetwork } from '../../network.ts'
import { cutStalled, limitsItself, limitSockets } from './sockets.ts'

afterEach(() => void vi.useRealTimers())

/** The parts of a socket that the limits use. */
class Peer extends EventEmitter {
  destroyed = false
  /** Like the handle of a socket. */
  readonly _handle = { writeQueueSize: 0 }
  readonly remoteAddress: string
  constructor(remoteAddress: string) {
    super()
    this.remoteAddress = remoteAddress
  }
  destroy() {
    this.destroyed = true
  }
}
function open(server: EventEmitter, address: string, count: number): Peer[] {
  return Array.from({ length: count }, () => {
    const peer = new Peer(address)
    server.emit('connection', peer)
    return peer
  })
}

test('an address may have at most fifty open sockets, and closing one frees its place', () => {
  const server = new EventEmitter()
  limitSockets(server as unknown as Server, { trusted: [] })
  const peers = open(server, '203.0.113.7', 52)
  expect(peers.map((p) => p.destroyed).filter(Boolean)).toHaveLength(2)
  peers[0]!.emit('close')
  expect(open(server, '203.0.113.7', 2).map((p) => p.destroyed)).toEqual([false, true])
  expect(open(server, '203.0.113.8', 50).some((p) => p.destroyed)).toBe(false)
  // All IPv6 addresses of a /64 count as one.
  const many = Array.from(
    { length: 52 },
    (_, i) => open(server, `2001:db8::${(i + 1).toString(16)}`, 1)[0]!,
  )
  expect(many.filter((p) => p.destroyed)).toHaveLength(2)
  expect(open(server, '2001:db8:0:1::1', 1)[0]!.destroyed).toBe(false)
})

test('loopback and trusted proxies are not limited, because many users share these addresses', () => {
  const server = new EventEmitter()
  limitSockets(server as unknown as Server, { trusted: [readNetwork('10.0.0.0/8')!] })
  for (const address of ['127.0.0.1', '::1', '10.1.2.3', '::ffff:10.1.2.3'])
    expect(open(server, address, 80).some((p) => p.destroyed)).toBe(false)
})

test('a connection is cut if its queued bytes stay the same, but not if they shrink, if none are queued, or if the response has its own limit', () => {
  vi.useFakeTimers()
  const server = new EventEmitter()
  const stop = cutStalled(server as unknown as Server, 1_000)
  const [stalled, slow, idle, stream] = open(server, '127.0.0.1', 4) as [Peer, Peer, Peer, Peer]
  const response = Object.assign(new EventEmitter(), { socket: stream })
  limitsItself(response as unknown as ServerResponse)
  for (const peer of [stalled, slow, stream]) peer._handle.writeQueueSize = 50_000
  const look = (times: number) => {
    for (let i = 0; i < times; i++) {
      slow._handle.writeQueueSize--
      vi.advanceTimersByTime(100)
    }
  }
  look(9)
  expect(stalled.destroyed).toBe(false)
  look(40)
  expect([stalled, slow, idle, stream].map((peer) => peer.destroyed)).toEqual([
    true,
    false,
    false,
    false,
  ])
  // The limit applies again to the next response on the connection.
  slow._handle.writeQueueSize = 0
  response.emit('close')
  vi.advanceTimersByTime(1_100)
  expect([slow, stream].map((peer) => peer.destroyed)).toEqual([false, true])
  idle._handle.writeQueueSize = 50_000
  stop()
  vi.advanceTimersByTime(5_000)
  expect(idle.destroyed).toBe(false)
})
