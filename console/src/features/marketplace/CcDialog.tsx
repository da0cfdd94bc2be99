import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useDeferredValue, useEffect, useId, useState } from 'react'
import { type CapacityCommitment, ccCreate, ccUpdate } from '#contract/marketplace/ccs.ts'
import { serverRows } from '#contract/servers/servers.ts'
import { call } from '../../api/client.ts'
import { query } from '../../api/query.ts'
import { TermFields } from '../../layout/commitment/TermFields.tsx'
import { byField } from '../../layout/commitment/terms.ts'
import { curlOf } from '../../lib/shell.ts'
import { sentence } from '../../lib/text.ts'
import { serverNow } from '../../lib/time/server-time.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { TextInput } from '../../ui/inputs/Field.tsx'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { blank, changeOf, commandOf, readForm, type Typed, typedOf } from './cc-form.ts'
import { refreshCcs } from './cc-queries.ts'

const { Check, Custom } = fieldsFor<Typed>()

/** How many servers are suggested. */
const mostSuggested = 8

/** Suggests servers for a typed name, and finds the server with exactly this name. */
function useServers(name: string, enabled: boolean) {
  const q = useDeferredValue(name)
  const { data } = useQuery({
    ...query(serverRows, { query: { q, page: 1, per_page: mostSuggested, fields: 'list' } }),
    enabled: enabled && q !== '',
    placeholderData: keepPreviousData,
  })
  const items = data?.items ?? []
  return { suggested: items, found: items.find((s) => s.name === name || s.id === name) }
}

/** Adds a commitment of a server's capacity, or edits a draft. */
export default function CcDialog({ edit }: { edit: CapacityCommitment | null }) {
  const { close } = useDialog()
  const [name, setName] = useState(edit?.server.name ?? '')
  const { suggested, found } = useServers(name, edit === null)
  const list = useId()
  const form = useForm({
    initial: edit ? typedOf(edit) : blank,
    read: (typed) => readForm(typed, serverNow(), edit),
    send: (body, key) =>
      edit
        ? call(
            ccUpdate,
            { params: { id: edit.id }, body: changeOf(body) },
            { version: edit.version },
          )
        : call(ccCreate, { body }, { key }),
    at: byField,
    done: async ({ server, status }) => {
      await refreshCcs()
      toast.success(
        status === 'not_committed'
          ? `The draft of ${server.name} is saved`
          : `The capacity of ${server.name} is committed`,
      )
      close()
    },
  })
  const { set } = form
  const id = edit === null ? found?.id : edit.server.id
  useEffect(() => set({ node_id: id ?? '' }), [set, id])
  const { commit } = form.values
  const body = form.read.ok ? form.read.body : null
  return (
    <FormDialog
      form={form}
      width="36rem"
      title={edit ? `Edit the commitment of ${edit.server.name}` : 'Commit capacity'}
      submit={commit ? 'Commit capacity' : 'Save draft'}
      busyText="Saving"
      command={
        <AsCommand
          complete={body !== null}
          cli={body === null ? '' : commandOf(body, name, edit === null)}
          api={
            body === null
              ? ''
              : edit
                ? curlOf(ccUpdate, { id: edit.id }, changeOf(body), { version: edit.version })
                : curlOf(ccCreate, {}, body)
          }
        />
      }
    >
      <Custom
        name="node_id"
        label="Server"
        hint={edit ? 'Fixed' : 'Its whole capacity is committed'}
      >
        <TextInput
          name="node_id"
          value={name}
          onValue={setName}
          onBlur={() => name !== '' && form.leave('node_id')}
          list={list}
          readOnly={edit !== null}
          autoComplete="off"
          spellCheck={false}
        />
      </Custom>
      <datalist id={list}>
        {suggested.map((s) => (
          <option key={s.id} value={s.name}>
            {[
              s.datacenter?.code,
              s.capacity_commitment && sentence(s.capacity_commitment.status).toLowerCase(),
            ]
              .filter(Boolean)
              .join(', ')}
          </option>
        ))}
      </datalist>
      <TermFields optional={!commit} emptyStart="Empty: when the delegation is confirmed" />
      <Check name="commit" label="Commit the capacity now: the terms can’t be changed afterwards" />
    </FormDialog>
  )
}
