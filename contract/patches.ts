/**
 * Patches: layers of Talos machine configuration of one server. Steelyard writes two of them, which
 * are read-only.
 */
import * as z from 'zod/mini'
import { codeText, mostKeys, personText, wordText } from './bounds/fields.ts'
import { nameOf } from './names.ts'
import { list, mostListBytes } from './list.ts'
import { operation, type Words } from './operation.ts'
import { pageOf, time } from './page.ts'
import { type Limit, no, type Verdict, yes } from './rule.ts'
import { ConfirmedLoss, undoRule, undoSeconds } from './servers/losses.ts'
import { eligibilityChecks } from './servers/servers.ts'
import { talosVersionText } from './versions.ts'
import { count } from './words.ts'

export const patchLimits = {
  bodyBytes: 1024 * 1024,
  nodes: 20_000,
  depth: 32,
  documents: 64,
  labels: 20,
  /** Characters of a key and of a value. */
  labelLength: 63,
  weight: { min: 0, max: 999, default: 500 },
} as const

/** Of one server, beside the shared ones. All of them are merged at each change. */
export const serverPatchLimit: Limit = {
  most: 100,
  nouns: 'patches of this server',
  remedy: 'remove one that it does not need any more',
}

/**
 * Bytes of the bodies of a server's own patches together. What an older version stored above it
 * stays, and may be made smaller or removed.
 */
export const mostServerPatchBytes = 4 * 1024 * 1024
/**
 * Whether the bodies of a server's own patches may have these bytes together.
 * @param before the bytes that they have now
 */
export const canHavePatchBytes = (bytes: number, before: number): Verdict =>
  bytes <= mostServerPatchBytes || bytes <= before
    ? yes
    : no(
        `The patches of this server would have ${count(bytes)} bytes together, and they can have ${count(mostServerPatchBytes)} at most: remove one that it does not need any more first`,
      )

/**
 * Stands for a secret in the body of a patch that the API returns. In a body that is saved, it
 * stands for the stored secret.
 */
export const patchMask = '••••••••'

/**
 * Ids and weights of the layers that Steelyard writes. These layers come before all patches of
 * users.
 */
export const systemLayers = { 'static-system': -999, 'default-node': -888 } as const

export const tooLongPatch = 'A patch is at most 1 MiB'

/**
 * Maximum bytes of a body with a patch, as JSON: a line break and a quote take two bytes there.
 */
export const largestPatchBody = 2 * 1024 * 1024

const labels = z
  .record(
    z
      .string()
      .check(
        z.maxLength(
          patchLimits.labelLength,
          'A label key has up to 63 lowercase letters, digits, dots, slashes and hyphens',
        ),
        z.regex(
          /^[a-z0-9](?:[a-z0-9._/-]{0,61}[a-z0-9])?$/,
          'A label key has up to 63 lowercase letters, digits, dots, slashes and hyphens',
        ),
      ),
    z
      .string()
      .check(
        z.maxLength(
          patchLimits.labelLength,
          'A label value has up to 63 letters, digits, dots, underscores and hyphens',
        ),
        z.regex(
          /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/,
          'A label value has up to 63 letters, digits, dots, underscores and hyphens',
        ),
      ),
  )
  .check(mostKeys(patchLimits.labels, `At most ${patchLimits.labels} labels`))

export const patchWeight = z
  .int('Weight must be a whole number')
  .check(
    z.gte(patchLimits.weight.min, 'Weight must be between 0 and 999'),
    z.lte(patchLimits.weight.max, 'Weight must be between 0 and 999'),
  )
export const patchBody = z
  .string()
  .check(z.minLength(1, 'Enter a patch'), z.maxLength(patchLimits.bodyBytes, tooLongPatch))

export const NewPatch = z.strictObject({
  name: nameOf('Patch'),
  weight: z._default(patchWeight, patchLimits.weight.default),
  labels: z._default(labels, {}),
  body: patchBody,
})
export type NewPatch = z.infer<typeof NewPatch>

export const Patch = z.object({
  patch_id: codeText,
  node_id: z.uuid(),
  name: codeText,
  weight: z.int(),
  labels: z.record(wordText, wordText),
  /**
   * YAML. Secrets are masked on reading; without `secrets:read`, fields that may contain a secret
   * and comments are masked too (docs/security.md).
   */
  body: z.string(),
  /**
   * False only in the list, if the bodies before this one fill the response: `body` is empty there,
   * and `patchGet` returns it.
   */
  body_listed: z.optional(z.boolean()),
  read_only: z.boolean(),
  version: z.int(),
  created_at: z.nullable(time),
  updated_at: z.nullable(time),
  created_by: z.nullable(personText),
})
export type Patch = z.infer<typeof Patch>

