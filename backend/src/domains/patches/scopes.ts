/** What of a patch a caller may see, and whether what they write may reach a machine. */
import { permits, type Scope } from '#contract/permissions.ts'
import type { Audience } from '#talos/config/mask.ts'
import type { Caller } from '../../http/caller.ts'

const holds = (caller: Caller, scope: Scope): boolean => caller.kind === 'system' || (caller.kind === 'user' && permits(caller.scopes, scope).ok)

/** For patches as they were written; merged configurations are shown to all as to everybody. */
export const audienceOf = (caller: Caller): Audience => (holds(caller, 'secrets:read') ? 'may_read_secrets' : 'everybody')
export const mayWrite = (caller: Caller): boolean => holds(caller, 'servers:write')
