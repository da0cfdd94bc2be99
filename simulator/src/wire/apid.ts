import type { TLSSocket } from 'node:tls'
import { createServiceImplSpec } from '@connectrpc/connect'
import { MachineService } from '#talos/proto/gen/machine/machine_pb.ts'
import { ImageService, LifecycleService } from '#talos/proto/gen/machine/lifecycle_pb.ts'
import { LVMService, MDService } from '#talos/proto/gen/machine/volumes_pb.ts'
import { StorageService } from '#talos/proto/gen/storage/storage_pb.ts'
import { TimeService } from '#talos/proto/gen/time/time_pb.ts'
import { ClusterService } from '#talos/proto/gen/cluster/cluster_pb.ts'
import { GetResponseSchema, ListResponseSchema, State } from '#talos/proto/gen/cosi/state_pb.ts'
import type { ApiMode } from '../machine/active.ts'
import type { Machine } from '../machine/machine.ts'
import { TAKES } from '../machine/durations.ts'
import { encodeResource } from '../resources/encoded.ts'
import { issue, type ServerIdentity } from './certificates.ts'
import { grpcServer } from './grpc.ts'
import { guard } from './guard.ts'
import { maintenanceIdentity } from './maintenance-identity.ts'
import { rolesOf } from './peer.ts'
import type { Speaker } from './port.ts'
import { changeCalls } from './change-calls.ts'
import { etcdCalls } from './etcd-calls.ts'
import { observeCalls } from './observe-calls.ts'
import { runtimeCalls } from './runtime-calls.ts'
import { imageCalls, imageService } from './image-calls.ts'
import { lifecycleService, storageService, timeService } from './storage-service.ts'
import { lvmService, mdService } from './volume-services.ts'
import { clusterService } from './cluster-service.ts'
import { cosiState } from './cosi.ts'
import { askTrustd } from './trustd.ts'

const DAY = 24 * 3_600_000

/** Accepted authorities of the active configuration: `machine.ca` and `machine.acceptedCAs`. */
const authoritiesOf = (machine: Machine): string[] => {
  const node = machine.config?.node
  return node ? [...(node.talosCa ? [node.talosCa.crt] : []), ...node.acceptedCas] : []
}

/** Authorities that were in effect when a machine's API was last opened. */
const trustedBy = new WeakMap<Machine, string>()

/** The API of all machines. The connection determines which machine was called. */
const serve = grpcServer(
  [
    createServiceImplSpec<typeof MachineService>(MachineService, {
      ...observeCalls,
      ...runtimeCalls,
      ...changeCalls,
      ...etcdCalls,
      ...imageCalls,
    }),
    createServiceImplSpec<typeof LifecycleService>(LifecycleService, lifecycleService),
    createServiceImplSpec<typeof ImageService>(ImageService, imageService),
    createServiceImplSpec<typeof LVMService>(LVMService, lvmService),
    createServiceImplSpec<typeof MDService>(MDService, mdService),
    createServiceImplSpec<typeof StorageService>(StorageService, storageService),
    createServiceImplSpec<typeof TimeService>(TimeService, timeService),
    createServiceImplSpec<typeof ClusterService>(ClusterService, clusterService),
    createServiceImplSpec<typeof State>(State, cosiState),
  ],
  guard,
  new Map(
    [GetResponseSchema, ListResponseSchema].map(({ typeName }) => [typeName, encodeResource]),
  ),
)

const speaker = (machine: Machine, mode: ApiMode, authorities: string[]): Speaker => {
  const { identity } = machine
  if (!identity) throw new Error('the machine has no certificate')
  const tls = {
    cert: identity.crt,
    key: identity.key,
    ...(mode === 'secured' && { requestCert: true, rejectUnauthorized: true, ca: authorities }),
  }
  return serve(tls, (session) => {
    const roles =
      mode === 'maintenance' ? ['os:reader'] : rolesOf(session.socket as TLSSocket, machine.now())
    return roles && { machine, mode, roles, session }
  })
}