const ofPatch = z.strictObject({ id: z.uuid(), patchId: z.string().check(z.maxLength(64)) })

const patches = list<Patch>()({
  nouns: ['patch', 'patches'],
  columns: {
    name: { label: 'Name', sort: true, value: (p: Patch) => p.name },
    weight: { label: 'Weight', kind: 'number', sort: true, value: (p: Patch) => p.weight },
    id: { label: 'ID', kind: 'mono', value: (p: Patch) => p.patch_id },
    created_at: {
      label: 'Created at',
      kind: 'time',
      sort: true,
      value: (p: Patch) => p.created_at,
    },
    labels: { label: 'Labels' },
  },
  order: '-weight',
})

/**
 * Bytes of the bodies in a list as JSON; the other fields of its rows take less than 1 MiB. Bodies
 * beyond are left out.
 */
export const mostListedBodyBytes = mostListBytes - 1024 * 1024

/** Returned as a whole, because a server has only few patches; clients sort them. */
export const patchList = {
  ...operation('patchList', 'GET /v1/nodes/{id}/patches', 'servers:read', {
    summary:
      'The layers of a server in the order in which they are merged. Bodies beyond 7 MiB are left out; `patchGet` returns them.',
    answer: pageOf(Patch),
  }),
  list: patches,
}
export const patchGet = operation(
  'patchGet',
  'GET /v1/nodes/{id}/patches/{patchId}',
  'servers:read',
  {
    summary: 'One patch.',
    params: ofPatch,
    answer: Patch,
  },
)
export const patchCreate = operation(
  'patchCreate',
  'POST /v1/nodes/{id}/patches',
  'servers:write',
  {
    summary:
      'Add a patch to a server. If the server is in a cluster, the patch is applied at once.',
    body: z.extend(NewPatch, { confirmed_loss: ConfirmedLoss }),
    answer: Patch,
    status: 201,
    errors: [
      'held_by_files',
      'name_taken',
      'server_unreachable',
      'operation_running',
      'config_drifted',
      'cluster_not_ready',
      'loss_not_confirmed',
    ],
  },
)
export const patchUpdate = operation(
  'patchUpdate',
  'PATCH /v1/nodes/{id}/patches/{patchId}',
  'servers:write',
  {
    summary: 'Change a patch.',
    params: ofPatch,
    body: z.strictObject({
      name: z.optional(nameOf('Patch')),
      weight: z.optional(patchWeight),
      labels: z.optional(labels),
      body: z.optional(patchBody),
      confirmed_loss: ConfirmedLoss,
    }),
    answer: Patch,
    errors: [
      'held_by_files',
      'name_taken',
      'patch_read_only',
      'stale',
      'server_unreachable',
      'operation_running',
      'config_drifted',
      'cluster_not_ready',
      'loss_not_confirmed',
    ],
  },
)
export const patchRemove = operation(
  'patchRemove',
  'DELETE /v1/nodes/{id}/patches/{patchId}',
  'servers:write',
  {
    summary: 'Remove a patch.',
    params: ofPatch,
    query: z.strictObject({
      /** Name of the server, if it may be lost. */
      confirmed_loss: z.optional(z.string().check(z.maxLength(64))),
      /** Seconds after which Talos undoes the change, or `never`. */
      undo_after_seconds: z.optional(
        z
          .string()
          .check(
            z.refine(
              (text) =>
                text === 'never' ||
                (/^\d{1,5}$/.test(text) &&
                  Number(text) >= undoSeconds.least &&
                  Number(text) <= undoSeconds.most),
              undoRule.replace('null', 'never'),
            ),
          ),
      ),
    }),
    errors: [
      'held_by_files',
      'patch_read_only',
      'stale',
      'server_unreachable',
      'operation_running',
      'config_drifted',
      'cluster_not_ready',
      'loss_not_confirmed',
    ],
  },
)

/**
 * Whether any of these servers gets a patch together with its cluster. Such a call also needs the
 * scope of `patchCreate`.
 */
export const hasPatches = (servers: readonly { readonly patch?: unknown }[]): boolean =>
  servers.some(({ patch }) => patch !== undefined)

export const PatchProblem = z.object({
  line: z.nullable(z.int()),
  column: z.nullable(z.int()),
  path: z.nullable(z.string()),
  message: z.string(),
})
export type PatchProblem = z.infer<typeof PatchProblem>

