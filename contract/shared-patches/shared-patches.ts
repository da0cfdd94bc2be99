/**
 * Shared patches: patches of the fleet that are assigned to servers by labels, clusters, roles or
 * one by one. Saving one sends nothing. A roll-out gives it to one server after another.
 */
import * as z from 'zod/mini'
import { LeftOut } from '../bounds/rows.ts'
import { codeText, personText, sentenceText } from '../bounds/fields.ts'
import { Excerpt } from '../bounds/excerpt.ts'
import { ClusterRole } from '../clusters/clusters.ts'
import { conditionsIn, longestSelector, selectorOf, selectorSentence } from '../labels/selector.ts'
import { list } from '../list.ts'
import { nameOf } from '../names.ts'
import { callsOf } from '../object-calls.ts'
import { operation, type Words } from '../operation.ts'
import { begun, hasEnded, operationStatuses } from '../operations.ts'
import { byId, changed, time } from '../page.ts'
import { patchBody, patchLimits, patchWeight } from '../patches.ts'
import { forNow, no, type Verdict, waitLimits, waitLimitText, yes } from '../rule.ts'
import { RollOutLoss, ServerLoss } from '../servers/losses.ts'
import { count, counted, someOf } from '../words.ts'

export const sharedPatchLimits = {
  patches: 200,
  /** Of the bodies of all shared patches together. */
  bytes: 32 * 1024 * 1024,
  selectors: 20,
  /** Conditions of all selectors of a patch. Each is compared with every server. */
  conditions: 100,
  clusters: 100,
  /** Servers of one preview or roll-out, and servers that are named one by one. */
  servers: 500,
} as const

const Selector = z.string().check(
  z.trim(),
  z.minLength(1, selectorSentence),
  z.maxLength(longestSelector, selectorSentence),
  z.refine((text) => selectorOf(text) !== null, { error: selectorSentence }),
)

/**
 * The servers that a patch is for. Kinds that are named must all match; of one kind, any entry.
 * Without any entry it is for no server.
 */
export const Targets = z.strictObject({
  /** Selectors of labels of servers. */
  labels: z._default(
    z
      .array(Selector)
      .check(z.maxLength(sharedPatchLimits.selectors, 'At most 20 selectors of labels')),
    [],
  ),
  cluster_ids: z._default(
    z.array(z.uuid()).check(z.maxLength(sharedPatchLimits.clusters, 'At most 100 clusters')),
    [],
  ),
  /** Roles of servers in clusters. */
  roles: z._default(z.array(ClusterRole).check(z.maxLength(2)), []),
  node_ids: z._default(
    z
      .array(z.uuid())
      .check(
        z.maxLength(
          sharedPatchLimits.servers,
          'At most 500 servers one by one: give them a label, and choose that',
        ),
      ),
    [],
  ),
})
export type Targets = z.infer<typeof Targets>

/** Whether targets have few enough conditions to be saved. */
export function canHaveTargets({ labels }: Pick<Targets, 'labels'>): Verdict {
  const conditions = labels.reduce((sum, text) => sum + conditionsIn(text), 0)
  return conditions <= sharedPatchLimits.conditions
    ? yes
    : no(
        `The selectors of labels have ${count(conditions)} conditions together, and they can have ${sharedPatchLimits.conditions} at most`,
      )
}

export const NewSharedPatch = z.strictObject({
  name: nameOf('Patch'),
  weight: z._default(patchWeight, patchLimits.weight.default),
  body: patchBody,
  targets: Targets,
})
export type NewSharedPatch = z.infer<typeof NewSharedPatch>
export const SharedPatchChange = z.strictObject({
  name: z.optional(nameOf('Patch')),
  weight: z.optional(patchWeight),
  body: z.optional(patchBody),
  targets: z.optional(Targets),
})
export type SharedPatchChange = z.infer<typeof SharedPatchChange>

export const SharedPatch = z.object({
  id: z.uuid(),
  name: codeText,
  weight: z.int(),
  /** YAML with variables. Secrets are masked on reading, as in patches of servers. */
  body: z.string(),
  /** Names of the variables in the body: `link`, `label.rack`. */
  variables: z.array(z.string()),
  targets: Targets,
  /** Increases with each change of name, weight or body. */
  revision: z.int(),
  /** Numbers of servers, computed. */
  servers: z.object({
    /** That the patch is for. */
    targets: z.int(),
    /** That have this revision. */
    current: z.int(),
    /** That a roll-out would change: they have another revision, lack it, or have it too much. */
    behind: z.int(),
  }),
  /** The last roll-out that was not an undo; null before the first. */
  last_roll_out: z.nullable(
    z.object({
      operation_id: z.uuid(),
      at: time,
      by: personText,
      revision: z.int(),
      /** Whether an undo of it was begun. */
      undone: z.boolean(),
    }),
  ),
  /** The newest roll-out or undo; null before the first, and after its operation was forgotten. */
  last_operation: z.nullable(
    z.object({
      id: z.uuid(),
      kind: z.enum(['sharedPatchRollOut', 'sharedPatchUndo']),
      status: z.enum(operationStatuses),
      reason: z.nullable(sentenceText),
    }),
  ),
  created_by: personText,
  /** Who has saved it last. */
  updated_by: personText,
  /** Only in a list: names of the fields that it has left out (`bounds/rows.ts`). */
  left_out: LeftOut,
  ...changed,
})
export type SharedPatch = z.infer<typeof SharedPatch>

