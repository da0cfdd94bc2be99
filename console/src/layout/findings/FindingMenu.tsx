import type { Finding } from '#contract/findings/findings.ts'
import { Button } from '../../ui/inputs/Button.tsx'
import { Menu } from '../../ui/overlay/Menu.tsx'
import { findingActions } from './finding-actions.ts'

/** The menu of an open finding. */
export const FindingMenu = ({ finding }: { finding: Finding }) => (
  <Menu
    label={`Actions on ${finding.object.name}`}
    trigger={
      <Button
        kind="ghost"
        size="small"
        icon="more"
        aria-label={`Actions on ${finding.object.name}`}
      />
    }
    items={() => findingActions(finding)}
  />
)
