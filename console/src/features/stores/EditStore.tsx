import { type Store, storeList, storeUpdate } from '#contract/storage/stores.ts'
import { call } from '../../api/client.ts'
import { invalidate } from '../../api/query.ts'
import { curlOf } from '../../lib/shell.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { changeStore } from './change-store.ts'
import { readChange, type Typed, valuesOf } from './store-form.ts'

const { Text, Check } = fieldsFor<Typed>()

/**
 * Changes a store. Only what was changed is sent. The server tests the store with the changes
 * before it saves them.
 */
export default function EditStore({ store }: { store: Store }) {
  const { close } = useDialog()
  const initial = valuesOf(store)
  const form = useForm({
    initial,
    read: (typed) => readChange(initial, typed),
    send: (body) =>
      changeStore(store, (version) =>
        call(storeUpdate, { params: { id: store.id }, body }, { version }),
      ),
    done: async ({ name }, body) => {
      await invalidate(storeList)
      toast.success(
        Object.keys(body).every((field) => field === 'name')
          ? `${name} was changed`
          : `${name} was tested and changed`,
      )
      close()
    },
  })
  const body = form.read.ok ? form.read.body : {}
  return (
    <FormDialog
      form={form}
      title={`Edit ${store.name}`}
      submit="Save store"
      busyText={store.kind === 's3' ? 'Testing the store' : 'Saving'}
      can={form.dirty ? undefined : { ok: false, reason: 'Nothing was changed' }}
      command={
        <AsCommand
          complete={form.read.ok && form.dirty}
          api={curlOf(
            storeUpdate,
            { id: store.id },
            { ...body, ...('secret_access_key' in body && { secret_access_key: '…' }) },
            { version: store.version },
          )}
        />
      }
    >
      <Text name="name" label="Name" autoCapitalize="none" />
      {store.kind === 'folder' ? (
        <p className="fs13 t2">
          The folder <span className="mono">{store.folder}</span> can’t be changed: add another
          store instead.
        </p>
      ) : (
        <>
          <Text name="endpoint" label="Endpoint" mono inputMode="url" autoCapitalize="none" />
          <Text name="region" label="Region" mono autoCapitalize="none" />
          <Text name="bucket" label="Bucket" mono autoCapitalize="none" />
          <Text
            name="prefix"
            label="Prefix"
            optional
            hint="Files don’t move: copy them to a new bucket or prefix first"
            mono
            autoCapitalize="none"
          />
          <Check
            name="path_style"
            label="Put the bucket into the path of the URL, not into the host name"
          />
          <Text name="access_key_id" label="Access key id" mono autoCapitalize="none" />
          <Text
            name="secret_access_key"
            label="New secret access key"
            optional
            hint="Leave it empty to keep the present one, which is never shown"
            type="password"
          />
        </>
      )}
    </FormDialog>
  )
}
