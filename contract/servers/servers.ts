/** Calls about servers, and their rules. */
import * as z from 'zod/mini'
import type { Cluster } from '../clusters/clusters.ts'
import { type MachineCommand, machineCommandKinds, machineCommands } from './machine-commands.ts'
import { withPast } from '../history/past.ts'
import { labelling } from '../labels/labels.ts'
import { nameOf } from '../names.ts'
import { callsOf } from '../object-calls.ts'
import { operation, type Words } from '../operation.ts'
import { begun } from '../operations.ts'
import { time, wholeInQuery } from '../page.ts'
import { all, forNow, no, type Verdict, yes } from '../rule.ts'
import { counted } from '../words.ts'
import { checksForNow } from './eligibility.ts'
import { NewQuarantine } from './quarantine.ts'
import { Server, type ServerStatus } from './server.ts'

export * from './server.ts'

export const serverName = nameOf('Server')

const calls = callsOf(
  'server',
  '/v1/nodes',
  { read: 'servers:read', write: 'servers:write' },
  Server,
)
export const serverGet = withPast(calls.get('One server with its hardware.'))

/** Maximum number of addresses of a CIDR: a /22. */
export const addressesAtOnce = 1024
/**
 * Maximum number of entries of the list of addresses. Every list in a request body has this limit.
 */
export const addressesListed = 1000

export const serverAdd = operation('serverAdd', 'POST /v1/nodes', 'servers:write', {
  summary:
    'Probe addresses for servers in maintenance mode and register those that answer: one result per address.',
  body: z
    .strictObject({
      addresses: z.optional(
        z
          .array(z.string().check(z.trim(), z.maxLength(64)))
          .check(
            z.minLength(1, 'Enter at least one address'),
            z.maxLength(
              addressesListed,
              `At most ${counted(addressesListed, 'address', 'addresses')} at once`,
            ),
          ),
      ),
      cidr: z.optional(z.string().check(z.trim(), z.maxLength(64))),
      datacenter_id: z.optional(z.nullable(z.uuid())),
    })
    .check(
      z.refine((b) => (b.addresses === undefined) !== (b.cidr === undefined), {
        error: 'Give either addresses or a CIDR',
        path: ['addresses'],
      }),
    ),
  answer: begun,
  errors: ['dial_refused', 'not_found'],
})

export const serverUpdate = calls.update({
  summary:
    'Rename a server, move it to another datacenter, change its labels and notes, or set or lift its quarantine.',
  body: z.strictObject({
    name: z.optional(serverName),
    datacenter_id: z.optional(z.nullable(z.uuid())),
    ...labelling,
    quarantine: z.optional(z.nullable(NewQuarantine)),
  }),
  errors: ['name_taken', 'name_fixed', 'server_in_cluster', 'transition_refused', 'stale'],
})

export const serverConfirm = operation(
  'serverConfirm',
  'POST /v1/nodes/{id}/confirm',
  'servers:write',
  {
    summary:
      'Confirm that the hardware shown belongs to this machine. Also ends an identity alarm.',
    body: z.strictObject({
      uuid: z.string().check(z.maxLength(64)),
      serial: z.string().check(z.maxLength(256)),
    }),
    answer: Server,
    errors: ['identity_changed', 'conflict', 'stale'],
  },
)

export const serverRemove = operation('serverRemove', 'DELETE /v1/nodes/{id}', 'servers:write', {
  summary:
    'Remove a server that is in no cluster; with `force`, also a server of a cluster, if the server does not answer. Wipes nothing and keeps the history. The operation is already done when the response arrives.',
  query: z.strictObject({ force: z.optional(z.enum(['true', 'false'])) }),
  answer: begun,
  errors: [
    'server_in_cluster',
    'operation_running',
    'transition_refused',
    'stale',
    'held_by_files',
  ],
})

const commandCall = (kind: MachineCommand) =>
  operation(kind, `POST /v1/nodes/{id}/${machineCommands[kind].verb}`, 'servers:write', {
    summary: machineCommands[kind].summary,
    answer: begun,
    errors: ['server_not_in_cluster', 'operation_running'],
  })
/** The calls of the machine commands. */
export const serverCommands = Object.fromEntries(
  machineCommandKinds.map((kind) => [kind, commandCall(kind)]),
) as Record<MachineCommand, ReturnType<typeof commandCall>>
/**
 * Wipes STATE, EPHEMERAL and, unless they are to be kept, the workload disks. Talos stays
 * installed.
 */
