import { type MissingProps, MissingNotice } from '../part.tsx'
import { useDialog } from './dialog-scope.ts'

/** A notice in place of a dialog whose code failed to load. */
export function MissingDialog({ retry }: MissingProps<object>) {
  const { open, close } = useDialog()
  return open && <MissingNotice centred retry={retry} onClose={() => close()} />
}
