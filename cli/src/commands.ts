import type { Sessions } from './api/sessions.ts'
import type { Command } from './command.ts'
import { clusterCommands } from './commands/clusters.ts'
import { completionCommand } from './commands/completion.ts'
import { datacenterCommands } from './commands/datacenters.ts'
import { operationCommands } from './commands/operations.ts'
import { patchCommands } from './commands/patches.ts'
import { programCommands } from './commands/program.ts'
import { serverCommands } from './commands/servers.ts'
import { sessionCommands } from './commands/session.ts'
import { userCommands } from './commands/users.ts'

/** Every command, in the order in which the help shows them. */
export function allCommands(sessions: Sessions): readonly Command[] {
  const commands: readonly Command[] = [
    ...sessionCommands(sessions),
    ...serverCommands,
    ...patchCommands,
    ...clusterCommands,
    ...datacenterCommands,
    ...operationCommands,
    ...userCommands,
    ...programCommands,
    completionCommand(() => commands),
  ]
  return commands
}
