import { useQuery } from '@tanstack/react-query'
import { backupCreate, backupList } from '#contract/storage/backups.ts'
import { no, yes } from '#contract/rule.ts'
import { storePlace } from '#contract/storage/stores.ts'
import { call } from '../../api/client.ts'
import { invalidate } from '../../api/query.ts'
import { cliOf, curlOf } from '../../lib/shell.ts'
import { Unread } from '../../ui/feedback/Unread.tsx'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { everyStore } from '../../layout/storage/every-store.ts'
import { NoStore } from '../../layout/storage/NoStore.tsx'

interface Typed {
  store_id: string
}
const { Choose } = fieldsFor<Typed>()

/** Takes a backup of Steelyard now. The list shows its progress. */
export default function TakeBackup() {
  const { close } = useDialog()
  const answer = useQuery(everyStore)
  const { data } = answer
  const stores = data?.items ?? []
  const form = useForm({
    initial: { store_id: '' },
    read: ({ store_id }: Typed) =>
      store_id === ''
        ? { ok: false, fields: { store_id: 'Choose a store' } }
        : { ok: true, body: { store_id } },
    send: (body: Typed, key) => call(backupCreate, { body }, { key }),
    done: async () => {
      await invalidate(backupList)
      close()
    },
  })
  return (
    <FormDialog
      form={form}
      title="Take a backup of Steelyard"
      submit="Take backup"
      busyText="Beginning"
      can={data?.items.length === 0 ? no('Add a store first') : yes}
      command={
        <AsCommand
          complete={form.read.ok}
          cli={cliOf(['backup', 'take'], {
            store: stores.find((s) => s.id === form.values.store_id)?.name,
          })}
          api={curlOf(backupCreate, {}, form.read.ok ? form.read.body : {})}
        />
      }
    >
      <p className="fs13 t2">
        The backup contains the database, the key file and the escrow files, encrypted with
        Steelyard’s passphrase.
      </p>
      <Unread what="The stores" of={answer} />
      {data?.items.length === 0 ? (
        <NoStore />
      ) : (
        <Choose
          name="store_id"
          label="Store"
          placeholder="Choose a store"
          options={stores.map((s) => ({ value: s.id, text: s.name, more: storePlace(s) }))}
        />
      )}
    </FormDialog>
  )
}
