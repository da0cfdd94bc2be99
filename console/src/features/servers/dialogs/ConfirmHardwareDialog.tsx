import { counted } from '#contract/words.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Dialog } from '../../../ui/overlay/Dialog.tsx'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { HardwareToConfirm } from './ConfirmHardware.tsx'

export default function ConfirmHardwareDialog({ ids }: { ids: readonly string[] }) {
  const { close } = useDialog()
  return (
    <Dialog width="40rem" title={`Confirm the hardware of ${counted(ids.length, 'server')}`} footer={<ActionButton label="Close" run={() => close()} />}>
      <HardwareToConfirm ids={ids} />
    </Dialog>
  )
}
