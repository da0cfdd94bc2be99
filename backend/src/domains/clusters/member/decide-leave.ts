import { stageSaid } from '#contract/servers/server.ts'
import { elapsedMs } from '../../../clock.ts'
import type { MemberRow } from '../store.ts'
import { type Around, type Seen, type ServerAct, wait, lastSeen, fail, settleMs } from './acts.ts'

/**
 * Pause in ms before a reset is sent again. The evidence is the stage: Talos shows `resetting` as
 * soon as the reset begins (`machine_status.go`), and keeps it if the reset hangs. A server that
 * runs after the pause hasn't begun the reset, or has restarted after it failed.
 */
export const resetAgainMs = 90_000
/** Number of graceful resets of a leaving server before it fails. */
export const mostResets = 3

export function leave(server: MemberRow, around: Around, seen: Seen): ServerAct {
  const told = server.reset_intent_at !== null
  switch (seen.kind) {
    case 'dark':
      return told
        ? wait('release', `Wiping and restarting, ${lastSeen(server)}: ${seen.reason}`)
        : wait(
            'reset',
            `${server.name} ${seen.answers ? 'answers, but' : 'does not answer:'} ${seen.reason}; ${lastSeen(server)}. It has a configuration, so it is reset before it is released`,
          )
    case 'stranger':
      return fail(told ? 'release' : 'reset', seen.reason)
    case 'foreign':
      return fail(
        'reset',
        `${server.name} answers with a certificate that this cluster did not sign: ${seen.reason}`,
      )
    case 'maintenance':
      // The server may be applying a configuration that was just sent.
      if (
        !told &&
        (seen.stage !== 'maintenance' || elapsedMs(around, server.send_intent_at!) < settleMs)
      )
        return wait(
          'reset',
          'Waiting to see whether the server applies the configuration that it was sent',
        )
      return server.operation_id !== null
        ? { act: 'note-wiped', at: 'release' }
        : { act: 'release', at: 'release' }
    default:
      return leaveSecured(server, around, seen)
  }
}

function leaveSecured(
  server: MemberRow,
  around: Around,
  seen: Extract<Seen, { kind: 'secured' }>,
): ServerAct {
  if (seen.stage === 'resetting' || (server.reset_intent_at !== null && seen.stage === 'rebooting'))
    return wait('release', `${server.name} is ${stageSaid(seen.stage)}`)
  if (seen.stage !== 'booting' && seen.stage !== 'running')
    return wait(
      'reset',
      `${server.name} is ${stageSaid(seen.stage)}: a reset is possible after it has started`,
    )
  // If the server had received the reset, it would be resetting by now, so send the reset again.
  if (server.reset_sent_at !== null && elapsedMs(around, server.reset_sent_at) < resetAgainMs)
    return wait('release', 'The reset was requested; waiting for it to begin')
  const member = server.role === 'control_plane' && seen.services['etcd']?.healthy === true
  if (server.operation_id !== null) {
    // A graceful reset drains the node, and a healthy member leaves etcd itself instead of just
    // disappearing.
    if (server.resets < mostResets)
      return { act: 'reset', at: 'reset', graceful: member || server.role === 'worker' }
    return fail(
      'reset',
      `${server.name} was ordered ${mostResets} times to reset and still runs: see its log for the reason`,
    )
  }
  // A member that can't leave gracefully (etcd has no majority) is wiped anyway at the second
  // attempt.
  return { act: 'reset', at: 'reset', graceful: member && around.othersStay && server.resets === 0 }
}