/** An error in a body as a sentence. */
export const problemSentence = ({ line, column, path, message }: PatchProblem): string =>
  `${line === null ? '' : `Line ${line}${column === null ? '' : `, column ${column}`}: `}${message}${path === null || path === '' || message.includes(path) ? '' : ` (${path})`}`

const verdictKinds = ['no_reboot', 'reboot', 'not_allowed', 'at_install', 'unknown'] as const

/** Something that saving a patch would break. */
export const PreviewWarning = z.object({
  /**
   * The eligibility check that would no longer pass. Null if the warning is about a network link
   * that the server does not have, or about a value that may not work when running.
   */
  check: z.nullable(z.enum(eligibilityChecks)),
  message: z.string(),
  /**
   * `link`: name of the network link, or null. `line`: line of the body with the value, or null.
   */
  link: z.nullable(z.string()),
  line: z.nullable(z.int()),
})
export type PreviewWarning = z.infer<typeof PreviewWarning>

export const Preview = z.object({
  /**
   * Merged configuration without and with the patch. Secrets and fields that may contain a secret
   * are masked for everybody. Empty if the merge fails.
   */
  diff: z.object({ before: z.string(), after: z.string() }),
  /**
   * The layer of each line of `after`. Lines count from 1; lines of the generated configuration are
   * left out.
   */
  sources: z.array(z.object({ line: z.int(), layer: z.string() })),
  errors: z.array(PatchProblem),
  /** Problems that saving would cause although Talos accepts the configuration. */
  warnings: z.array(PreviewWarning),
  /**
   * What saving does on the machine. `unknown`: the server did not answer a dry run, or there was
   * no dry run, because Steelyard sends nothing to a machine for a caller without `servers:write`.
   */
  verdict: z.object({ kind: z.enum(verdictKinds), reason: z.string() }),
})
export type Preview = z.infer<typeof Preview>

export const patchPreview = operation(
  'patchPreview',
  'POST /v1/nodes/{id}/patches/preview',
  'servers:read',
  {
    summary: 'What a patch would do, without saving it.',
    body: z.strictObject({
      /** Id of the patch that is edited. The merge replaces it. */
      patch_id: z.optional(z.string().check(z.maxLength(64))),
      weight: z._default(patchWeight, patchLimits.weight.default),
      name: z.optional(z.string().check(z.maxLength(64))),
      labels: z.optional(z.record(z.string(), z.string())),
      body: z.string().check(z.maxLength(patchLimits.bodyBytes, tooLongPatch)),
    }),
    answer: Preview,
  },
)

export const patchSchema = operation('patchSchema', 'GET /v1/nodes/patches', 'servers:read', {
  summary: 'JSON Schema of a patch body, the Talos versions that it applies to, and the limits.',
  query: z.strictObject({ talos_version: z.optional(talosVersionText()) }),
  errors: ['invalid'],
  answer: z.object({
    schema: z.record(z.string(), z.unknown()),
    versions: z.array(z.string()),
    limits: z.record(z.string(), z.unknown()),
  }),
})

export const canChangePatch = (p: Pick<Patch, 'read_only'>): Verdict =>
  p.read_only ? no('Steelyard writes this layer itself') : yes

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    NewPatch: [
      NewPatch,
      'A patch to add: strategic-merge YAML for the machine configuration of one server.',
    ],
    Patch: [Patch, 'A layer of the machine configuration of one server.'],
    Preview: [
      Preview,
      'What a patch would do: the merged configuration before and after, errors by line, and whether a reboot is needed.',
    ],
  },
  fields: {
    'patchSchema.talos_version':
      'Version of the Talos that reads the patch; other minors have other documents and fields. Default: the newest supported minor.',
    'patchRemove.confirmed_loss':
      'Name of the server, if it may be lost: the change is sent although Steelyard does not reach it afterwards.',
    'patchRemove.undo_after_seconds':
      'Seconds after which Talos undoes the change, if Steelyard does not reach the server by then: 60 to 3600, by default 300. `never` sends the change for good.',
    patch_id:
      'Id of the saved patch that is being edited; the text in the request is merged instead.',
    patchId: 'Id of the patch, or `static-system` or `default-node`.',
  },
  bodies: {
    patchCreate: {
      name: 'more-connections',
      weight: 500,
      labels: { team: 'edge' },
      body: 'machine:\n  sysctls:\n    net.core.somaxconn: "4096"\n',
    },
    patchPreview: { weight: 500, body: 'machine:\n  sysctls:\n    net.core.somaxconn: "4096"\n' },
    patchUpdate: { weight: 600 },
  },
}
