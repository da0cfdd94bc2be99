/**
 * A server as returned by the API, and the list of servers. The API's paths call servers nodes.
 * `status` is Steelyard's view (free, in a cluster, removed); `stage` is Talos's name for what the
 * machine is doing; `reachable` says whether the server answers. The three are independent.
 */
import type { Words } from '../operation.ts'
import * as z from 'zod/mini'
import { powerStates } from '../bmcs/state.ts'
import { Said, WorstFinding } from '../findings/findings.ts'
import { serverFindingTitles } from '../findings/kinds.ts'
import { withPast } from '../history/past.ts'
import { labelFilter, ShownLabels } from '../labels/filter.ts'
import { list, listOperation } from '../list.ts'
import { ccStatuses } from '../marketplace/cc-statuses.ts'
import { variantOf } from '../operation.ts'
import { changed, pageOf, time } from '../page.ts'
import { Placement, placementSaid } from '../racks/placement.ts'
import { Eligibility, Quarantine } from './eligibility.ts'
import { Resources } from './resources.ts'
import { LastChange } from './silence.ts'

export * from './eligibility.ts'
export * from './resources.ts'

export const serverStatuses = ['ready', 'maintenance', 'deleted'] as const
export const ServerStatus = z.enum(serverStatuses)
export type ServerStatus = (typeof serverStatuses)[number]

export const nodeTypes = ['unknown', 'control_plane', 'worker'] as const
export const NodeType = z.enum(nodeTypes)
export type NodeType = (typeof nodeTypes)[number]

/** Talos's MachineStatus stages (machine.MachineStatusEvent), and `unknown`. */
const stages = [
  'unknown',
  'booting',
  'installing',
  'maintenance',
  'running',
  'rebooting',
  'shutting_down',
  'resetting',
  'upgrading',
  /** Steelyard's word for a box that only its BMC has told of: nobody has booted it yet. */
  'not_booted',
] as const
export type Stage = (typeof stages)[number]
/** What a machine at a stage is, after "is": "The server is in maintenance mode". */
export const stageSaid = (stage: string): string =>
  stage === 'maintenance'
    ? 'in maintenance mode'
    : stage === 'unknown'
      ? 'at an unknown stage'
      : stage === 'not_booted'
        ? 'not booted yet'
        : stage.replaceAll('_', ' ')

/** A change of the server's configuration outside of Steelyard. */
const ServerDrift = z.object({
  /** When the change was first seen. */
  since: time,
  /**
   * Digest of the configuration that was seen. A decision contains the digest, so that it applies
   * only to the configuration that the user has seen.
   */
  seen: z.string(),
})

/** Why a server failed in its cluster: to join, or to leave. A user decides what happens next. */
const ServerFailure = z.object({ reason: z.nullable(z.string()), since: time })

/** Why the newest configuration of a server has not been sent to it yet. */
export const PendingConfiguration = z.object({
  reason: z.string(),
  since: time,
  /** The servers that must be well first. */
  waits_for: z.array(z.object({ id: z.uuid(), name: z.string() })),
})
export type PendingConfiguration = z.infer<typeof PendingConfiguration>

/** A change of the server's network that Talos undoes unless Steelyard confirms it in time. */
const ServerTrial = z.object({
  /** `undone`: the server has its former configuration; the change is saved, but not applied. */
  state: z.enum(['running', 'undone']),
  /** A sentence. */
  reason: z.string(),
  since: time,
})

/** Fields that a search matches, beside the name. */
const searchedParts = [
  'address',
  'serial',
  'id',
  'uuid',
  'cluster',
  'mac',
  'wwid',
  'model',
] as const
export type SearchedPart = (typeof searchedParts)[number]
const partWords: Readonly<Record<SearchedPart, string>> = {
  address: 'Address',
  serial: 'Serial',
  id: 'Id',
  uuid: 'UUID',
  cluster: 'Cluster',
  mac: 'MAC',
  wwid: 'WWID',
  model: 'Model',
}
/** Why a search found a server: "MAC b8:ce:f6:aa:7a:46". Null if its name matched. */
export const matchedText = ({ matched }: Pick<ListedServer, 'matched'>): string | null =>
  matched ? `${partWords[matched.what]} ${matched.value}` : null

const identityStates = ['announced', 'unconfirmed', 'confirmed', 'changed'] as const

