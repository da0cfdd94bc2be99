import { notify, type Tx } from '../../db/db.ts'

/**
 * Channel for notifications: the id of an ended session, or `person` and an id after a change of
 * the person's rights. Every process then drops what it has cached.
 */
export const revokedChannel = 'steelyard_session_revoked'

/** Makes every process reload the permissions of the person's sessions and API tokens. */
export const rightsChanged = (tx: Tx, personId: string): Promise<void> =>
  notify(tx, revokedChannel, `person ${personId}`)
