/**
 * Talos's API as an object of functions. Every function throws TalosError only.
 */
import {
  create,
  type DescMessage,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type Message,
  type MessageInitShape,
} from '@bufbuild/protobuf'
import type { GenMessage } from '@bufbuild/protobuf/codegenv2'
import { durationFromMs, timestampDate } from '@bufbuild/protobuf/wkt'
import {
  ContainerdNamespace,
  type DataSchema,
  type Metadata,
} from '../proto/gen/common/common_pb.ts'
import * as proto from '../proto/gen/machine/machine_pb.ts'
import {
  count,
  maxItems,
  type CallContext,
  type CallOptions,
  one,
  refuseError,
  stream,
  unary,
  upload,
} from './calls.ts'
import { TalosError } from './errors.ts'
import { enumWord, readEvent, type TalosEvent } from './events.ts'
import { unpackKubeconfig } from './kubeconfig.ts'
import { lifecycleCalls } from './lifecycle.ts'
import { podCalls } from './pods.ts'
import { stateCalls } from './state.ts'
import { usageCalls } from './usage.ts'
import { messageText, text } from './text.ts'
import { StorageService } from '../proto/gen/storage/storage_pb.ts'

export type ApplyMode = 'auto' | 'no-reboot' | 'reboot' | 'staged' | 'try'

export type Service = Awaited<ReturnType<TalosClient['services']>>[number]

/**
 * The service's message from its health check. A service that was never healthy, or failed before
 * it ran, has only the last event of its history, such as `Failed to run pre stage: failed to pull
 * image …`.
 */
export const messageOf = (s: Service): string | null =>
  s.message || (s.healthy === true ? null : s.lastEvent?.message || null)

export type EtcdMember = Awaited<ReturnType<TalosClient['etcdMembers']>>[number]

export interface ResetOptions {
  /** Drain the node and leave etcd first. The machine refuses the reset if that is impossible. */
  graceful: boolean
  /** Reboots after the reset; otherwise the machine shuts down. */
  reboot: boolean
  mode?: 'all' | 'system_disk' | 'user_disks' | undefined
  /**
   * Labels of partitions, such as STATE and EPHEMERAL. Only these partitions are wiped, and Talos
   * stays installed.
   */
  systemPartitions?: readonly string[] | undefined
  /** Device paths. */
  userDisks?: readonly string[] | undefined
}

export interface TalosClient extends ReturnType<typeof talosClient> {}

const machine = proto.MachineService.method
const storage = StorageService.method

/** Deadline for reading or uploading a whole etcd database, in ms. */
const wholeFileMs = 3_600_000
/** Size of one message of an upload, in bytes. Talos accepts at most 32 MiB. */
const uploadBytes = 64 * 1024
/**
 * Deadline for calls that do real work on the machine, because these calls take longer than reads.
 */
const workDeadlineMs = 60_000

/**
 * The error without the difference of the configurations, which contains secrets. Talos appends it
 * to the refusal of a change that needs a restart (`v1alpha1_server.go`, CanApplyImmediate). The
 * cause is left out as well, because it has the whole message.
 */
function withoutDifference(error: unknown): unknown {
  const cut = error instanceof TalosError ? /^[\s\S]*in immediate mode/.exec(error.message) : null
  return cut === null ? error : new TalosError((error as TalosError).kind, cut[0])
}

