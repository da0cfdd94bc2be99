import type { StoppedUpgrade } from '#contract/findings/findings.ts'
import { paths } from '../../lib/paths.ts'

/** "2 of 3 on v1.13.9, stopped 18:01 UTC · Go on": the link leads to the operation that goes on. */
export const WantedUpgrade = ({ upgrade }: { upgrade: StoppedUpgrade }) => (
  <span title={upgrade.sentence}>
    {upgrade.sentence} · <a href={paths.operation(upgrade.operation_id)}>Go on</a>
  </span>
)
