/** Logs of pods, from the machine itself. Every function throws TalosError only. */
import { ContainerDriver } from '../proto/gen/common/common_pb.ts'
import { MachineService } from '../proto/gen/machine/machine_pb.ts'
import { type CallContext, type CallOptions, one, refuseError, stream, unary } from './calls.ts'
import { TalosError } from './errors.ts'
import { messageText } from './text.ts'

const machine = MachineService.method
/** Longest part of a log that is read, in bytes. */
const largestLog = 64 * 1024
/** Longest text that is returned, in characters. */
const longestText = 16 * 1024

export const podCalls = (connection: CallContext) => ({
  /**
   * The last lines of the log of a pod's container in `kube-system`; empty if the machine has no
   * such container. Of several containers of this name, the last one that has ended is read.
   */
  async podLog(
    pod: string,
    container: string,
    lines: number,
    options: CallOptions = {},
  ): Promise<string[]> {
    const where = { namespace: 'k8s.io', driver: ContainerDriver.CRI }
    const { containers } = one(
      (await unary(connection, options, machine.containers, where)).messages,
      machine.containers.name,
    )
    const own = containers.filter((c) => c.name === container && c.podId === `kube-system/${pod}`)
    const found = own.findLast((c) => c.status === 'CONTAINER_EXITED') ?? own.at(-1)
    if (found === undefined) return []
    const parts: Uint8Array[] = []
    let total = 0
    const request = { ...where, id: found.id, follow: false, tailLines: lines }
    const bounds = { untilMs: options.deadlineMs ?? connection.deadlineMs }
    for await (const message of stream(connection, options, bounds, machine.logs, request)) {
      refuseError(message.metadata)
      total += message.bytes.length
      if (total > largestLog)
        throw new TalosError('invalid_data', `server sent more than ${largestLog / 1024} KiB`)
      parts.push(message.bytes)
    }
    return messageText(Buffer.concat(parts).toString('utf8'), longestText)
      .split('\n')
      .filter((line) => line !== '')
  },
})
