import { gzipSync } from 'node:zlib'
import { Code, ConnectError } from '@connectrpc/connect'
import { EtcdMemberAlarm_AlarmType } from '#talos/proto/gen/machine/machine_pb.ts'
import { clientUrl, peerUrl, type EtcdCluster } from '../cluster/etcd.ts'
import { whyNoEtcd } from '../cluster/endpoints.ts'
import type { Alarm, Member } from '../cluster/stored.ts'
import { snapshotOf } from '../cluster/snapshot.ts'
import { storageVersionOf } from '../cluster/storage-version.ts'
import { releaseOf } from '../config/versions.ts'
import { TAKES } from '../machine/durations.ts'
import type { Machine } from '../machine/machine.ts'
import { onControlPlane, type MachineCalls, machineOf, answer } from './peer.ts'
import { stringify } from 'yaml'
import { issue } from './certificates.ts'

const CHUNK_BYTES = 64 * 1024

/**
 * The etcd cluster and member of a machine. etcd's client waits for an etcd that doesn't run, until
 * the caller's deadline. `call` is the name of the call for Talos's error message.
 */
const own = async (
  machine: Machine,
  call: string,
  { signal }: { readonly signal: AbortSignal },
): Promise<{ cluster: EtcdCluster; member: Member }> => {
  onControlPlane(machine, call)
  await machine.until(() => machine.services.isRunning('etcd'), signal)
  const cluster = machine.etcdCluster
  const member = cluster?.member(machine.disk.state.etcd?.member ?? '')
  if (!cluster || !member || !machine.services.isRunning('etcd'))
    throw new ConnectError('etcd service is not running', Code.Unavailable)
  return { cluster, member }
}

/**
 * Talos asks etcd at all control planes that it knows (Talos: internal/pkg/etcd/etcd.go,
 * NewClientFromControlPlaneIPs).
 */
const atEndpoints = async (
  machine: Machine,
  cluster: EtcdCluster,
  what: string,
  signal: AbortSignal,
): Promise<void> => {
  const problem = await whyNoEtcd(machine, cluster, signal)
  if (problem !== null) throw new ConnectError(`${what}${problem}`, Code.Unknown)
  withQuorum(cluster)
}

const withQuorum = (cluster: EtcdCluster): void => {
  if (!cluster.hasQuorum) throw new ConnectError('etcdserver: no leader', Code.Unavailable)
}

const alarmOf = ({ member, alarm }: Alarm) => ({
  memberId: number(member),
  alarm:
    alarm === 'nospace' ? EtcdMemberAlarm_AlarmType.NOSPACE : EtcdMemberAlarm_AlarmType.CORRUPT,
})
/** The text form of the protobuf message, which etcd puts among the errors of its status. */
const alarmText = ({ member, alarm }: Alarm): string =>
  `memberID:${number(member)} alarm:${alarm.toUpperCase()} `

const number = (id: string): bigint => BigInt(`0x${id}`)