export const serverReset = operation('serverReset', 'POST /v1/nodes/{id}/reset', 'servers:write', {
  summary:
    'Take a server out of its cluster and wipe it: it comes back in maintenance mode, Talos still installed.',
  body: z.strictObject({ keep_workload_disks: z._default(z.boolean(), false) }),
  answer: begun,
  errors: [
    'server_not_in_cluster',
    'operation_running',
    'transition_refused',
    'stale',
    'held_by_files',
  ],
})

export const serverTalosconfig = operation(
  'serverTalosconfig',
  'GET /v1/nodes/{id}/talosconfig',
  'secrets:read',
  {
    summary: 'A talosconfig for this server, created for this download and valid for 24 h.',
    proof: true,
    answer: z.string(),
    media: 'application/yaml',
    errors: ['server_not_in_cluster'],
  },
)
export const serverConfig = operation('serverConfig', 'GET /v1/nodes/{id}/config', 'servers:read', {
  summary: 'The merged machine configuration, secrets masked.',
  answer: z.string(),
  media: 'application/yaml',
})
export const serverLogs = operation('serverLogs', 'GET /v1/nodes/{id}/logs', 'servers:read', {
  summary: "A service's log; with `follow`, streamed until the client disconnects.",
  query: z.strictObject({
    service: z._default(
      z.string().check(z.regex(/^[a-z0-9][a-z0-9-]{0,40}$/, 'Unknown service')),
      'machined',
    ),
    follow: z.optional(z.enum(['true', 'false'])),
    tail: z._default(wholeInQuery(1, 2000), 200),
  }),
  answer: z.string(),
  media: 'text/plain',
  errors: ['server_unreachable', 'server_not_in_cluster', 'dial_refused'],
})

export const ServerEvent = z.object({
  id: z.string(),
  /** When it happened; of one that repeats, the last time. */
  at: z.nullable(time),
  /** How often it happened, if it repeated within an hour each time. */
  count: z.int(),
  /** When it happened first, if it repeats. */
  first_at: z.nullable(time),
  /** Source of the event: the machine itself (Talos) or Steelyard. */
  source: z.enum(['talos', 'steelyard']),
  type: z.string(),
  message: z.string(),
  by: z.nullable(z.string()),
  /** The operation that the event started. */
  operation_id: z.nullable(z.uuid()),
})
export const serverEvents = operation('serverEvents', 'GET /v1/nodes/{id}/events', 'servers:read', {
  summary: "Events of a server: Steelyard's, and Talos's own while the server answers.",
  answer: z.object({
    items: z.array(ServerEvent),
    talos: z.object({ ok: z.boolean(), reason: z.nullable(z.string()) }),
  }),
})
/** The Talos services of a server, for the log view's list. */
export const serverServices = operation(
  'serverServices',
  'GET /v1/nodes/{id}/services',
  'servers:read',
  {
    summary: 'Talos services of a server and their state, read from the server now.',
    answer: z.object({
      items: z.array(
        z.object({
          id: z.string(),
          state: z.string(),
          healthy: z.nullable(z.boolean()),
          message: z.nullable(z.string()),
        }),
      ),
    }),
    errors: ['server_unreachable', 'server_not_in_cluster', 'dial_refused'],
  },
)

/** Whether a server is a box that only its BMC has told of: nobody has booted it yet. */
export const isBareBox = ({ talos }: { readonly talos: Pick<Server['talos'], 'stage'> }): boolean =>
  talos.stage === 'not_booted'

/** In maintenance mode Talos accepts only reads, a configuration and a disk wipe. */
export const onlyInCluster = 'Talos allows this only once the server is in a cluster'
const removed = 'The server was removed'

type Known = Pick<Server, 'status' | 'cluster'>

export function canRenameServer(s: Known): Verdict {
  if (s.status === 'deleted') return no(removed)
  return s.cluster ? no('The name is fixed while the server is in a cluster') : yes
}

export function canMoveServer(s: Known): Verdict {
  if (s.status === 'deleted') return no(removed)
  return s.cluster ? no('A server stays in its datacenter while it is in a cluster') : yes
}

export const canLabelServer = (s: Pick<Server, 'status'>): Verdict =>
  s.status === 'deleted' ? no(removed) : yes

export function canRemoveServer(s: Known & Partial<Pick<Server, 'operation_id'>>): Verdict {
  if (s.status === 'deleted') return no('The server was removed already')
  if (s.cluster) return no(`Take the server out of the cluster ${s.cluster.name} first`)
  return s.operation_id ? forNow('An operation on the server has not ended') : yes
}

/**
 * The server's cluster, if available to the caller. Without it, the rules that depend on the
 * cluster are checked only by the API.
 */
