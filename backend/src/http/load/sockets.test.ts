import { EventEmitter } from 'node:events'
import type { Server } from 'node:http'
import { expect, test } from 'vitest'
import { readNetwork } from '../../network.ts'
import { limitSockets } from './sockets.ts'

/** The parts of a socket that the limit uses. */
class Peer extends EventEmitter {
  destroyed = false
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
  const many = Array.from({ length: 52 }, (_, i) => open(server, `2001:db8::${(i + 1).toString(16)}`, 1)[0]!)
  expect(many.filter((p) => p.destroyed)).toHaveLength(2)
  expect(open(server, '2001:db8:0:1::1', 1)[0]!.destroyed).toBe(false)
})

test('loopback and trusted proxies are not limited, because many users share these addresses', () => {
  const server = new EventEmitter()
  limitSockets(server as unknown as Server, { trusted: [readNetwork('10.0.0.0/8')!] })
  for (const address of ['127.0.0.1', '::1', '10.1.2.3', '::ffff:10.1.2.3']) expect(open(server, address, 80).some((p) => p.destroyed)).toBe(false)
})
