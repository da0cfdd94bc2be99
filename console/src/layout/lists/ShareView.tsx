import {
  NewSharedView,
  type SharedView,
  sharedViewCreate,
  SharedViewChange,
  sharedViewList,
  sharedViewUpdate,
} from '#contract/people/shared-views.ts'
import { call } from '../../api/client.ts'
import { invalidate } from '../../api/query.ts'
import { readBy } from '../../lib/fields.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { useDialog } from '../../ui/overlay/dialogs.ts'

const { Text } = fieldsFor<{ name: string }>()

export type ShareViewProps =
  | { rename: SharedView }
  | { rename?: never; list: string; search: SharedView['search'] }

/** Asks for the name of a view to share, or for another name of a shared view. */
export default function ShareView(props: ShareViewProps) {
  const { close } = useDialog()
  const { rename } = props
  const form = useForm({
    initial: { name: rename?.name ?? '' },
    read: ({ name }) =>
      props.rename
        ? readBy(SharedViewChange, { name })
        : readBy(NewSharedView, { name, list: props.list, search: props.search }),
    send: (body, key) =>
      rename
        ? call(sharedViewUpdate, { params: { id: rename.id }, body }, { version: rename.version })
        : call(sharedViewCreate, { body: body as NewSharedView }, { key }),
    done: async ({ name }) => {
      await invalidate(sharedViewList)
      toast.success(rename ? `The view is now called ${name}` : `The view ${name} is shared`)
      close()
    },
  })
  return (
    <FormDialog
      form={form}
      title={rename ? `Rename ${rename.name}` : 'Share this view'}
      submit={rename ? 'Rename' : 'Share'}
      busyText="Saving"
    >
      <Text
        name="name"
        label="Name"
        hint="Everybody who may read the list sees the view, with its filters and order. You and admins can change and delete it."
      />
    </FormDialog>
  )
}
