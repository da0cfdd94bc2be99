import { changeOperations } from '#contract/clusters/changes/changes.ts'
import type { Remedy } from '#contract/clusters/changes/remedies.ts'
import { changeTable } from '#contract/clusters/changes/table.ts'
import { oneLine } from '../../text.ts'

/**
 * What follows the name of the cluster. `server`, `snapshot`: what the remedy is about, or SERVER
 * and SNAPSHOT if the user chooses it.
 */
const operandsOf: Partial<Record<Remedy['change'], (server: string, snapshot: string) => string>> =
  {
    endpoint: () => ' ADDRESS',
    grow: () => ' --control-plane SERVER',
    replace: (server) => ` ${server} --by SERVER`,
    restore: (_, snapshot) => ` ${snapshot} --dry-run`,
    shrink: (server) => ` --force ${server}`,
    upgradeKubernetes: () => ' VERSION',
    upgradeTalos: () => ' VERSION',
  }

/**
 * The commands that settle a problem of a cluster, each once: `steelyard cluster shrink web --force
 * cp-3`. Words in capitals are chosen by the user. `snapshot`: id of the newest snapshot, if it is
 * known.
 */
export const remedyCommands = (
  cluster: string,
  remedies: readonly Remedy[],
  snapshot = 'SNAPSHOT',
): string[] => [
  ...new Set(
    remedies.map(({ change, name }) =>
      oneLine(
        `steelyard ${changeTable[changeOperations[change]].command} ${cluster}${operandsOf[change]?.(name ?? 'SERVER', snapshot) ?? ''}`,
      ),
    ),
  ),
]
