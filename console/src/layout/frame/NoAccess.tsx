import { Empty } from '../../ui/feedback/States.tsx'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { paths } from '../../lib/paths.ts'

/** Shown in place of a page that the user may not see. `what` names the page's content, `reason` why it is not shown. */
export const NoAccess = ({ what, reason }: { what: string; reason: string }) => (
  <Empty
    boxed
    title={`You may not see ${what}`}
    text={`${reason}. Ask an admin of this Steelyard for another role.`}
    actions={<ActionButton label="Overview" to={paths.home} />}
  />
)
