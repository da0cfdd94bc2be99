import { Suspense, useEffect, useState } from 'react'
import { useStore } from '../../lib/store.ts'
import {
  closeDialog,
  closeDialogs,
  DialogContext,
  lastDialogId,
  openedDialogs,
  shownDialog,
} from './dialogs.ts'

/** Renders the opened dialogs, of which only one is visible. Each frame has one DialogHost. */
export function DialogHost() {
  // Leaves out dialogs of another frame that are still fading out: they need contexts that only
  // that frame provides.
  const [before] = useState(lastDialogId)
  const opened = useStore(openedDialogs).filter((one) => one.id > before)
  const shown = shownDialog(opened)
  useEffect(() => closeDialogs, [])
  return opened.map(({ id, element, open }) => (
    <Suspense key={id} fallback={null}>
      <DialogContext
        value={{ open: open && id === shown?.id, close: (answer) => closeDialog(id, answer) }}
      >
        {element}
      </DialogContext>
    </Suspense>
  ))
}
