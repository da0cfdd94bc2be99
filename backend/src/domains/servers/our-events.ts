/** Entries of the audit log about a server, as events for people. */
import type { ServerEvent } from '#contract/servers/servers.ts'
import type * as z from 'zod/mini'
import type { Audit } from '../audit/audit.ts'

type Entry = Awaited<ReturnType<Audit['ofTarget']>>[number]

const sentences: Record<string, string> = {
  'server.added': 'Registered',
  'server.moved': 'Found at a new address',
  'server.identity_alarm': 'Other hardware answered',
  'server.confirmed': 'The hardware was confirmed',
  'server.renamed': 'Renamed',
  'server.moved_to_datacenter': 'Moved to another datacenter',
  'server.removed': 'Removed',
  'server.removed_by_force': 'Removed by force, without an answer from it',
  'server.install_failed': 'Talos was not installed',
  'server.failed': 'Failed',
  'server.reset_requested': 'A reset was asked for',
  'server.reset': 'Wiped and released from its cluster',
  'server.reboot_requested': 'A reboot was asked for',
  'server.shutdown_requested': 'A shutdown was asked for',
  'server.talosconfig_minted': 'A talosconfig was downloaded',
  'server.configured': 'The configuration was applied',
  'server.config_changed_outside': 'The configuration was changed outside of Steelyard',
  'server.images_changed_outside': 'Images were changed outside of Steelyard, and taken over',
  'server.taken_over': 'Taken over with its cluster',
  'server.drift_kept': 'Changes made outside of Steelyard were kept',
  'server.drift_overwritten': 'Changes made outside of Steelyard are to be overwritten',
  'patch.created': 'A patch was added',
  'patch.updated': 'A patch was changed',
  'patch.removed': 'A patch was removed',
}

export function ourEvents({ seq, at, action, actor, result, after }: Entry): z.output<typeof ServerEvent> {
  const name = typeof after?.['name'] === 'string' ? after['name'] : undefined
  const sentence = sentences[action] ?? action
  const token = typeof after?.['join_token'] === 'string' ? after['join_token'] : undefined
  const reason = typeof after?.['reason'] === 'string' ? after['reason'] : undefined
  const attempt = typeof after?.['attempt'] === 'number' ? `, attempt ${after['attempt']} of ${String(after['of'])}` : ''
  const detail =
    action === 'server.renamed' && name
      ? `${sentence} to ${name}`
      : action === 'server.added' && token
        ? `${sentence}: announced itself with the join token ${token}`
        : reason
          ? `${sentence}${attempt}: ${reason}`
          : sentence
  return { id: `audit-${seq}`, at, source: 'steelyard', type: action, message: result === 'ok' ? detail : `${detail}: refused (${result})`, by: actor }
}
