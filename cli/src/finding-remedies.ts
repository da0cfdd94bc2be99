/** The commands that mend a finding, or show more of it. */
import type { Finding } from '#contract/findings/findings.ts'
import type { RemedyAction } from '#contract/findings/kinds.ts'
import { oneLine } from './text.ts'

type Mended = Pick<Finding, 'id' | 'object' | 'cluster' | 'remedies'>

interface Of {
  readonly finding: Mended
  /** The object's name. */
  readonly name: string
  /** The name of its cluster. */
  readonly cluster: string
}

/** What follows `steelyard`. Words in capitals are chosen by the user. */
const commandOf: Readonly<Record<RemedyAction, (of: Of) => string>> = {
  backups: () => 'backup list',
  certificates: ({ cluster }) => `cluster certificates ${cluster}`,
  channels: () => 'channel list',
  confirm: ({ name }) => `server confirm ${name}`,
  defragment: ({ cluster }) => `cluster defragment ${cluster}`,
  drift: ({ name }) => `server drift ${name}`,
  health: ({ cluster }) => `cluster health ${cluster}`,
  operation: ({ finding }) => {
    // The end of the call's path: `retry` or `resume`.
    const [id = 'OPERATION', act = 'retry'] =
      finding.remedies
        .find((r) => r.action === 'operation')
        ?.call.split('/')
        .slice(-2) ?? []
    return `operation ${act} ${id}`
  },
  pools: ({ cluster }) => `subnet assign ${cluster} SUBNET`,
  quarantine: ({ name }) => `server quarantine ${name} REASON`,
  replace: ({ name, cluster }) => `cluster replace ${cluster} ${name} --by SERVER`,
  restart: ({ name }) => `server reboot ${name}`,
  restore: ({ cluster }) => `cluster restore ${cluster} SNAPSHOT --dry-run`,
  resume: ({ cluster }) => `cluster resume ${cluster}`,
  'roll-out': () => 'shared-patch list --sort=-behind',
  secrets: ({ cluster }) => `cluster import-secrets ${cluster}`,
  server: ({ name }) => `server show ${name}`,
  servers: ({ finding }) => `finding affected ${finding.id}`,
  snapshot: ({ cluster }) => `cluster snapshot ${cluster}`,
  timeline: ({ cluster }) => `operation list --search ${cluster}`,
}

/** `steelyard cluster defragment web`, of each remedy, each once. */
export const remedyCommands = (finding: Mended): string[] => [
  ...new Set(
    finding.remedies.map(({ action }) => {
      const { object, cluster } = finding
      const of = { finding, name: object.name, cluster: cluster?.name ?? object.name }
      return oneLine(`steelyard ${commandOf[action](of)}`)
    }),
  ),
]