export function talosClient(
  connection: CallContext & { close: () => void; target: { host: string; port: number } },
) {
  const work = (options: CallOptions): CallOptions => ({
    deadlineMs: Math.max(workDeadlineMs, connection.deadlineMs),
    ...options,
  })

  /** The response of a call to one machine. */
  const ask = async <I extends DescMessage, T extends { metadata?: Metadata | undefined }>(
    method: DescMethodUnary<I, GenMessage<Message & { messages: T[] }>>,
    request: MessageInitShape<I>,
    options: CallOptions,
  ): Promise<T> => one((await unary(connection, options, method, request)).messages, method.name)

  /**
   * Raw bytes of a stream: within the deadline, or without time limit if the stream is followed.
   */
  async function* bytes<I extends DescMessage>(
    options: CallOptions,
    bounds: { followed: boolean; maxBytes: number },
    method: DescMethodServerStreaming<I, typeof DataSchema>,
    request: MessageInitShape<I>,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    let total = 0
    const untilMs = bounds.followed
      ? undefined
      : (options.deadlineMs ?? Math.max(workDeadlineMs, connection.deadlineMs))
    for await (const message of stream(connection, options, { untilMs }, method, request)) {
      refuseError(message.metadata)
      total += message.bytes.length
      if (!bounds.followed && total > bounds.maxBytes)
        throw new TalosError(
          'invalid_data',
          `server sent more than ${bounds.maxBytes / 1024 ** 2} MiB`,
        )
      yield message.bytes
    }
  }

  return {
    target: connection.target,

    /** Ends the connection and all calls on it. Later calls fail with kind `cancelled`. */
    close: connection.close,

    /**
     * Talos before 1.13 refuses this call in maintenance with `unimplemented`. Read the resource
     * `version` instead.
     */
    async version(options: CallOptions = {}) {
      const { version, platform } = await ask(machine.version, {}, options)
      return {
        tag: text(version?.tag ?? ''),
        sha: text(version?.sha ?? ''),
        arch: text(version?.arch ?? ''),
        platform: text(platform?.name ?? ''),
        mode: text(platform?.mode ?? ''),
      }
    },

    async services(options: CallOptions = {}) {
      const { services } = await ask(machine.serviceList, {}, options)
      return services.slice(0, maxItems).map((s) => {
        const last = s.events?.events.at(-1)
        const started = s.events?.events.findLast(({ msg }) => msg === 'Starting service')
        return {
          id: text(s.id),
          /**
           * State of the service: Initialized, Preparing, Waiting, Starting, Running, Stopping,
           * Finished, Failed, Skipped.
           */
          state: text(s.state),
          /** Undefined if the service has no health check, or none has completed yet. */
          healthy: s.health === undefined || s.health.unknown ? undefined : s.health.healthy,
          message: messageText(s.health?.lastMessage ?? '', 1_000),
          /**
           * When Talos has last started the service, on the machine's clock; undefined if its
           * history doesn't say so. A new boot begins a new history.
           */
          startedAt: started?.ts === undefined ? undefined : timestampDate(started.ts),
          /** The last event of the service's history. */
          lastEvent:
            last === undefined
              ? undefined
              : {
                  message: messageText(last.msg, 1_000),
                  at: last.ts === undefined ? undefined : timestampDate(last.ts),
                },
        }
      })
    },

    /**
     * Sends the machine a configuration, byte for byte. `auto` reboots if necessary. With `dryRun`
     * nothing changes: `details` describes what would change, and Talos returns no warnings.
     * `tryForMs`: how long a configuration in mode `try` stays active, 1 min by default. Every call
     * in another mode, a dry run included, stops its timer and leaves it active until the next boot.
     * `details` contains all secrets, so it must not be shown. A refusal is `invalid_argument` with
     * Talos's reasons, one per line. Talos adds the difference if the machine would have to
     * restart; it is left out.
     */
    async applyConfiguration(
      yaml: string,
      how: { mode: ApplyMode; dryRun?: boolean; tryForMs?: number },
      options: CallOptions = {},
    ) {
      const mode =
        proto.ApplyConfigurationRequest_Mode[
          how.mode
            .replace('-', '_')
            .toUpperCase() as keyof typeof proto.ApplyConfigurationRequest_Mode
        ]
      const request = {
        data: Buffer.from(yaml),
        mode,
        dryRun: how.dryRun ?? false,
        ...(how.tryForMs !== undefined && { tryModeTimeout: durationFromMs(how.tryForMs) }),
      }
      const answer = await ask(machine.applyConfiguration, request, work(options)).catch(
        (error: unknown) => {
          throw withoutDifference(error)
        },
      )
      return {
        mode: enumWord(proto.ApplyConfigurationRequest_ModeSchema, answer.mode, 'auto').replace(
          '_',
          '-',
        ) as ApplyMode,
        warnings: answer.warnings.slice(0, maxItems).map((w) => messageText(w)),
        details: messageText(answer.modeDetails, 64 * 1024),
      }
    },

    /**
     * Makes the machine the first member of a new etcd. Call it once per cluster: a second call on
     * this machine fails with `already_exists`; on another control plane Talos would make a second
     * cluster. `recover`: from the snapshot that `etcdRecover` has uploaded.
     */
    async bootstrap({
      recover = false,
      ...options
    }: CallOptions & { recover?: boolean } = {}): Promise<void> {
      await ask(machine.bootstrap, { recoverEtcd: recover }, work(options))
    },

    async reboot(options: CallOptions & { mode?: 'default' | 'powercycle' | 'force' } = {}) {
      const mode =
        proto.RebootRequest_Mode[
          (options.mode ?? 'default').toUpperCase() as keyof typeof proto.RebootRequest_Mode
        ]
      const { actorId } = await ask(machine.reboot, { mode }, options)
      return { actorId: text(actorId) }
    },

    /**
     * Stops a service and starts it again. Talos allows this only for the kubelet and for services
     * of extensions.
     */
    async restartService(id: string, options: CallOptions = {}) {
      await ask(machine.serviceRestart, { id }, work(options))
    },

    async shutdown(options: CallOptions & { force?: boolean } = {}) {
      const { actorId } = await ask(machine.shutdown, { force: options.force ?? false }, options)
      return { actorId: text(actorId) }
    },

    /** Begins to wipe the machine. The response arrives before the wipe has finished. */
    async reset(how: ResetOptions, options: CallOptions = {}) {
      const request = {
        graceful: how.graceful,
        reboot: how.reboot,
        mode: proto.ResetRequest_WipeMode[
          (how.mode ?? 'all').toUpperCase() as keyof typeof proto.ResetRequest_WipeMode
        ],
        systemPartitionsToWipe: (how.systemPartitions ?? []).map((label) =>
          create(proto.ResetPartitionSpecSchema, { label, wipe: true }),
        ),
        userDisksToWipe: [...(how.userDisks ?? [])],
      }
      const { actorId } = await ask(machine.reset, request, work(options))
      return { actorId: text(actorId) }
    },

    /**
     * Wipes the signatures at both ends of one disk, which takes a second (Talos
     * `internal/app/storaged/server.go`). In maintenance any caller may do this. `device` is the
     * kernel's name without `/dev/`. Talos wipes a disk whatever its content, but refuses a mounted
     * disk with `failed_precondition`.
     */
    async wipeDisk(device: string, options: CallOptions = {}): Promise<void> {
      const devices = [{ device, skipVolumeCheck: true, skipSecondaryCheck: true }]
      await ask(storage.blockDeviceWipe, { devices }, work(options))
    },

    /**
     * The members of etcd, from the machine's own etcd, as talosctl asks. Otherwise Talos asks at
     * the control planes that the machine has discovered, and there are none before Kubernetes runs
     * if discovery is off. The machine doesn't answer while its etcd doesn't run, so read
     * `services` first.
     */
    async etcdMembers(options: CallOptions = {}) {
      const { members } = await ask(machine.etcdMemberList, { queryLocal: true }, options)
      return members.slice(0, maxItems).map((m) => ({
        /** Decimal text, because the 64-bit value doesn't fit in a JavaScript number. */
        id: m.id.toString(),
        hostname: text(m.hostname),
        peerUrls: m.peerUrls.slice(0, 16).map((u) => text(u)),
        clientUrls: m.clientUrls.slice(0, 16).map((u) => text(u)),
        learner: m.isLearner,
      }))
    },

    async etcdStatus(options: CallOptions = {}) {
      const status = (await ask(machine.etcdStatus, {}, options)).memberStatus
      if (status === undefined)
        throw new TalosError('invalid_data', 'server sent invalid data (etcd status)')
      return {
        memberId: status.memberId.toString(),
        /** null: etcd has no leader. */
        leaderId: status.leader === 0n ? null : status.leader.toString(),
        /** etcd's version, such as `3.6.12`. */
        version: text(status.protocolVersion),
        /** The version of its data, such as `3.6.0`; empty before etcd 3.6. */
        storageVersion: text(status.storageVersion),
        sizeBytes: count(status.dbSize, 'etcd size'),
        /** The part of `sizeBytes` that contains data. */
        inUseBytes: count(status.dbSizeInUse, 'etcd size in use'),
        /** The index of the last applied entry of the log, as decimal text. */
        appliedIndex: status.raftAppliedIndex.toString(),
        learner: status.isLearner,
        errors: status.errors.slice(0, maxItems).map((e) => text(e)),
      }
    },

    /** Alarms of the members by their ids: `NOSPACE`, `CORRUPT`. */
    async etcdAlarms(options: CallOptions = {}) {
      const { memberAlarms } = await ask(machine.etcdAlarmList, {}, options)
      return memberAlarms.slice(0, maxItems).map((a) => ({
        memberId: a.memberId.toString(),
        alarm: enumWord(proto.EtcdMemberAlarm_AlarmTypeSchema, a.alarm, 'none').toUpperCase(),
      }))
    },

    /** Clears all alarms of etcd. An alarm is raised again if its cause still exists. */
    async etcdDisarm(options: CallOptions = {}): Promise<void> {
      await ask(machine.etcdAlarmDisarm, {}, work(options))
    },

    /** Frees the unused space of this member's database. The member does not answer meanwhile. */
    async etcdDefragment(options: CallOptions = {}): Promise<void> {
      await ask(machine.etcdDefragment, {}, { deadlineMs: 170_000, ...options })
    },

    /**
     * Removes from etcd a member whose machine no longer runs. `id` is the member's id in the
     * result of `etcdMembers`.
     */
    async etcdRemoveMember(id: string, options: CallOptions = {}): Promise<void> {
      await ask(machine.etcdRemoveMemberByID, { memberId: BigInt(id) }, work(options))
    },

    /**
     * The whole database of etcd, as consecutive chunks of one file. Up to 8 GiB, etcd's maximum.
     */
    etcdSnapshot(options: CallOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
      return bytes(
        { deadlineMs: wholeFileMs, ...options },
        { followed: false, maxBytes: 8 * 1024 ** 3 },
        machine.etcdSnapshot,
        {},
      )
    },

    /**
     * Uploads a snapshot, from which a `bootstrap` with `recover` then starts the first member.
     * Refused with `failed_precondition` unless the machine waits for its bootstrap, so that etcd
     * has no data there.
     */
    async etcdRecover(file: AsyncIterable<Uint8Array>, options: CallOptions = {}): Promise<void> {
      async function* messages() {
        for await (const piece of file)
          for (let at = 0; at < piece.byteLength; at += uploadBytes)
            yield { bytes: piece.subarray(at, at + uploadBytes) }
      }
      one(
        (
          await upload(
            connection,
            { deadlineMs: wholeFileMs, ...options },
            machine.etcdRecover,
            messages(),
          )
        ).messages,
        machine.etcdRecover.name,
      )
    },

    /** An admin's kubeconfig, from a control plane. */
    async kubeconfig(options: CallOptions = {}): Promise<string> {
      const parts = await Array.fromAsync(
        bytes(options, { followed: false, maxBytes: 64 * 1024 }, machine.kubeconfig, {}),
      )
      return unpackKubeconfig(Buffer.concat(parts))
    },

    /**
     * Pulls an image and waits for it. `cri`: images of pods; `system`: those that Talos runs
     * itself, such as the kubelet. A machine that has the image does not pull it again.
     */
    async imagePull(
      namespace: 'cri' | 'system',
      reference: string,
      options: CallOptions = {},
    ): Promise<void> {
      await ask(
        machine.imagePull,
        { namespace: ContainerdNamespace[namespace === 'cri' ? 'NS_CRI' : 'NS_SYSTEM'], reference },
        work(options),
      )
    },

    /** The content of a small file, at most 64 KiB. Only for admins. */
    async readFile(path: string, options: CallOptions = {}): Promise<string> {
      const parts = await Array.fromAsync(
        bytes(options, { followed: false, maxBytes: 64 * 1024 }, machine.read, { path }),
      )
      return Buffer.concat(parts).toString('utf8')
    },

    /** A service's log. `tail`: number of past lines; all of them by default. */
    logs(
      how: { service: string; follow?: boolean; tail?: number },
      options: CallOptions = {},
    ): AsyncGenerator<Uint8Array, void, undefined> {
      const request = {
        namespace: 'system',
        id: how.service,
        follow: how.follow ?? false,
        tailLines: how.tail ?? -1,
      }
      return bytes(
        options,
        { followed: request.follow, maxBytes: 32 * 1024 ** 2 },
        machine.logs,
        request,
      )
    },

    /** The kernel's log, a message per line. */
    dmesg(
      how: { follow?: boolean; tail?: boolean } = {},
      options: CallOptions = {},
    ): AsyncGenerator<Uint8Array, void, undefined> {
      const request = { follow: how.follow ?? false, tail: how.tail ?? false }
      return bytes(
        options,
        { followed: request.follow, maxBytes: 32 * 1024 ** 2 },
        machine.dmesg,
        request,
      )
    },

    /**
     * The last `tail` past events (−1: all stored events), then new events as they happen. Ends
     * only with the connection.
     */
    async *events(
      how: { tail?: number; afterId?: string; actorId?: string } = {},
      options: CallOptions = {},
    ): AsyncGenerator<TalosEvent, void, undefined> {
      const request = {
        tailEvents: how.tail ?? 0,
        tailId: how.afterId ?? '',
        withActorId: how.actorId ?? '',
      }
      const bounds = { firstWithinMs: options.deadlineMs ?? connection.deadlineMs }
      for await (const message of stream(connection, options, bounds, machine.events, request)) {
        refuseError(message.metadata)
        const event = readEvent(message)
        if (event !== undefined) yield event
      }
    },

    ...stateCalls(connection),
    ...lifecycleCalls(connection),
    ...podCalls(connection),
    ...usageCalls(connection),
  }
}
