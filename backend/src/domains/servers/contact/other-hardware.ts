/**
 * What changes at a server when other hardware answers. Only this file decides that, whoever met
 * the hardware: a contact, a reconciler, a user's query or a registration.
 *
 * A machine in maintenance mode proves nothing. It may take a free server out of use, because a free
 * server proves nothing either. A member of a cluster proves itself by a certificate of the
 * cluster's authority, so such a machine adds a note to it and changes nothing else. See decision
 * 023.
 */
import type { Identity } from '#talos/client/inventory.ts'
import type * as store from '../store.ts'

/** Why a server counts as unreachable while other hardware answers at its address. */
export const otherHardwareReason = 'Other hardware answers at its address'

type Known = Pick<store.ListedRow, 'cluster_id' | 'status' | 'identity_state' | 'reachable'>

/** Whether the server runs its cluster's configuration, and so proves itself by its certificate. */
export const isMember = ({
  cluster_id,
  status,
}: Pick<store.ListedRow, 'cluster_id' | 'status'>): boolean =>
  cluster_id !== null && status === 'ready'

const called = ({ product, uuid, serial }: Identity): string =>
  `${product ? `${product}, ` : ''}UUID ${uuid}, serial ${serial || 'unknown'}`

/**
 * Column values after other hardware has answered at the server's address.
 * @param isProven the hardware has a certificate of the server's own cluster
 * @param isSilent the server itself has not answered several times in a row
 */
export function answered(
  row: Known,
  {
    found,
    at,
    isProven,
    isSilent,
  }: { found: Identity; at: Date; isProven: boolean; isSilent: boolean },
): store.ServerChange {
  const since = row.reachable !== false && { unreachable_since: at }
  const silent = { reachable: false, ...since, reason: otherHardwareReason }
  const seen = { seen_uuid: found.uuid, seen_serial: found.serial }
  const what = `Other hardware answered at this address: ${called(found)}.`
  if (isMember(row) && !isProven)
    return {
      ...(row.identity_state !== 'changed' && {
        ...seen,
        identity_note: `${what} It is in maintenance mode and has proved nothing. A member of a cluster proves itself by its certificate, so nothing else changes.`,
      }),
      ...(isSilent && silent),
    }
  return {
    ...seen,
    identity_state: 'changed',
    identity_note: `${what} Nothing is sent to it until you confirm which machine this is.`,
    ...(row.identity_state !== 'changed' && { identity_since: at }),
    ...silent,
  }
}

/**
 * Column values after a machine has answered elsewhere that says that it is this server. The
 * server stays in use: which machine it is, is known.
 */
export const claimed = (
  { identity_state }: Pick<Known, 'identity_state'>,
  found: Identity,
  sentence: string,
): store.ServerChange =>
  identity_state === 'changed'
    ? {}
    : { seen_uuid: found.uuid, seen_serial: found.serial, identity_note: sentence }