type Around = Pick<Cluster, 'name' | 'status' | 'servers' | 'endpoint' | 'virtual_ip'>

/**
 * Whether a server may leave its cluster: the cluster must be ready or degraded, and at least one
 * control plane must remain.
 */
function canLeave(
  s: Pick<Server, 'id' | 'name'>,
  cluster: Pick<Cluster, 'name' | 'status' | 'servers'>,
): Verdict {
  if (cluster.status === 'deleting')
    return no(
      `The cluster ${cluster.name} is being deleted, which also removes its servers from it`,
    )
  if (cluster.status !== 'ready' && cluster.status !== 'degraded')
    return forNow(
      `The cluster ${cluster.name} is still being created: replace the server in the cluster, or cancel the creation`,
    )
  const controlPlanes = cluster.servers.filter((m) => m.role === 'control_plane')
  return controlPlanes.length === 1 && controlPlanes[0]!.node_id === s.id
    ? no(`${s.name} is the only control plane of ${cluster.name}: delete the cluster instead`)
    : yes
}

const hostOf = (endpoint: string) => new URL(endpoint).hostname.replace(/^\[|\]$/g, '')

/**
 * Reset: the server leaves its cluster and is wiped. This rule doesn't check that etcd keeps its
 * quorum: the API asks the control planes for that, and a refusal says how many etcd members are
 * healthy and needed.
 */
export function canResetServer(
  s: Known &
    Pick<Server, 'id' | 'name' | 'operation_id' | 'nodeAddresses'> & {
      talos: Pick<Server['talos'], 'reachable'>
    },
  cluster?: Around,
): Verdict {
  if (s.status === 'deleted') return no(removed)
  if (!s.cluster) return no(onlyInCluster)
  if (s.operation_id) return forNow('An operation on the server has not ended')
  if (cluster) {
    const left = canLeave(s, cluster)
    if (!left.ok) return left
    if (!cluster.virtual_ip && s.nodeAddresses.includes(hostOf(cluster.endpoint)))
      return no(
        `${cluster.endpoint}, the API endpoint of the cluster ${cluster.name}, is the address of ${s.name}: if this server leaves, nobody can reach that endpoint`,
      )
  }
  if (s.status !== 'ready') return canControlServer(s)
  return s.talos.reachable === false
    ? forNow(
        `${s.name} does not answer, so it can't be reset: bring it back, or remove it by force`,
      )
    : yes
}

/**
 * Removal by force: Steelyard forgets the server without contacting it and ends its operation.
 * Outside of a cluster: a normal removal.
 */
export function canForceRemoveServer(
  s: Known &
    Pick<Server, 'id' | 'name' | 'operation_id'> & { talos: Pick<Server['talos'], 'reachable'> },
  cluster?: Pick<Cluster, 'name' | 'status' | 'servers'>,
): Verdict {
  if (!s.cluster || s.status === 'deleted') return canRemoveServer(s)
  if (s.talos.reachable !== false) return no(`${s.name} answers: reset it instead`)
  return cluster ? canLeave(s, cluster) : yes
}

/** Whether a server can be rebooted, shut down, or accessed with a talosconfig. */
export function canControlServer(s: Known): Verdict {
  if (s.status === 'deleted') return no(removed)
  if (!s.cluster) return no(onlyInCluster)
  return s.status === 'ready'
    ? yes
    : forNow(`The server does not run the configuration of ${s.cluster.name} yet`)
}

/**
 * Whether a command, such as a reboot, is offered. A call is accepted for a silent server as well:
 * the operation asks the machine itself, which may answer again.
 */
export function canCommandServer(
  s: Known & Pick<Server, 'name'> & { talos: Pick<Server['talos'], 'reachable'> },
): Verdict {
  const control = canControlServer(s)
  if (!control.ok) return control
  return s.talos.reachable === false
    ? forNow(
        `${s.name} does not answer, so no command reaches it: switch it off and on at its place`,
      )
    : yes
}

/** Whether no operation runs on a server. */
export const isIdle = (s: Pick<Server, 'operation_id'>): Verdict =>
  s.operation_id === null ? yes : forNow('An operation on the server has not ended')

type Identified = { readonly identity: Pick<Server['identity'], 'state' | 'seen'> }

/**
 * The machine that has proved nothing and says that it is this server, or answers at the address of
 * this member of a cluster. The server stays in use. Null if there is none.
 */
export const claimedBy = ({ identity }: Identified): { uuid: string; serial: string } | null =>
  identity.state === 'changed' ? null : (identity.seen ?? null)