/**
 * The API of a machine without a complete configuration. Clients need no certificate. A boot makes
 * one certificate, as in Talos, and one TLS server for it: with a new TLS server for each contact,
 * making them took two fifths of the simulator's processor time.
 */
export const openMaintenance = async (machine: Machine): Promise<void> => {
  machine.mode = 'maintenance'
  machine.identity = maintenanceIdentity(machine.ownNames, machine.now())
  const served = speaker(machine, 'maintenance', [])
  await machine.ports.apid.open(() => served)
}

/**
 * SHA-256 in base64 of the public key of the API's current certificate; null if the API has no
 * certificate.
 */
export const currentFingerprint = (machine: Machine): string | null =>
  machine.identity?.fingerprint ?? null

/**
 * The API of a configured machine. A control plane signs its own certificate. A worker has no API
 * until trustd on a control plane signs its certificate (Talos:
 * internal/app/machined/pkg/controllers/secrets/api.go).
 */
export const openSecured = async (machine: Machine, signal: AbortSignal): Promise<void> => {
  machine.mode = 'dark'
  machine.identity = null
  machine.ports.apid.close({ gently: true })
  machine.service('apid', 'Waiting', 'Waiting for api certificates')
  const node = machine.config!.node!
  if (!machine.hasAddress) {
    machine.journal.kernel(
      `[talos] removed address ${machine.plan.address}/16 from ${machine.managementLink.name}: the configuration doesn't ask for it`,
    )
    return
  }
  await machine.answerThere()
  const identity =
    node.role === 'controlplane' ? ownIdentity(machine) : await identityFromTrustd(machine, signal)
  if (signal.aborted) return
  machine.identity = identity
  machine.mode = 'secured'
  trustedBy.set(machine, subjectOf(machine))
  await machine.ports.apid.open(() => speaker(machine, 'secured', authoritiesOf(machine)))
  machine.service('apid', 'Starting', 'Starting service')
  machine.service('apid', 'Running', 'Health check successful', true)
}

/** Renews the certificate for new connections, for instance after a change of names. */
export const renewSecured = async (machine: Machine): Promise<void> => {
  if (machine.mode !== 'secured' || !machine.config?.node) return
  const { bootId } = machine
  const { role } = machine.config.node
  const trusted = subjectOf(machine)
  // A worker asks trustd for another certificate only if the authorities, its names or its
  // addresses changed (secrets.APIController).
  if (role !== 'controlplane' && trustedBy.get(machine) === trusted) return
  trustedBy.set(machine, trusted)
  if (role !== 'controlplane') {
    void renewFromTrustd(machine, bootId, trusted)
    return
  }
  const identity = ownIdentity(machine)
  // The machine may have restarted in the meantime, even into maintenance.
  if (machine.bootId !== bootId || machine.mode !== 'secured') return
  machine.identity = identity
  machine.ports.apid.renew()
}

/** What the certificate of a machine depends on. */
const subjectOf = (machine: Machine): string =>
  [...authoritiesOf(machine), ...machine.ownNames].join()

const renewFromTrustd = async (
  machine: Machine,
  bootId: string,
  trusted: string,
): Promise<void> => {
  // Until trustd has signed, new connections get the old certificate but are verified with the new
  // authorities, as in Talos.
  const identity = await identityFromTrustd(machine, AbortSignal.timeout(60_000)).catch(() => null)
  if (
    identity === null ||
    machine.bootId !== bootId ||
    machine.mode !== 'secured' ||
    trustedBy.get(machine) !== trusted
  )
    return
  machine.identity = identity
  machine.ports.apid.renew()
}

const ownIdentity = (machine: Machine): ServerIdentity =>
  issue(machine.config!.node!.talosCa!, {
    commonName: machine.hostname,
    names: machine.ownNames,
    usages: ['serverAuth'],
    lifetimeMs: DAY,
    now: machine.now(),
  })

const identityFromTrustd = async (
  machine: Machine,
  signal: AbortSignal,
): Promise<ServerIdentity> => {
  for (;;) {
    const identity = await askTrustd(machine, signal)
    if (identity) return identity
    await machine.takes(TAKES.trustdRetry, signal)
  }
}
