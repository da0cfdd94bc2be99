import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { nameLength } from '#contract/names.ts'
import type { Page } from '#contract/page.ts'
import { no, yes } from '#contract/rule.ts'
import { type Server, serverGet, serverList, serverUpdate } from '#contract/servers/servers.ts'
import { call } from '../../../api/client.ts'
import { saidBy } from '../../../api/http.ts'
import { keyOf } from '../../../api/query.ts'
import { cliOf, curlOf } from '../../../lib/shell.ts'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { Button } from '../../../ui/inputs/Button.tsx'
import { Dialog } from '../../../ui/overlay/Dialog.tsx'
import { Field, TextInput } from '../../../ui/inputs/Field.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { nameProblem, renameToasts, withName } from './rename.ts'
import { refreshServers, serversQuery } from '../server-queries.ts'

/** What the modal is opened with. */
export interface EditServerNameData {
  serverId: string
  name: string
}

/** The modal `editServerName`. The lists show the new name at once; where the server refuses they go back, and say why. */
export default function EditServerName({ open, data: { serverId, name: before }, close }: { open: boolean; data: EditServerNameData; close: () => void }) {
  const client = useQueryClient()
  const [name, setName] = useState(before)
  const [touched, setTouched] = useState(false)
  const { data: all } = useQuery({ ...serversQuery({}), enabled: open })
  const problem = nameProblem(name, serverId, all?.items ?? [])
  const rename = useMutation({
    mutationFn: (wanted: string) => call(serverUpdate, { params: { id: serverId }, body: { name: wanted } }),
    onMutate: async (wanted) => {
      const [list, one] = [[keyOf(serverList)], [keyOf(serverGet), { params: { id: serverId } }]]
      await Promise.all([client.cancelQueries({ queryKey: list }), client.cancelQueries({ queryKey: one })])
      const cached = [...client.getQueriesData<Page<Server>>({ queryKey: list }), ...client.getQueriesData<Server>({ queryKey: one })]
      client.setQueriesData<Page<Server>>({ queryKey: list }, (page) => page && withName(page, serverId, wanted))
      client.setQueryData<Server>(one, (known) => known && { ...known, name: wanted })
      return { cached }
    },
    onError: (error, _, context) => {
      for (const [key, data] of context?.cached ?? []) client.setQueryData(key, data)
      toast.error(saidBy(error, renameToasts.failed))
    },
    onSuccess: (_, wanted) => {
      toast.success(renameToasts.done, wanted === before ? {} : { undo: () => rename.mutate(before) })
      close()
    },
    onSettled: () => refreshServers(client, serverId),
  })
  const ready = problem === null && !rename.isPending
  const submit = () => {
    if (ready) rename.mutate(name.trim())
  }
  return (
    <Dialog
      open={open}
      onClose={close}
      locked={rename.isPending}
      title="Edit server name"
      footer={
        <>
          <span className="grow hide-sm">
            <AsCommand
              cli={cliOf(['server', 'rename', before, name.trim()])}
              api={curlOf(serverUpdate, { id: serverId }, { name: name.trim() }, { origin: location.origin })}
              complete={problem === null && name.trim() !== before}
            />
          </span>
          <Button onClick={close}>Cancel</Button>
          <Button kind="primary" busy={rename.isPending} busyText="Loading" can={problem === null ? yes : no(problem)} onClick={submit}>
            Save
          </Button>
        </>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
      >
        <Field
          label="Server name"
          error={touched ? problem : null}
          hint={`Lowercase letters, numbers and single hyphens, at most ${nameLength.max} characters.`}
        >
          <TextInput
            name="name"
            value={name}
            onValue={(value) => {
              setTouched(true)
              setName(value)
            }}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
          />
        </Field>
      </form>
    </Dialog>
  )
}