const shownOfTalos = {
  version: z.nullable(z.string()),
  stage: z.enum(stages),
  /** null until the first contact. */
  reachable: z.nullable(z.boolean()),
  last_contact_at: z.nullable(time),
  unreachable_since: z.nullable(time),
  /** Why the last contact failed, or what the machine reports as missing. */
  reason: z.nullable(z.string()),
  /** The change after which the server has fallen silent, within five minutes; `reason` names it. */
  silent_after: z.optional(z.nullable(LastChange)),
}
const shownOfIdentity = {
  state: z.enum(identityStates),
  uuid: z.nullable(z.string()),
  serial: z.nullable(z.string()),
  /**
   * In state `changed`: the other hardware that answered at the server's address, which the user
   * may confirm instead. In other states: a machine in maintenance mode that says that it is this
   * server, or that answers at the address of this member of a cluster. It has proved nothing, so
   * the server stays in use; a user ends the alarm by confirming the known hardware.
   */
  seen: z.optional(z.nullable(z.object({ uuid: z.string(), serial: z.string() }))),
}

/** The fields that lists show. With `fields=list` a list returns only these. */
export const ListedServer = z.object({
  id: z.uuid(),
  name: z.string(),
  status: ServerStatus,
  type: NodeType,
  nodeAddresses: z.array(z.string()),
  datacenter: z.nullable(z.object({ id: z.uuid(), code: z.string() })),
  /** Where the server stands, as users have recorded it; null if they have not. */
  placement: z.optional(z.nullable(Placement)),
  cluster: z.nullable(z.object({ id: z.uuid(), name: z.string() })),
  /** The newest commitment of its capacity that was not removed. */
  capacity_commitment: z.nullable(z.object({ id: z.uuid(), status: z.enum(ccStatuses) })),
  /**
   * The server's Kubernetes node as last seen; null outside of a cluster, and until the node was
   * seen.
   */
  kubernetes: z.nullable(
    z.object({
      /** null: the Kubernetes API does not answer, and `reason` explains why. */
      ready: z.nullable(z.boolean()),
      reason: z.nullable(z.string()),
      /** Time since which the state exists. */
      since: time,
    }),
  ),
  /**
   * Maker and model, and sums over the hardware data; unknown values are null. `disk_bytes`: size
   * of all disks together.
   */
  hardware: z.object({
    maker: z.nullable(z.string()),
    model: z.nullable(z.string()),
    cores: z.nullable(z.number()),
    memory_bytes: z.nullable(z.number()),
    disk_bytes: z.nullable(z.number()),
  }),
  /**
   * Why the server can't join a cluster now: the reason of the first failed check. Null if it can
   * join.
   */
  ineligible: z.nullable(z.string()),
  /**
   * Set while the server's configuration differs from the one sent by Steelyard and no user has
   * decided what to do; see `serverDrift`.
   */
  drift: z.optional(z.nullable(ServerDrift)),
  /** Set while a saved patch waits: another control plane is not well. */
  pending: z.optional(z.nullable(PendingConfiguration)),
  /** Set while a change of the server's network is on trial, and after it was undone. */
  trial: z.optional(z.nullable(ServerTrial)),
  /** Set after the server failed in its cluster, until that is tried again. */
  failure: z.optional(z.nullable(ServerFailure)),
  /** The word for the server, from its own findings and its status. */
  said: z.optional(Said),
  /**
   * The worst open finding about the server, which may be one about several servers of its
   * datacenter; null if nothing is wrong.
   */
  finding: z.optional(z.nullable(WorstFinding)),
  /**
   * The cluster whose configuration the machine may still run, although the cluster has let it go
   * without a reset.
   */
  left_cluster: z.optional(z.nullable(z.string())),
  /** Labels, by key. */
  labels: z.optional(ShownLabels),
  /** Why the server is not to be used; null if it may be. */
  quarantine: z.optional(z.nullable(Quarantine)),
  /** Its power, as its BMC has told it; null if it has no BMC. */
  power: z.optional(
    z.nullable(
      z.object({
        bmc_id: z.uuid(),
        state: z.enum(powerStates),
        /** Since when it is so, as far as Steelyard has seen it; null if it was never read. */
        since: z.nullable(time),
      }),
    ),
  ),
  /** The operation that runs on the server, if any. */
  operation_id: z.nullable(z.uuid()),
  created_at: time,
  talos: z.object(shownOfTalos),
  identity: z.object(shownOfIdentity),
  /** In search results: the field that matched, if not the name. */
  matched: z.optional(z.object({ what: z.enum(searchedParts), value: z.string() })),
})
export type ListedServer = z.infer<typeof ListedServer>

