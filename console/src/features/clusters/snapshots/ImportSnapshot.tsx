import { useQuery } from '@tanstack/react-query'
import type { Cluster } from '#contract/clusters/clusters.ts'
import { snapshotImport, snapshotList } from '#contract/clusters/changes/snapshots.ts'
import { no, yes } from '#contract/rule.ts'
import { storePlace } from '#contract/storage/stores.ts'
import { call } from '../../../api/client.ts'
import { invalidate } from '../../../api/query.ts'
import { cliOf, curlOf } from '../../../lib/shell.ts'
import { toast } from '../../../ui/feedback/toast.ts'
import { Unread } from '../../../ui/feedback/Unread.tsx'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { everyStore } from '../../../layout/storage/every-store.ts'
import { NoStore } from '../../../layout/storage/NoStore.tsx'

interface Typed {
  store_id: string
  file: string
}
const { Text, Choose } = fieldsFor<Typed>()

const namePattern = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/

/**
 * Imports a file of `etcdctl snapshot save` or `talosctl etcd snapshot` that lies in a store.
 * Steelyard makes an encrypted copy and checks it.
 */
export default function ImportSnapshot({ cluster }: { cluster: Cluster }) {
  const { close } = useDialog()
  const answer = useQuery(everyStore)
  const { data } = answer
  const stores = data?.items ?? []
  const form = useForm({
    initial: { store_id: '', file: '' },
    read: ({ store_id, file }: Typed) => {
      const name = file.trim()
      const fields = {
        ...(store_id === '' && { store_id: 'Choose a store' }),
        ...(name === '' && { file: 'Enter the name of the file' }),
        ...(name !== '' &&
          !namePattern.test(name) && {
            file: 'The name consists of letters, digits, dots, hyphens and underscores, with slashes between',
          }),
      }
      return Object.keys(fields).length > 0
        ? { ok: false, fields }
        : { ok: true, body: { store_id, file: name } }
    },
    send: (body: Typed, key) => call(snapshotImport, { params: { id: cluster.id }, body }, { key }),
    done: async () => {
      await invalidate(snapshotList)
      toast.success(
        'The file is being read and checked. The list shows when the snapshot is ready, or why it was refused.',
      )
      close()
    },
  })
  const store = stores.find((s) => s.id === form.values.store_id)
  return (
    <FormDialog
      form={form}
      title={`Import a snapshot of ${cluster.name}`}
      submit="Import snapshot"
      busyText="Importing"
      can={data?.items.length === 0 ? no('Add a store first') : yes}
      command={
        <AsCommand
          complete={form.read.ok}
          cli={cliOf(['snapshot', 'import', cluster.name], {
            store: store?.name,
            file: form.values.file.trim(),
          })}
          api={curlOf(snapshotImport, { id: cluster.id }, form.read.ok ? form.read.body : {})}
        />
      }
    >
      <p className="fs13 t2">
        Put a file of <code>etcdctl snapshot save</code> or <code>talosctl etcd snapshot</code> into
        a store, and name it here. A file that is cut short or changed, or of a newer etcd than the
        cluster runs, is refused. Remove your file afterwards: it contains all secrets of the
        cluster.
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
      <Text
        name="file"
        label="File"
        hint="Its name in the store, without the prefix of the store, such as import/web.db"
        mono
        autoCapitalize="none"
      />
    </FormDialog>
  )
}
