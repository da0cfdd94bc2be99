import { useQuery } from '@tanstack/react-query'
import { serverQueryOf } from '../../../api/one-server.ts'
import { labelledOf } from '../../../layout/labels/labelled.ts'
import EditLabels from '../../../layout/labels/EditLabels.tsx'
import { ErrorState, SkeletonRows } from '../../../ui/feedback/States.tsx'
import { Dialog } from '../../../ui/overlay/Dialog.tsx'

/** Edits the labels and notes of a server of a list, which doesn't have the notes. */
export function EditServerLabels({ id, name }: { id: string; name: string }) {
  const { data, error, refetch } = useQuery(serverQueryOf(id))
  if (data !== undefined) return <EditLabels of={labelledOf('server', data)} />
  return (
    <Dialog title={`Labels and notes of ${name}`} width="34rem">
      {error === null ? (
        <SkeletonRows rows={3} />
      ) : (
        <ErrorState error={error} onRetry={() => void refetch()} />
      )}
    </Dialog>
  )
}