export const Server = z.object({
  ...ListedServer.shape,
  talos: z.object({
    ...shownOfTalos,
    schematic: z.nullable(z.string()),
    /**
     * The installed Talos. The server can join a cluster only with this version and on this disk.
     * Null if no Talos is installed or if that is unknown.
     */
    installed: z.nullable(z.object({ version: z.string(), disk: z.string() })),
  }),
  identity: z.object({
    ...shownOfIdentity,
    /**
     * SHA-256 of the maintenance certificate's public key in base64, as the server's console prints
     * it.
     */
    fingerprint: z.nullable(z.string()),
    since: time,
    /**
     * A note about the identity, such as other hardware at this address, or that this machine was a
     * server that has been removed.
     */
    note: z.nullable(z.string()),
  }),
  resources: Resources,
  eligibility: z.array(Eligibility),
  /** Text for people; empty if there is none. */
  notes: z.optional(z.string()),
  ...changed,
})
export type Server = z.infer<typeof Server>

/** What servers are grouped by, beside labels. */
export const serverGroupings = ['cluster', 'rack', 'datacenter', 'finding'] as const

const servers = list<ListedServer>()({
  nouns: ['server', 'servers'],
  columns: {
    name: { label: 'Name', sort: true, value: (s: ListedServer) => s.name },
    status: { label: 'Status', sort: true },
    cluster: { label: 'Cluster', sort: true, value: (s: ListedServer) => s.cluster?.name ?? null },
    hardware: { label: 'Hardware', sort: true },
    datacenter: {
      label: 'Datacenter',
      sort: true,
      value: (s: ListedServer) => s.datacenter?.code ?? null,
    },
    rack: {
      label: 'Rack',
      sort: true,
      hidden: true,
      value: (s: ListedServer) => (s.placement ? placementSaid(s.placement) : null),
    },
    labels: { label: 'Labels', hidden: true },
    cc: {
      label: 'CC',
      kind: 'word',
      sort: true,
      value: (s: ListedServer) => s.capacity_commitment?.status ?? null,
    },
    contact: {
      label: 'Last Talos connection',
      help: "Time of the last answer from this server's Talos API",
      sort: true,
    },
    type: {
      label: 'Node type',
      kind: 'word',
      sort: true,
      hidden: true,
      value: (s: ListedServer) => s.type,
    },
    stage: {
      label: 'Stage',
      help: 'Stage that Talos reports',
      kind: 'word',
      sort: true,
      hidden: true,
      value: (s: ListedServer) => s.talos.stage,
    },
    power: {
      label: 'Power',
      help: 'Power as the BMC of the server tells it',
      kind: 'word',
      sort: true,
      hidden: true,
      value: (s: ListedServer) => s.power?.state ?? null,
    },
    maker: {
      label: 'Maker',
      sort: true,
      hidden: true,
      value: (s: ListedServer) => s.hardware.maker,
    },
    model: {
      label: 'Model',
      sort: true,
      hidden: true,
      value: (s: ListedServer) => s.hardware.model,
    },
    serial: {
      label: 'Serial',
      kind: 'mono',
      sort: true,
      hidden: true,
      value: (s: ListedServer) => s.identity.serial,
    },
    cores: {
      label: 'Cores',
      kind: 'number',
      sort: true,
      hidden: true,
      value: (s: ListedServer) => s.hardware.cores,
    },
    memory: {
      label: 'Memory',
      kind: 'memory',
      sort: true,
      hidden: true,
      value: (s: ListedServer) => s.hardware.memory_bytes,
    },
    disks: {
      label: 'Disks',
      help: 'Size of all disks together',
      kind: 'disk',
      sort: true,
      hidden: true,
      value: (s: ListedServer) => s.hardware.disk_bytes,
    },
    address: {
      label: 'Address',
      kind: 'mono',
      sort: true,
      hidden: true,
      value: (s: ListedServer) => s.nodeAddresses[0] ?? null,
    },
    talos_version: {
      label: 'Talos',
      kind: 'mono',
      sort: true,
      hidden: true,
      value: (s: ListedServer) => s.talos.version,
    },
    created_at: {
      label: 'Registered',
      kind: 'time',
      sort: true,
      hidden: true,
      value: (s: ListedServer) => s.created_at,
    },
  },
  filters: {
    status: { label: 'Status', help: 'Only servers with this status', choices: serverStatuses },
    nodeType: {
      label: 'Node type',
      help: 'Only servers with this node type',
      choices: nodeTypes,
      flag: 'type',
      placeholder: 'TYPE',
    },
    datacenter: {
      label: 'Datacenter',
      help: 'Only servers in this datacenter, by code or id',
      none: 'In no datacenter',
      placeholder: 'CODE',
    },
    reachable: {
      label: 'Contact',
      help: 'Only servers that answer (true), do not answer (false), or are offline during an operation (away)',
      choices: { true: 'Answers', false: 'Unreachable', away: 'Offline during an operation' },
      placeholder: 'WHETHER',
    },
    confirmed: {
      label: 'Hardware',
      help: 'Only servers whose hardware was confirmed by a user (true), or is still to be confirmed (false)',
      choices: { true: 'Confirmed', false: 'To confirm' },
      placeholder: 'WHETHER',
    },
    cluster: {
      label: 'Cluster',
      help: 'Only servers of this cluster, by name or id',
      none: 'In no cluster',
      placeholder: 'NAME',
    },
    rack: {
      label: 'Rack',
      help: 'Only servers in this rack, by name or id',
      none: 'In no rack',
      placeholder: 'NAME',
    },
    finding: {
      label: 'Finding',
      help: 'Only servers whose worst finding is of this kind, or that have none',
      choices: { none: 'No finding', ...serverFindingTitles },
      placeholder: 'KIND',
    },
    cc: {
      label: 'CC',
      help: 'Only servers whose capacity commitment has this status, or that have none',
      choices: [...ccStatuses, 'none'],
    },
    stage: { label: 'Stage', help: 'Only servers at this stage of Talos', choices: stages },
    power: {
      label: 'Power',
      help: 'Only servers with this power, or without a BMC (none)',
      choices: [...powerStates, 'none'],
    },
    eligible: {
      label: 'Cluster use',
      help: 'Only servers that can join a cluster now (true), or cannot (false)',
      choices: { true: 'Eligible', false: 'Not eligible' },
      placeholder: 'WHETHER',
    },
    label: labelFilter,
    quarantine: {
      label: 'Quarantine',
      help: 'Only servers in quarantine (true), or not in quarantine (false)',
      choices: { true: 'In quarantine', false: 'Not in quarantine' },
      placeholder: 'WHETHER',
    },
  },
  order: 'name',
  perPage: 1000,
  groups: serverGroupings,
})

