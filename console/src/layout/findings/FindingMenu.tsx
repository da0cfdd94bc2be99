import type { Finding } from '#contract/findings/findings.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { IconButton } from '../../ui/inputs/Button.tsx'
import { Menu } from '../../ui/overlay/Menu.tsx'
import { findingActions } from './finding-actions.ts'
import { remedyActions } from './remedies.ts'

/** What mends a finding: the first remedy as a button, and a menu with all else. */
export function FindingMenu({ finding }: { finding: Finding }) {
  const [first, ...more] = remedyActions(finding)
  const label = `Actions on ${finding.object.name}`
  return (
    <>
      {first && <ActionButton {...first} size="small" />}
      <Menu
        label={label}
        trigger={<IconButton icon="more" label={label} />}
        items={() => [...more, ...findingActions(finding)]}
      />
    </>
  )
}
