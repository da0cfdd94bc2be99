import type { Finding } from '#contract/findings/findings.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { IconButton } from '../../ui/inputs/Button.tsx'
import { Menu } from '../../ui/overlay/Menu.tsx'
import { findingActions } from './finding-actions.ts'
import { remediesFrom } from './remedies.ts'

/**
 * What mends a finding: the first remedy as a button, and a menu with all else. `here`: the page on
 * which it stands.
 */
export function FindingMenu({ finding, here = '' }: { finding: Finding; here?: string }) {
  const [first, ...more] = remediesFrom(here, finding)
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