export const serverList = withPast(
  listOperation(servers, Server, {
    name: 'serverList',
    summary:
      'Servers. Removed servers are listed only if the filter `status` asks for them. `q` finds them by name, id, serial, address, cluster, MAC address in any notation, model or WWID.',
    path: '/v1/nodes',
    scope: 'servers:read',
    more: { fields: z.optional(z.enum(['list'])) },
  }),
)
/** The list of servers with only the fields that lists show: a quarter of the bytes. */
export const serverRows = variantOf(serverList, {
  query: { fields: z.literal('list') },
  answer: pageOf(ListedServer),
})

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    Eligibility: [
      Eligibility,
      'A check that a server must pass to join a cluster, and what to do if the check fails.',
    ],
    LastChange: [LastChange, 'The last change that Steelyard has sent to a server.'],
    ListedServer: [ListedServer, 'A server with only the fields that lists show.'],
    Quarantine: [Quarantine, 'Why a server is not to be used, by whom and since when.'],
    PendingConfiguration: [
      PendingConfiguration,
      'Why the newest configuration of a server is not sent yet, and the servers that must be well first.',
    ],
    Resources: [
      Resources,
      'The hardware of a server. Sizes in bytes, speeds in MHz; fields that the server did not report are left out.',
    ],
    Server: [
      Server,
      'A machine, called node in paths. `status` is its state in Steelyard, `talos.stage` the stage that Talos reports.',
    ],
  },
}
