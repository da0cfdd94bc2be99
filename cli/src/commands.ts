import type { Contexts } from './api/contexts.ts'
import type { Sessions } from './api/sessions.ts'
import type { Command } from './command.ts'
import { channelCommands } from './commands/alerts/channels.ts'
import { alertCommands } from './commands/alerts/alerts.ts'
import { apiCommand } from './commands/general/api.ts'
import { apiTokenCommands } from './commands/api-tokens.ts'
import { auditCommands } from './commands/audit.ts'
import { backupCommands } from './commands/storage/backups.ts'
import { bmcCommands } from './commands/bmcs/bmcs.ts'
import { bmcCredentialCommands } from './commands/bmcs/credentials.ts'
import { powerCommands } from './commands/bmcs/power.ts'
import { ccCommands } from './commands/ccs.ts'
import { applyCommands } from './commands/apply.ts'
import { clusterChangeCommands } from './commands/cluster-changes/commands.ts'
import { clusterCommands } from './commands/clusters.ts'
import { completionCommand } from './commands/general/completion.ts'
import { contextCommands } from './commands/contexts.ts'
import { datacenterCommands } from './commands/datacenters.ts'
import { findingCommands } from './commands/cluster-state/findings.ts'
import { incidentCommands } from './commands/cluster-state/incidents.ts'
import { historyCommands } from './commands/cluster-state/history.ts'
import { usageCommands } from './commands/cluster-state/usage.ts'
import { imageCommands } from './commands/images.ts'
import { invitationCommands } from './commands/invitations.ts'
import { labelCommands } from './commands/labels/labels.ts'
import { offerCommands } from './commands/offers.ts'
import { operationCommands } from './commands/operations.ts'
import { pastCommands, withPast } from './commands/past.ts'
import { patchCommands } from './commands/patches.ts'
import { programCommands } from './commands/program.ts'
import { listExportCommands } from './commands/lists/list-exports.ts'
import { groupCommands } from './commands/lists/groups.ts'
import { rackFileCommands } from './commands/racks/rack-files.ts'
import { rackCommands } from './commands/racks/racks.ts'
import { serverActionCommands } from './commands/server-actions.ts'
import { serverCommands } from './commands/servers.ts'
import { openSessionCommands, sessionCommands } from './commands/session.ts'
import { templateCommands } from './commands/templates/templates.ts'
import { restorationCommands } from './commands/storage/restoration.ts'
import { sharedPatchCommands } from './commands/shared-patches/shared-patches.ts'
import { snapshotCommands } from './commands/storage/snapshots.ts'
import { storeCommands } from './commands/storage/stores.ts'
import { subnetCommands } from './commands/subnets.ts'
import { takeoverCommands } from './commands/takeover.ts'
import { tokenCommands } from './commands/tokens.ts'
import { userCommands } from './commands/users.ts'

/** Every command, in the order in which the help shows them. */
export function allCommands(sessions: Sessions, contexts: Contexts): readonly Command[] {
  const commands: readonly Command[] = [
    ...sessionCommands(sessions),
    ...contextCommands(sessions, contexts),
    ...withPast(serverCommands),
    ...serverActionCommands,
    ...powerCommands,
    ...bmcCommands,
    ...bmcCredentialCommands,
    ...imageCommands,
    ...tokenCommands,
    ...patchCommands,
    ...sharedPatchCommands,
    ...templateCommands,
    ...withPast(clusterCommands),
    ...clusterChangeCommands,
    ...labelCommands,
    ...takeoverCommands,
    ...datacenterCommands,
    ...rackCommands,
    ...listExportCommands,
    ...groupCommands,
    ...rackFileCommands,
    ...storeCommands,
    ...snapshotCommands,
    ...backupCommands,
    ...restorationCommands,
    ...subnetCommands,
    ...offerCommands,
    ...ccCommands,
    ...applyCommands,
    ...incidentCommands,
    ...withPast(findingCommands),
    ...pastCommands,
    ...historyCommands,
    ...usageCommands,
    ...channelCommands,
    ...alertCommands,
    ...operationCommands,
    ...userCommands,
    ...invitationCommands,
    ...openSessionCommands,
    ...apiTokenCommands,
    ...auditCommands,
    ...programCommands,
    apiCommand,
    completionCommand(() => commands),
  ]
  return commands
}
