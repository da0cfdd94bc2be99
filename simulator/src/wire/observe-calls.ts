import { hasFeature } from '../config/versions.ts'
import { Code, ConnectError } from '@connectrpc/connect'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { packed, type Journal, type JournalEvent, type Ring } from '../machine/journal.ts'
import { crashLog } from '../machine/kubelet/pod-status.ts'
import type { Machine } from '../machine/machine.ts'
import { certificateText } from './certificate-files.ts'
import { textOf } from './files.ts'
import { type MachineCalls, machineOf, answer } from './peer.ts'
import { cpuInfo, diskStats, loadAverage, memoryInfo, networkStats, systemStat } from './usage.ts'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

/** Calls that only read. */
export const observeCalls: MachineCalls = {
  version(_request, context) {
    const machine = machineOf(context)
    return answer({
      version: {
        tag: machine.talosVersion,
        sha: 'simulated',
        built: '',
        goVersion: 'go1.26.0',
        os: 'linux',
        arch: 'amd64',
      },
      platform: { name: 'metal', mode: 'metal' },
      ...(machine.config?.node && { features: { rbac: true } }),
    })
  },

  hostname: (_request, context) => answer({ hostname: machineOf(context).hostname }),

  serviceList(_request, context) {
    const machine = machineOf(context)
    return answer({
      services: machine.services.all.map(
        ({ id, state, events, healthy, lastMessage, lastChange }) => ({
          id,
          state,
          events: {
            events: events.map((event) => ({
              msg: event.message,
              state: event.state,
              ts: timestampFromMs(event.at),
            })),
          },
          health: {
            unknown: healthy === null,
            healthy: healthy === true,
            lastMessage,
            lastChange: timestampFromMs(lastChange),
          },
        }),
      ),
    })
  },

  async *events({ tailEvents, tailId, tailSeconds, withActorId }, context) {
    const machine = machineOf(context)
    const { journal } = machine
    const { events } = journal
    // The first message confirms the stream.
    yield { data: { typeUrl: '', value: new Uint8Array() } }
    const from = firstEvent(events, tailEvents, tailId, tailSeconds, machine.world.clock.now())
    for await (const event of follow(journal, events, () => journal.events, from, context.signal)) {
      if (withActorId === '' || event.actorId === withActorId)
        yield { data: packed(event), id: event.id, actorId: event.actorId }
    }
  },

  async *dmesg({ follow: isFollowed, tail }, context) {
    const { journal } = machineOf(context)
    const lines = journal.kernelLines
    const from = tail ? lines.total : 0
    for await (const line of isFollowed
      ? follow(journal, lines, () => journal.kernelLines, from, context.signal)
      : lines.since(from))
      yield { bytes: encode(`${line}\n`) }
  },

  logsContainers: (_request, context) => answer({ ids: logNames(machineOf(context)) }),

  async *logs({ id, namespace, follow: isFollowed, tailLines }, context) {
    const machine = machineOf(context)
    const { journal } = machine
    if (namespace === 'k8s.io' && podLog(machine, id)) {
      for (const line of podLog(machine, id)!.slice(tailLines < 0 ? 0 : -tailLines))
        yield { bytes: encode(`${line}\n`) }
      return
    }
    if (namespace !== 'system' && namespace !== '')
      throw new ConnectError(`container "${id}" not found`, Code.NotFound)
    const current = () =>
      id === 'kernel' && hasFeature(machine.talosMinor, 'kernelLog')
        ? journal.kernelLines
        : journal.logLines(id)
    const lines = current()
    // Talos returns a plain Go error (logging/circular.go), so the code is Unknown.
    if (!lines) throw new ConnectError(`log "${id}" was not registered`, Code.Unknown)
    const from = tailLines < 0 ? 0 : Math.max(0, lines.total - tailLines)
    for await (const line of isFollowed
      ? follow(journal, lines, current, from, context.signal)
      : lines.since(from))
      yield { bytes: encode(`${line}\n`) }
  },

  cPUInfo: (_request, context) => answer({ cpuInfo: cpuInfo(machineOf(context)) }),
  memory: (_request, context) => answer({ meminfo: memoryInfo(machineOf(context)) }),
  loadAvg: (_request, context) => answer(loadAverage(machineOf(context))),
  systemStat: (_request, context) => answer(systemStat(machineOf(context))),
  diskStats: (_request, context) => answer(diskStats(machineOf(context))),
  networkDeviceStats: (_request, context) => answer(networkStats(machineOf(context))),

  async *read({ path }, context) {
    const machine = machineOf(context)
    const text = textOf(machine, path) ?? (await certificateText(machine, path))
    if (text === undefined)
      throw new ConnectError(`stat ${path}: no such file or directory`, Code.Unknown)
    yield { bytes: encode(text) }
  },
}

/** The log of a static pod's container, by the id of the container. */
const podLog = (machine: Machine, id: string): string[] | undefined => {
  const pod = [...machine.staticPods.values()].find(
    ({ name }) => id === `kube-system/${name}-${machine.hostname}:${name}`,
  )
  return pod?.isCrashing === true ? crashLog(pod) : pod && []
}

const logNames = (machine: Machine): string[] =>
  [
    ...machine.journal.logNames,
    ...(hasFeature(machine.talosMinor, 'kernelLog') ? ['kernel'] : []),
  ].toSorted()

const firstEvent = (
  events: Ring<JournalEvent>,
  tailEvents: number,
  tailId: string,
  tailSeconds: number,
  now: number,
): number => {
  const all = events.since(0)
  const first = events.total - all.length
  if (tailId !== '') {
    const index = all.findIndex(({ id }) => id === tailId)
    return index === -1 ? first : first + index + 1
  }
  if (tailSeconds > 0) {
    const index = all.findIndex(({ at }) => at >= now - tailSeconds * 1000)
    return index === -1 ? events.total : first + index
  }
  return tailEvents < 0 ? first : Math.max(first, events.total - tailEvents)
}

/**
 * Yields the entries from this number on and then new ones, until the caller disconnects or the
 * machine restarts, which replaces the ring buffer.
 */
async function* follow<T>(
  journal: Journal,
  ring: Ring<T>,
  current: () => Ring<T> | undefined,
  from: number,
  signal: AbortSignal,
): AsyncIterable<T> {
  let next = from
  while (!signal.aborted && current() === ring) {
    const items = ring.since(next)
    next = ring.total
    yield* items
    if (ring.total === next) await journal.next(signal)
  }
}
