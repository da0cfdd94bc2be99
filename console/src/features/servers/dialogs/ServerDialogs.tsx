import { lazy, Suspense, useEffect, useState } from 'react'
import { patiently } from '../../../lib/code.ts'
import { useStore } from '../../../lib/store.ts'
import { type ServerDialog, serverDialog } from './dialogs.ts'

// Each comes when it is first opened: the list of servers does without them.
const AssignDatacenter = lazy(patiently(() => import('./AssignDatacenter.tsx')))
const ConfirmHardware = lazy(patiently(() => import('./ConfirmHardwareDialog.tsx')))
const RemoveServers = lazy(patiently(() => import('./RemoveServers.tsx')))
const LeaveCluster = lazy(patiently(() => import('./LeaveCluster.tsx')))

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
  // It belongs to the page: it is not found open on the next one.
  useEffect(() => () => serverDialog.set(null), [])
  if (shown === null) return null
  const close = () => {
    serverDialog.set(null)
    setTimeout(() => serverDialog.get() === null && setShown(null), restMs)
  }
  return (
    <Suspense fallback={null}>
      <Shown key={turn} dialog={shown} open={wanted !== null} onClose={close} />
    </Suspense>
  )
}

function Shown({ dialog, ...rest }: { dialog: ServerDialog; open: boolean; onClose: () => void }) {
  switch (dialog.kind) {
    case 'assignDatacenter':
      return <AssignDatacenter servers={dialog.servers} done={dialog.done} {...rest} />
    case 'removeServers':
      return <RemoveServers servers={dialog.servers} done={dialog.done} {...rest} />
    case 'forceRemove':
      return <LeaveCluster way="remove" server={dialog.server} {...rest} />
    case 'resetServer':
      return <LeaveCluster way="reset" server={dialog.server} {...rest} />
    default:
      return <ConfirmHardware ids={dialog.ids} {...rest} />
  }
}
