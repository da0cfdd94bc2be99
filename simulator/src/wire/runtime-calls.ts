import type { TLSSocket } from 'node:tls'
import type { MessageInitShape } from '@bufbuild/protobuf'
import * as proto from '#talos/proto/gen/machine/machine_pb.ts'
import { STATIC_PODS } from '../config/node-config.ts'
import { etcdImageOf } from '../machine/images.ts'
import type { Machine } from '../machine/machine.ts'
import { seeded } from '../random.ts'
import { below } from './files.ts'
import { type MachineCalls, PEER, machineOf, answer } from './peer.ts'

/** Programs, mounts, connections and files of a machine, derived from its services. */

const MIB = 1024 * 1024
const FIRST_PID = 1000
const PIDS_APART = 64
const KUBERNETES = 'k8s.io'
const SYSTEM = 'system'
const PORTS: readonly { port: number; service: string }[] = [
  { port: 50_000, service: 'apid' },
  { port: 50_001, service: 'trustd' },
  { port: 2379, service: 'etcd' },
  { port: 2380, service: 'etcd' },
  { port: 10_250, service: 'kubelet' },
]
const FILE_MODE = 0o644
/** Mode of a folder in the form of Go's os.FileMode. */
const FOLDER_MODE = 0x80000000 + 0o755

type Program = ReturnType<typeof programs>[number]

/** Running services and static pods. Process ids are stable until the next boot. */
const programs = (machine: Machine) => {
  const services = machine.services.all.map(({ id, state }) => ({
    name: id,
    namespace: SYSTEM,
    runs: state === 'Running',
  }))
  const pods = STATIC_PODS.map((name) => ({
    name,
    namespace: KUBERNETES,
    runs: machine.staticPods.get(name)?.ready === true,
  }))
  return [...services, ...pods].flatMap(({ name, namespace, runs }, index) => {
    const random = seeded(`${machine.plan.name}/${machine.bootId}/${name}`)
    const pid =
      name === 'machined'
        ? 1
        : FIRST_PID + index * PIDS_APART + 1 + Math.floor(random.next() * (PIDS_APART - 2))
    return runs
      ? [{ name, namespace, pid, memoryBytes: Math.round((24 + random.next() * 200) * MIB) }]
      : []
  })
}

/** Services that Talos runs in containers; the others are plain processes. */
const CONTAINERS = new Set(['apid', 'trustd', 'etcd', 'kubelet'])

const imageOf = (machine: Machine, name: string): string => {
  if (name === 'kubelet') return machine.config?.node?.kubeletImage ?? ''
  if (name === 'etcd') return etcdImageOf(machine)
  return machine.staticPods.get(name)?.image ?? `talos/${name}`
}

/** Static pods whose container has ended, and which the kubelet will start again. */
const endedPods = (machine: Machine, namespace: string) =>
  namespace === KUBERNETES
    ? [...machine.staticPods.values()]
        .filter(({ isCrashing }) => isCrashing)
        .map(({ name }) => ({ name, namespace, pid: 0 }))
    : []

const containersOf = (machine: Machine, namespace: string) =>
  [...programs(machine), ...endedPods(machine, namespace)]
    .filter(
      (program) =>
        program.namespace === namespace &&
        (namespace === KUBERNETES || CONTAINERS.has(program.name)),
    )
    .flatMap(({ name, pid }) => {
      const image = imageOf(machine, name)
      if (namespace === SYSTEM)
        return [
          {
            namespace,
            id: name,
            uid: name,
            internalId: name,
            image,
            pid,
            status: 'RUNNING',
            podId: name,
            name,
          },
        ]
      const podId = `kube-system/${name}-${machine.hostname}`
      const id = `${podId}:${name}`
      return [
        {
          namespace,
          id: podId,
          uid: podId,
          internalId: podId,
          image: 'registry.k8s.io/pause:3.10',
          pid: Math.max(0, pid - 1),
          status: 'SANDBOX_READY',
          podId,
          name: podId,
        },
        {
          namespace,
          id,
          uid: id,
          internalId: id,
          image,
          pid,
          status: pid === 0 ? 'CONTAINER_EXITED' : 'CONTAINER_RUNNING',
          podId,
          name,
        },
      ]
    })

/** Simulated seconds of processor time, in nanoseconds. */
const cpuNanoseconds = (machine: Machine, { memoryBytes }: Program): bigint =>
  BigInt(
    Math.round(
      Math.max(0, machine.world.clock.now() - machine.journal.bootedAt) * (memoryBytes / MIB) * 100,
    ),
  )