/** A shared patch in a list: `sharedPatchGet` returns the whole body. */
export const ListedSharedPatch = z.extend(SharedPatch, { body: Excerpt })
export type ListedSharedPatch = z.infer<typeof ListedSharedPatch>
/** What both have. */
export type SharedPatchFacts = Omit<SharedPatch, 'body'>

export const sharedPatchNameTaken = 'There is a shared patch of this name already'

const sharedPatches = list<ListedSharedPatch>()({
  nouns: ['shared patch', 'shared patches'],
  large: {
    variables: [],
    targets: { labels: [], cluster_ids: [], roles: [], node_ids: [] },
  },
  columns: {
    name: { label: 'Name', sort: true, value: (p: ListedSharedPatch) => p.name },
    weight: {
      label: 'Weight',
      kind: 'number',
      sort: true,
      value: (p: ListedSharedPatch) => p.weight,
    },
    targets: {
      label: 'Servers',
      help: 'Servers that the patch is for',
      kind: 'number',
      sort: true,
      value: (p: ListedSharedPatch) => p.servers.targets,
    },
    behind: {
      label: 'Behind',
      help: 'Servers that a roll-out would change',
      kind: 'number',
      sort: true,
      value: (p: ListedSharedPatch) => p.servers.behind,
    },
    updated_at: {
      label: 'Changed',
      kind: 'time',
      sort: true,
      value: (p: ListedSharedPatch) => p.updated_at,
    },
    id: { label: 'Id', kind: 'mono', hidden: true, value: (p: ListedSharedPatch) => p.id },
  },
  order: 'name',
  mostPerPage: 100,
})

const calls = callsOf(
  'sharedPatch',
  '/v1/patches',
  { read: 'servers:read', write: 'servers:write' },
  SharedPatch,
)
export const sharedPatchList = calls.listOf(
  sharedPatches,
  ListedSharedPatch,
  'Patches of the fleet, with how many servers each is for. Of their bodies the list has the length, the digest and the first 4 KiB.',
)
export const sharedPatchGet = calls.get('One shared patch.')
export const sharedPatchCreate = calls.create({
  summary:
    'Save a shared patch. Nothing is sent: the servers that it is for are behind until it is rolled out.',
  body: NewSharedPatch,
  errors: ['name_taken'],
})
export const sharedPatchUpdate = calls.update({
  summary: 'Change a shared patch or its targets. Nothing is sent.',
  body: SharedPatchChange,
  errors: ['name_taken', 'stale', 'operation_running'],
})
export const sharedPatchRemove = calls.remove(
  'Remove a shared patch that no server has any more.',
  ['conflict', 'stale', 'operation_running'],
)

const NamedServer = z.object({ id: z.uuid(), name: z.string() })

export const SharedPatchPreview = z.object({
  /** Number of servers that the patch is for, or that would lose it. */
  servers: z.int(),
  /** Servers whose configuration stays as it is. */
  unchanged: z.int(),
  /** Servers with the same difference, the largest group first. */
  groups: z.array(
    z.object({
      servers: z.array(NamedServer),
      /**
       * Lines that are added (`+ …`) and removed (`- …`). Values of the server are shown as the
       * variables of the patch. Secrets are masked.
       */
      lines: z.array(z.string()),
      /** Unified diff of the first server. */
      example: z.string(),
      /** `at_install`: the servers are in no cluster, so the patch waits for their installation. */
      effect: z.enum(['no_reboot', 'reboot', 'at_install']),
      /** Distinct warnings of the servers. */
      warnings: z.array(z.string()),
    }),
  ),
  /**
   * Servers that would refuse the patch, with the reason. `for_now`: the server only doesn't answer,
   * and a roll-out waits for it.
   */
  refused: z.array(
    z.object({
      server: NamedServer,
      reason: z.string(),
      for_now: z.optional(z.literal(true)),
    }),
  ),
  /** Servers that Steelyard would lose. A roll-out has to confirm them. */
  losses: z.array(ServerLoss),
})
export type SharedPatchPreview = z.infer<typeof SharedPatchPreview>

