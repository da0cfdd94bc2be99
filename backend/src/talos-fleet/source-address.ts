/** The address that this machine's connections to another one come from. */
import { createSocket } from 'node:dgram'

/** In the simulation, Steelyard stands at the gateway of the simulated network. */
const simulated = { prefix: '127.20.', gateway: '127.20.0.1' }

/**
 * Asks the kernel for its route: connecting a datagram socket sends nothing. Null if no route leads
 * there.
 */
export function sourceAddress(address: string): Promise<string | null> {
  if (address.startsWith(simulated.prefix)) return Promise.resolve(simulated.gateway)
  return new Promise((resolve) => {
    const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4')
    const end = (found: string | null): void => {
      socket.close()
      resolve(found)
    }
    socket.once('error', () => end(null))
    socket.connect(9, address, () => end(socket.address().address))
  })
}
