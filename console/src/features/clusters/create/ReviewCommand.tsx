import { clusterCreate, type NewClusterInput } from '#contract/clusters/clusters.ts'
import type { Server } from '#contract/servers/servers.ts'
import { curlOf } from '../../../lib/shell.ts'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { createCommand } from './create-command.ts'
import type { Draft } from './draft.ts'

interface ReviewCommandProps {
  draft: Draft
  /** The body of the call. */
  body: NewClusterInput
  /** All servers of the datacenter; undefined until loaded. */
  servers: readonly Server[] | undefined
  /** Code of the datacenter. */
  datacenter: string
}

/**
 * The creation as a command. The command line reads patches from files. A patch in the draft has no
 * file, so only the call of the API is shown if the draft contains a patch.
 */
export const ReviewCommand = ({ draft, body, servers, datacenter }: ReviewCommandProps) => (
  <AsCommand
    {...(!Object.values(draft.servers).some((c) => c.patch) && {
      cli: createCommand(draft, servers ?? [], datacenter, body),
    })}
    api={curlOf(clusterCreate, {}, body)}
    complete={servers !== undefined}
  />
)