export const sharedPatchPreview = operation(
  'sharedPatchPreview',
  'POST /v1/patches/preview',
  'servers:write',
  {
    summary:
      'What a shared patch would change, grouped by likeness, without saving it. Every server makes a dry run.',
    body: z.strictObject({
      /** The saved patch that is edited, or nothing for a new one. */
      id: z.optional(z.uuid()),
      ...NewSharedPatch.shape,
    }),
    answer: SharedPatchPreview,
    errors: ['not_found'],
  },
)

export const sharedPatchRollOut = operation(
  'sharedPatchRollOut',
  'POST /v1/patches/{id}/roll-out',
  'servers:write',
  {
    summary: `Give a shared patch to the servers that are behind: the canary first, then one server after another, cluster by cluster. Stops at the first refusal by a rule, and waits for a silent server for at most ${waitLimitText(waitLimits.rollOut)}.`,
    body: z.strictObject({
      /** Only these servers. Default: all that are behind. */
      node_ids: z.optional(
        z
          .array(z.uuid())
          .check(
            z.minLength(1, 'Choose at least one server'),
            z.maxLength(sharedPatchLimits.servers),
          ),
      ),
      /** The server that is changed first. Default: a worker. */
      canary_id: z.optional(z.uuid()),
      /** True: each server is changed only in the maintenance window of its cluster. */
      in_window: z._default(z.boolean(), false),
      confirmed_loss: RollOutLoss,
    }),
    answer: begun,
    status: 202,
    errors: [
      'stale',
      'operation_running',
      'transition_refused',
      'held_by_files',
      'loss_not_confirmed',
    ],
  },
)

export const sharedPatchUndo = operation(
  'sharedPatchUndo',
  'POST /v1/patches/{id}/undo',
  'servers:write',
  {
    summary:
      'Take back the last roll-out: every server that it changed gets what it had before, one server after another. A server on which this patch was changed since is left as it is, and said.',
    body: z.strictObject({
      in_window: z._default(z.boolean(), false),
      confirmed_loss: RollOutLoss,
    }),
    answer: begun,
    status: 202,
    errors: ['operation_running', 'transition_refused', 'held_by_files'],
  },
)

const states = ['current', 'behind', 'extra'] as const
/** A server with regard to a shared patch. */
const SharedPatchServer = z.object({
  server: NamedServer,
  cluster: z.nullable(z.object({ id: z.uuid(), name: z.string() })),
  role: z.nullable(ClusterRole),
  /** `behind`: lacks this revision. `extra`: has the patch, which is not for it any more. */
  state: z.enum(states),
  /** Revision that the server has; null: none. */
  revision: z.nullable(z.int()),
})
export type SharedPatchServer = z.infer<typeof SharedPatchServer>

export const sharedPatchServers = operation(
  'sharedPatchServers',
  'GET /v1/patches/{id}/servers',
  'servers:read',
  {
    summary:
      'The servers that a shared patch is for, and those that have it, in the order of a roll-out.',
    params: byId,
    answer: z.object({ items: z.array(SharedPatchServer) }),
  },
)

export const serverSharedPatches = operation(
  'serverSharedPatches',
  'GET /v1/nodes/{id}/shared-patches',
  'servers:read',
  {
    summary:
      'The shared patches that a server has or that are for it. Its own patches are in `patchList`.',
    params: byId,
    answer: z.object({
      items: z.array(
        z.object({
          id: z.uuid(),
          name: z.string(),
          weight: z.int(),
          state: z.enum(states),
          revision: z.nullable(z.int()),
        }),
      ),
    }),
  },
)

/** The layer's name in merged configurations. A patch of a server can't have such a name. */
export const sharedLayerName = (name: string): string => `shared/${name}`

/** @param servers number of servers that have it */
export const canRemoveSharedPatch = (servers: number): Verdict =>
  servers === 0
    ? yes
    : no(
        `${counted(servers, 'server')} ${servers === 1 ? 'has' : 'have'} this patch. Undo its roll-out, or save it without targets and roll that out; then remove it`,
      )

/**
 * Whether the bodies of all shared patches may have these bytes together. What an older version
 * stored above the limit stays, and may be made smaller or removed.
 * @param before the bytes that they have now
 */
export const canHaveSharedBytes = (bytes: number, before: number): Verdict =>
  bytes <= sharedPatchLimits.bytes || bytes <= before
    ? yes
    : no(
        `The shared patches would have ${count(bytes)} bytes together, and they can have ${count(sharedPatchLimits.bytes)} at most: remove one that is not used any more first`,
      )

