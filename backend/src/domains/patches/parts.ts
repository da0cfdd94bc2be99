/** Dependencies of patches, and how a patch is shown to a caller. */
import { Problem } from '#contract/errors.ts'
import { nameSentences } from '#contract/names.ts'
import { type Patch, systemLayers } from '#contract/patches.ts'
import { permits, type Scope } from '#contract/permissions.ts'
import type { Audience } from '#talos/config/mask.ts'
import { violatedConstraint } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'
import type { Platform } from '../../platform.ts'
import type { Configurations } from '../configurations/api.ts'
import type { Servers } from '../servers/api.ts'
import type { PatchRow, PatchStore } from './store.ts'

export interface PatchParts extends Platform {
  readonly store: PatchStore
  readonly servers: Pick<Servers, 'forPlan' | 'patched' | 'locked'>
  readonly configurations: Pick<
    Configurations,
    'change' | 'lockUnheld' | 'preview' | 'systemLayers'
  >
}

export const holdsScope = (caller: Caller, scope: Scope): boolean =>
  caller.kind === 'system' || (caller.kind === 'user' && permits(caller.scopes, scope).ok)
/**
 * What the caller may see of a single patch. Merged configurations are masked in the same way for
 * all callers.
 */
export const audienceOf = (caller: Caller): Audience =>
  holdsScope(caller, 'secrets:read') ? 'may_read_secrets' : 'everybody'

export const isSystemLayer = (id: string): id is keyof typeof systemLayers =>
  Object.hasOwn(systemLayers, id)
export const noSuchPatch = () => new Problem('not_found', 'There is no such patch')

/** Converts a violated unique name to a Problem; other errors are unchanged. */
export const asNameTaken = (error: unknown): unknown => {
  const { taken } = nameSentences('Patch')
  return violatedConstraint(error) === 'patch_name'
    ? new Problem('name_taken', taken, { name: taken })
    : error
}

/** @param body the row's body with masked secrets */
export const present = (
  { id, server_id, links: _links, created_by_name, ...row }: Omit<PatchRow, 'body'>,
  body: string,
): Patch => ({
  ...row,
  patch_id: id,
  node_id: server_id,
  body,
  read_only: false,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  created_by: created_by_name,
})
