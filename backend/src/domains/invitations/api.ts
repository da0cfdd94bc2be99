/** What other domains may call of invitations. */
import type * as z from 'zod/mini'
import type { Answer } from '#contract/operation.ts'
import type { invitationCreate, NewInvitation } from '#contract/people/invitations.ts'
import type { Tx } from '../../db/db.ts'
import type { Caller } from '../../http/caller.ts'

export interface Invitations {
  /** Invites somebody in the caller's transaction. @throws Problem user_exists, forbidden */
  readonly invite: (
    tx: Tx,
    caller: Caller,
    invited: z.output<typeof NewInvitation>,
  ) => Promise<Answer<typeof invitationCreate>>
  /** Withdraws the invitations of somebody who stops being an active administrator. */
  readonly endOf: (tx: Tx, caller: Caller, inviterId: string) => Promise<void>
}