/** Calls about etcd and the kubeconfig, for control planes only. */
export const etcdCalls: MachineCalls = {
  async etcdMemberList({ queryLocal }, context) {
    const machine = machineOf(context)
    onControlPlane(machine, 'member list')
    const { cluster, member } = await own(machine, 'member list', context)
    if (!queryLocal) await atEndpoints(machine, cluster, '', context.signal)
    // etcd's client asks for a consistent list, which learners don't give (etcd:
    // api/v3rpc/interceptor.go, isRPCSupportedForLearner).
    else if (member.learner)
      throw new ConnectError('etcdserver: rpc not supported for learner', Code.Unavailable)
    withQuorum(cluster)
    const members = cluster.state.members
    return answer({
      legacyMembers: members.map(({ name }) => name),
      members: members.map((member) => ({
        id: number(member.id),
        hostname: member.name,
        peerUrls: [peerUrl(member)],
        clientUrls: [clientUrl(member)],
        isLearner: member.learner,
      })),
    })
  },

  async etcdStatus(_request, context) {
    const { cluster, member } = await own(machineOf(context), 'etcd status', context)
    const { bytes, inUse } = cluster.sizeOf(member)
    const index = BigInt(cluster.state.kubernetes.resourceVersion + 100)
    return answer({
      memberStatus: {
        protocolVersion: releaseOf(machineOf(context).talosMinor).etcd.replace(/^v/, ''),
        storageVersion: storageVersionOf(cluster),
        dbSize: BigInt(bytes),
        dbSizeInUse: BigInt(inUse),
        leader: number(cluster.leader?.id ?? '0'),
        raftIndex: index,
        raftTerm: BigInt(cluster.state.term),
        raftAppliedIndex: index,
        errors: [
          ...(cluster.hasQuorum ? [] : ['etcdserver: no leader']),
          ...(cluster.state.alarms ?? []).map(alarmText),
        ],
        isLearner: member.learner,
        memberId: number(member.id),
      },
    })
  },

  async etcdRemoveMemberByID({ memberId }, context) {
    const { cluster } = await own(machineOf(context), 'etcd remove member', context)
    await atEndpoints(machineOf(context), cluster, 'failed to create etcd client: ', context.signal)
    const member = cluster.member(memberId.toString(16).padStart(16, '0'))
    if (!member) throw new ConnectError('etcdserver: member not found', Code.NotFound)
    if (cluster.state.members.length === 1)
      throw new ConnectError('etcdserver: cannot remove the last member', Code.FailedPrecondition)
    const refusal = cluster.removeRefusal(member.id)
    if (refusal !== null) throw new ConnectError(refusal, Code.Unknown)
    cluster.remove(member.id)
    return answer({})
  },

  async etcdForfeitLeadership(_request, context) {
    const { cluster, member } = await own(machineOf(context), 'etcd forfeit leadership', context)
    await atEndpoints(machineOf(context), cluster, 'failed to create etcd client: ', context.signal)
    if (cluster.state.members.length === 1)
      throw new ConnectError(
        'failed to forfeit leadership: cannot forfeit leadership, only one member',
        Code.Unknown,
      )
    if (cluster.leader?.id !== member.id) return answer({})
    // The first running voter is the leader, so a member that gives up leadership moves to the end.
    cluster.change((state) => {
      state.members = [...state.members.filter(({ id }) => id !== member.id), member]
      state.term++
    })
    return answer({ member: cluster.leader?.name ?? '' })
  },

  async etcdAlarmList(_request, context) {
    const { cluster } = await own(machineOf(context), 'etcd alarm list', context)
    // The list is read through raft (etcd `v3_server.go`, Alarm).
    withQuorum(cluster)
    return answer({ memberAlarms: (cluster.state.alarms ?? []).map(alarmOf) })
  },

  async etcdAlarmDisarm(_request, context) {
    const { cluster } = await own(machineOf(context), 'etcd alarm disarm', context)
    withQuorum(cluster)
    return answer({ memberAlarms: cluster.disarm().map(alarmOf) })
  },

  async etcdDefragment(_request, context) {
    const machine = machineOf(context)
    const { cluster, member } = await own(machine, 'etcd defragment', context)
    await machine.takes(TAKES.defragment, context.signal)
    cluster.defragment(member.id)
    return answer({})
  },

  async etcdRecover(parts, context) {
    const machine = machineOf(context)
    if (!machine.hasEphemeral)
      throw new ConnectError('etcd service is not ready for recovery yet', Code.FailedPrecondition)
    onControlPlane(machine, 'etcd recover')
    const chunks: Uint8Array[] = []
    for await (const { bytes } of parts) chunks.push(bytes)
    machine.disk.keepSnapshot(Buffer.concat(chunks))
    return answer({})
  },

  async *etcdSnapshot(_request, context) {
    const { cluster } = await own(machineOf(context), 'etcd snapshot', context)
    withQuorum(cluster)
    const file = snapshotOf(cluster)
    for (let at = 0; at < file.length; at += CHUNK_BYTES)
      yield { bytes: file.subarray(at, at + CHUNK_BYTES) }
  },

  async *kubeconfig(_request, context) {
    const machine = machineOf(context)
    onControlPlane(machine, 'kubeconfig')
    const archive = gzipSync(tarOf('kubeconfig', Buffer.from(await adminKubeconfig(machine))))
    for (let at = 0; at < archive.length; at += CHUNK_BYTES)
      yield { bytes: archive.subarray(at, at + CHUNK_BYTES) }
  },
}

/**
 * A tar of one file like Talos's: header and content, without padding and end-of-archive blocks.
 */
const tarOf = (name: string, content: Buffer): Buffer => {
  const header = Buffer.alloc(512)
  const octal = (value: number, length: number): string =>
    `${value.toString(8).padStart(length - 1, '0')}\0`
  header.write(name, 0)
  header.write(octal(0o600, 8), 100)
  header.write(octal(0, 8), 108)
  header.write(octal(0, 8), 116)
  header.write(octal(content.length, 12), 124)
  header.write(octal(0, 12), 136)
  header.write('        ', 148)
  header.write('0', 156)
  header.write('ustar\x0000', 257)
  let sum = 0
  for (const byte of header) sum += byte
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return Buffer.concat([header, content])
}

const YEAR_MS = 365 * 24 * 3_600_000

/**
 * Generates an admin kubeconfig from the cluster's Kubernetes authority (Talos:
 * pkg/kubeconfig/generate.go).
 */
const adminKubeconfig = async (machine: Machine): Promise<string> => {
  const { cluster } = machine.config!.node!
  const { crt, key } = issue(cluster.ca!, {
    commonName: 'admin',
    organizations: ['system:masters'],
    usages: ['clientAuth'],
    lifetimeMs: YEAR_MS,
    now: machine.world.clock.now(),
  })
  const user = `admin@${cluster.name}`
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: cluster.name,
        cluster: {
          server: cluster.endpoint,
          'certificate-authority-data': base64(cluster.ca!.crt),
        },
      },
    ],
    users: [
      {
        name: user,
        user: { 'client-certificate-data': base64(crt), 'client-key-data': base64(key) },
      },
    ],
    contexts: [{ context: { cluster: cluster.name, namespace: 'default', user }, name: user }],
    'current-context': user,
  })
}
