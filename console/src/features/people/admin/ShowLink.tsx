import { exact } from '../../../lib/time/time.ts'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Dialog } from '../../../ui/overlay/Dialog.tsx'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { Command } from '../../../ui/text/Copyable.tsx'

export interface ShownLink {
  title: string
  url: string
  /** When the link ends, in ISO 8601. */
  until: string
  text: string
}

/** Shows a link with a token, which is not shown again. */
export default function ShowLink({ title, url, until, text }: ShownLink) {
  const { close } = useDialog()
  return (
    <Dialog
      width="38rem"
      title={title}
      footer={<ActionButton label="Done" kind="primary" run={() => close()} />}
    >
      <div className="stack">
        <Alert tone="warn">Copy the link now: it is not shown again.</Alert>
        <Command command={url} prompt="" what="link" />
        <p className="fs13 t2">
          {text} It ends on {exact(until)}.
        </p>
      </div>
    </Dialog>
  )
}
