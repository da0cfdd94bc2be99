import { useState } from 'react'
import { useStore } from '../../lib/store.ts'
import { AssignDatacenter } from './AssignDatacenter.tsx'
import { ConfirmHardware } from './ConfirmHardware.tsx'
import { serverDialog } from './dialogs.ts'

/** How long a closed dialog keeps what it showed, in ms: until it has gone away. */
const restMs = 250

/** Shows the dialog about servers that is open, if any. Its data goes a little after it was closed, so that it does not flicker away. */
export function ServerDialogs() {
  const wanted = useStore(serverDialog)
  const [shown, setShown] = useState(wanted)
  const [turn, setTurn] = useState(0)
  if (wanted !== null && wanted !== shown) {
    setShown(wanted)
    setTurn(turn + 1)
  }
  if (shown === null) return null
  const open = wanted !== null
  const close = () => {
    serverDialog.set(null)
    setTimeout(() => serverDialog.get() === null && setShown(null), restMs)
  }
  if (shown.kind === 'assignDatacenter') return <AssignDatacenter key={turn} servers={shown.servers} done={shown.done} open={open} onClose={close} />
  return <ConfirmHardware key={turn} ids={shown.ids} open={open} onClose={close} />
}