export const tooManySharedPatches = `There are ${sharedPatchLimits.patches} shared patches: remove one that is not used any more first`

/** Why a shared patch can't be changed, rolled out or taken back. */
export const sharedPatchRefusals = {
  busy: (name: string) => `${name} is being rolled out: wait until that has ended, or cancel it`,
  noServer: (name: string) => `${name} is for no server yet: choose its targets first`,
  allCurrent: 'Every one of these servers has this revision already',
  neverRolledOut: (name: string) => `${name} was never rolled out`,
  noWindow: (clusters: readonly string[]) =>
    `${someOf(clusters)} ${clusters.length === 1 ? 'has' : 'have'} no maintenance window: set one first, or change the servers at any time`,
  undone: 'The last roll-out was undone already',
} as const

/** Whether no roll-out or undo of it runs. */
export const isSharedPatchIdle = ({
  name,
  last_operation: last,
}: Pick<SharedPatch, 'name' | 'last_operation'>): Verdict =>
  last === null || hasEnded(last) ? yes : forNow(sharedPatchRefusals.busy(name))

export function canRollOutSharedPatch(
  patch: Pick<SharedPatch, 'name' | 'servers' | 'last_operation'>,
): Verdict {
  const idle = isSharedPatchIdle(patch)
  const { targets, behind } = patch.servers
  if (!idle.ok || behind > 0) return idle
  return no(
    targets === 0 ? sharedPatchRefusals.noServer(patch.name) : sharedPatchRefusals.allCurrent,
  )
}

/** An undo that failed or was cancelled can be repeated. */
export function canUndoSharedPatch(
  patch: Pick<SharedPatch, 'name' | 'last_roll_out' | 'last_operation'>,
): Verdict {
  const idle = isSharedPatchIdle(patch)
  const { last_roll_out: rolled, last_operation: last } = patch
  if (!idle.ok) return idle
  if (rolled === null) return no(sharedPatchRefusals.neverRolledOut(patch.name))
  return rolled.undone && (last === null || last.status === 'done')
    ? no(sharedPatchRefusals.undone)
    : yes
}

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    SharedPatch: [SharedPatch, 'A patch of the fleet, with the servers that it is for.'],
    ListedSharedPatch: [
      ListedSharedPatch,
      'A shared patch in a list, with the beginning of its body.',
    ],
    NewSharedPatch: [NewSharedPatch, 'A shared patch to save.'],
    Targets: [
      Targets,
      'The servers that a shared patch is for. Kinds that are named must all match; of one kind, any entry.',
    ],
    SharedPatchPreview: [
      SharedPatchPreview,
      'What a shared patch would change on its servers, grouped by likeness.',
    ],
  },
  fields: {
    'sharedPatchPreview.id': 'Id of the saved patch that is being edited.',
    'sharedPatchPreview.body': 'Strategic-merge YAML with the variables of `sharedPatchCreate`.',
    'sharedPatchCreate.body':
      'Strategic-merge YAML with the variables `{{name}}`, `{{address}}`, `{{link}}` (the link with the address) and `{{label.KEY}}`.',
    'sharedPatchUpdate.body':
      'Strategic-merge YAML with the variables `{{name}}`, `{{address}}`, `{{link}}` (the link with the address) and `{{label.KEY}}`.',
    targets: 'The servers that the patch is for; without any entry none.',
    canary_id: 'Id of the server that is changed first.',
    'sharedPatchUndo.in_window':
      'Whether servers are changed only in the maintenance window of their cluster.',
    'sharedPatchRollOut.in_window':
      'Whether servers are changed only in the maintenance window of their cluster.',
    'sharedPatchRollOut.node_ids': 'Only these servers. Default: all that are behind.',
  },
  bodies: {
    sharedPatchCreate: {
      name: 'vlan-storage',
      body: 'apiVersion: v1alpha1\nkind: VLANConfig\nname: vlan120\nvlanID: 120\nparent: {{link}}\n---\napiVersion: v1alpha1\nkind: DHCPv4Config\nname: {{link}}\n',
      targets: { labels: ['rack in (3,4)'], roles: ['worker'] },
    },
    sharedPatchUpdate: { targets: { labels: ['rack=3'] } },
    sharedPatchPreview: {
      name: 'vlan-storage',
      body: 'apiVersion: v1alpha1\nkind: VLANConfig\nname: vlan120\nvlanID: 120\nparent: {{link}}\n---\napiVersion: v1alpha1\nkind: DHCPv4Config\nname: {{link}}\n',
      targets: { labels: ['rack=3'] },
    },
    sharedPatchRollOut: {},
    sharedPatchUndo: {},
  },
}