export const runtimeCalls: MachineCalls = {
  containers({ namespace }, context) {
    return answer({ containers: containersOf(machineOf(context), namespace) })
  },

  stats({ namespace }, context) {
    const machine = machineOf(context)
    const byPid = new Map(programs(machine).map((program) => [program.pid, program]))
    const stats = containersOf(machine, namespace).flatMap(({ id, podId, name, pid }) => {
      const program = byPid.get(pid)
      return program
        ? [
            {
              namespace,
              id,
              podId,
              name,
              memoryUsage: BigInt(program.memoryBytes),
              cpuUsage: cpuNanoseconds(machine, program),
            },
          ]
        : []
    })
    return answer({ stats })
  },

  processes(_request, context) {
    const machine = machineOf(context)
    const processes = programs(machine).map((program) => ({
      pid: program.pid,
      ppid: program.pid === 1 ? 0 : 1,
      state: 'S',
      threads: 8,
      cpuTime: Number(cpuNanoseconds(machine, program)) / 1e9,
      virtualMemory: BigInt(program.memoryBytes * 8),
      residentMemory: BigInt(program.memoryBytes),
      command: program.name,
      executable: `/usr/bin/${program.name}`,
      args: `/usr/bin/${program.name}`,
    }))
    return answer({ processes })
  },

  mounts(_request, context) {
    const machine = machineOf(context)
    const disk = machine.hardware.disks.find(({ name }) => name === machine.systemDisk)
    const stat = (filesystem: string, mountedOn: string, size: number, used: number) => ({
      filesystem,
      mountedOn,
      size: BigInt(size),
      available: BigInt(Math.round(size * (1 - used))),
    })
    const onDisk = disk
      ? [
          stat(`/dev/${disk.name}4`, '/system/state', 100 * MIB, 0.07),
          ...(machine.hasEphemeral
            ? [stat(`/dev/${disk.name}5`, '/var', Math.max(0, disk.sizeBytes - 3200 * MIB), 0.03)]
            : []),
        ]
      : []
    return {
      messages: [
        {
          stats: [
            stat('devtmpfs', '/dev', 64 * MIB, 0),
            stat('/dev/loop0', '/', 80 * MIB, 1),
            stat('tmpfs', '/run', 1024 * MIB, 0.001),
            ...onDisk,
          ],
        },
      ],
    }
  },

  netstat({ filter, l4proto }, context) {
    const { machine, session } = context.values.get(PEER)!
    const process = (name: string): { pid: number; name: string } => ({
      pid: programs(machine).find((program) => program.name === name)?.pid ?? 0,
      name,
    })
    const listening: MessageInitShape<typeof proto.ConnectRecordSchema>[] = [
      ...PORTS.filter(({ service }) => machine.services.isRunning(service)),
      ...(machine.ports.etcdHttp.isOpen
        ? [{ port: machine.ports.etcdHttp.port, service: 'etcd' }]
        : []),
      ...(machine.apiServerUp ? [{ port: 6443, service: 'kube-apiserver' }] : []),
    ].map(({ port, service }) => ({
      l4proto: 'tcp',
      localip: '0.0.0.0',
      localport: port,
      remoteip: '0.0.0.0',
      state: proto.ConnectRecord_State.LISTEN,
      process: process(service),
    }))
    const socket = session.socket as TLSSocket
    const own: MessageInitShape<typeof proto.ConnectRecordSchema> = {
      l4proto: 'tcp',
      localip: machine.plan.address,
      localport: 50_000,
      remoteip: socket.remoteAddress ?? '',
      remoteport: socket.remotePort ?? 0,
      state: proto.ConnectRecord_State.ESTABLISHED,
      process: process('apid'),
    }
    const shown =
      filter === proto.NetstatRequest_Filter.LISTENING
        ? listening
        : filter === proto.NetstatRequest_Filter.CONNECTED
          ? [own]
          : [...listening, own]
    return answer({ connectrecord: l4proto && !l4proto.tcp ? [] : shown })
  },

  async *list({ root, recurse, recursionDepth, types }, context) {
    const machine = machineOf(context)
    const depth = recurse ? (recursionDepth > 0 ? recursionDepth : Number.POSITIVE_INFINITY) : 1
    const entries = below(machine, root, depth)
    if (entries.length === 0)
      yield { name: root, error: `lstat ${root}: no such file or directory` }
    for (const { path, relative, size } of entries) {
      if (
        types.length > 0 &&
        !types.includes(
          size === null ? proto.ListRequest_Type.DIRECTORY : proto.ListRequest_Type.REGULAR,
        )
      )
        continue
      yield {
        name: path,
        relativeName: relative,
        size: BigInt(size ?? 0),
        isDir: size === null,
        mode: size === null ? FOLDER_MODE : FILE_MODE,
        modified: BigInt(Math.floor(machine.journal.bootedAt / 1000)),
      }
    }
  },

  async *diskUsage({ paths, recursionDepth, all, threshold }, context) {
    const machine = machineOf(context)
    for (const root of paths.length > 0 ? paths : ['/']) {
      const entries = below(machine, root, Number.POSITIVE_INFINITY)
      if (entries.length === 0)
        yield { name: root, relativeName: root, error: `lstat ${root}: no such file or directory` }
      for (const { path, relative, size, depth } of entries.toReversed()) {
        if (depth > recursionDepth || (size !== null && !all && depth > 0)) continue
        const within = path === '/' ? '/' : `${path}/`
        const bytes =
          size ??
          entries.reduce(
            (sum, entry) => sum + (entry.path.startsWith(within) ? (entry.size ?? 0) : 0),
            0,
          )
        if (threshold > 0n ? bytes >= threshold : threshold === 0n || bytes <= -threshold)
          yield { name: path, relativeName: relative, size: BigInt(bytes) }
      }
    }
  },
}
