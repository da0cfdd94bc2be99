import { counted } from '#contract/words.ts'
import { Button } from '../../../ui/inputs/Button.tsx'
import { Dialog } from '../../../ui/overlay/Dialog.tsx'
import { HardwareToConfirm } from './ConfirmHardware.tsx'

export default function ConfirmHardwareDialog({ ids, open, onClose }: { ids: readonly string[]; open: boolean; onClose: () => void }) {
  return (
    <Dialog
      open={open}
      onClose={onClose}
      width="40rem"
      title={`Confirm the hardware of ${counted(ids.length, 'server')}`}
      footer={<Button onClick={onClose}>Close</Button>}
    >
      <HardwareToConfirm ids={ids} />
    </Dialog>
  )
}