/** Whether a user has to decide which machine the server is. */
export const isInDoubt = (s: Identified): boolean =>
  s.identity.state !== 'confirmed' || claimedBy(s) !== null

export function canConfirmServer(s: Pick<Server, 'status'> & Identified): Verdict {
  if (s.status === 'deleted') return no(removed)
  return isInDoubt(s) ? yes : no('The hardware is confirmed already')
}

const minorOf = (version: string): number => {
  const match = /^v?(\d+)\.(\d+)/.exec(version)
  return match ? Number(match[1]) * 1000 + Number(match[2]) : 0
}

/**
 * Talos reads configurations of its own and of older minor versions, so the machine must run at
 * least the cluster's minor version.
 */
export const canRunTalos = (runs: string, wanted: string): Verdict =>
  minorOf(runs) >= minorOf(wanted)
    ? yes
    : no(`Talos ${runs} runs here, which is older than the cluster's ${wanted}: boot a newer image`)

/** An installed Talos is kept: the server joins with that version and on that disk (`/dev/sda`). */
export function canKeepInstalled(
  installed: Server['talos']['installed'],
  version: string,
  disk?: string,
): Verdict {
  if (installed === null) return yes
  if (version !== installed.version) return no(installedElse(installed.version))
  return disk === undefined || disk === installed.disk
    ? yes
    : no(`Talos is installed on ${installed.disk}; choose that disk, not ${disk}`)
}
/** Why a machine on which this Talos version is installed can't join with another version. */
export const installedElse = (version: string): string =>
  `Talos ${version} is installed here; boot it with the wanted image with \`talos.experimental.wipe=system\``

/**
 * Whether a server can join; if not, the reason of the first failed check. With `talosVersion`, the
 * running and the installed Talos are checked too.
 */
export function canJoinCluster(
  s: Pick<Server, 'status' | 'eligibility'> & {
    talos: Pick<Server['talos'], 'version' | 'installed'>
  },
  talosVersion?: string,
): Verdict {
  if (s.status === 'deleted') return no(removed)
  const failed = s.eligibility.filter((e) => !e.ok)
  const first = failed.find((e) => !checksForNow.has(e.check)) ?? failed[0]
  if (first) {
    const reason = first.reason ?? `The check ${first.check} failed`
    return checksForNow.has(first.check) ? forNow(reason) : no(reason)
  }
  if (talosVersion === undefined || s.talos.version === null) return yes
  return all(
    canRunTalos(s.talos.version, talosVersion),
    canKeepInstalled(s.talos.installed, talosVersion),
  )
}

/**
 * Whether a server's status may change from `from` to `to`. The status of a deleted server never
 * changes.
 */
export const canBecome = (from: ServerStatus, to: ServerStatus): Verdict =>
  (from === 'maintenance' && to !== 'maintenance') || (from === 'ready' && to !== 'ready')
    ? yes
    : no(`A server that is ${from} can't become ${to}`)

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    ServerEvent: [ServerEvent, 'Something that happened to a server.'],
  },
  fields: {
    addresses: 'IP addresses to contact.',
    'serverAdd.cidr': 'A network of at most 1024 addresses (an IPv4 /22), instead of `addresses`.',
    fields: '`list`: only the fields that lists show.',
    'ServerEvent.at': 'When it happened; of one that repeats, the last time.',
    'ServerEvent.count':
      'How often it happened. Events that repeat within an hour each time are one event.',
    'ServerEvent.first_at': 'When an event that repeats happened first.',
    follow: 'True: stream new lines until the client disconnects.',
    'serverUpdate.quarantine':
      'Keeps the server out of clusters; it is still contacted. Null lifts the quarantine.',
    'serverUpdate.reason': 'Why the server is not to be used.',
    'serverRemove.force':
      'True: also remove a server of a cluster, if the server does not answer. The cluster then forgets the server.',
    keep_workload_disks:
      'True: do not wipe the workload disks that were named when the server joined its cluster.',
    service: 'Talos service whose log is wanted.',
    tail: 'Number of lines to return, counted from the end of the log.',
    uuid: 'System UUID of the machine, as an earlier response returned it.',
  },
  bodies: {
    serverAdd: {
      addresses: ['10.1.2.11', '10.1.2.12'],
      datacenter_id: '00000000-0000-4000-8000-000000000001',
    },
    serverConfirm: { uuid: '4c4c4544-0046-4e10-8051-b4c04f573133', serial: 'S987168X4391365' },
    serverReset: { keep_workload_disks: true },
    serverUpdate: { name: 'calm-heron-204' },
  },
}
