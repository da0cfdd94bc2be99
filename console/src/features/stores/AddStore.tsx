import { useQuery } from '@tanstack/react-query'
import { NewStore, storeCreate, storeFolderList, storeList } from '#contract/storage/stores.ts'
import { call } from '../../api/client.ts'
import { invalidate, query } from '../../api/query.ts'
import { readBy } from '../../lib/fields.ts'
import { curlOf } from '../../lib/shell.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'

const blank = {
  name: '',
  kind: 's3' as 's3' | 'folder',
  folder: '',
  endpoint: '',
  region: 'us-east-1',
  bucket: '',
  prefix: '',
  path_style: true,
  access_key_id: '',
  secret_access_key: '',
}
type Typed = typeof blank
const { Text, Choose, Check } = fieldsFor<Typed>()

const read = ({ name, kind, folder, path_style, ...s3 }: Typed) =>
  readBy(NewStore, kind === 'folder' ? { name, kind, folder } : { name, kind, path_style, ...s3 })

/** Where the folder may be. `allowed`: undefined until it is known. */
const folderHint = (allowed: readonly string[] | undefined): string =>
  allowed?.[0] === undefined
    ? 'An absolute path inside STEELYARD_STORE_FOLDERS'
    : `Inside ${allowed.join(' or ')}, such as ${allowed[0].replace(/\/$/, '')}/snapshots. The setting STEELYARD_STORE_FOLDERS allows other folders`

/**
 * Adds a store. The server writes a file to it, reads it back and removes it before the store is
 * added.
 */
export default function AddStore() {
  const { close } = useDialog()
  const folders = useQuery(query(storeFolderList))
  const form = useForm({
    initial: blank,
    read,
    send: (body, key) => call(storeCreate, { body }, { key }),
    done: async ({ name }) => {
      await invalidate(storeList)
      toast.success(`${name} was added`)
      close()
    },
  })
  return (
    <FormDialog
      form={form}
      title="Add store"
      submit="Add store"
      busyText="Testing the store"
      command={
        <AsCommand
          complete={form.read.ok}
          api={curlOf(
            storeCreate,
            {},
            form.read.ok ? { ...form.read.body, secret_access_key: '…' } : {},
          )}
        />
      }
    >
      <Text name="name" label="Name" autoCapitalize="none" />
      <Choose
        name="kind"
        label="Kind"
        options={[
          { value: 's3', text: 'S3-compatible service' },
          { value: 'folder', text: "Folder on Steelyard's machine" },
        ]}
      />
      {form.values.kind === 'folder' ? (
        <Text
          name="folder"
          label="Folder"
          hint={folderHint(folders.data?.folders)}
          mono
          autoCapitalize="none"
        />
      ) : (
        <>
          <Text
            name="endpoint"
            label="Endpoint"
            hint="Such as https://s3.eu-central-1.amazonaws.com"
            mono
            inputMode="url"
            autoCapitalize="none"
          />
          <Text name="region" label="Region" mono autoCapitalize="none" />
          <Text name="bucket" label="Bucket" mono autoCapitalize="none" />
          <Text
            name="prefix"
            label="Prefix"
            optional
            hint="Prefix of the name of every file"
            mono
            autoCapitalize="none"
          />
          <Check
            name="path_style"
            label="Put the bucket into the path of the URL, not into the host name"
          />
          <Text name="access_key_id" label="Access key id" mono autoCapitalize="none" />
          <Text name="secret_access_key" label="Secret access key" type="password" />
        </>
      )}
    </FormDialog>
  )
}
