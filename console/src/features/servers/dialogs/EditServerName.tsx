import { useQuery } from '@tanstack/react-query'
import * as z from 'zod/mini'
import { nameLength, nameSentences } from '#contract/names.ts'
import type { Page } from '#contract/page.ts'
import { no, yes } from '#contract/rule.ts'
import {
  type ListedServer,
  type Server,
  serverGet,
  serverList,
  serverName,
  serverUpdate,
} from '#contract/servers/servers.ts'
import { storedUserId } from '../../../api/auth.ts'
import { call } from '../../../api/client.ts'
import { saidBy } from '../../../api/http.ts'
import { messages } from '../../../api/messages.ts'
import { keyOf, queryClient } from '../../../api/query.ts'
import { cliOf, curlOf } from '../../../lib/shell.ts'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { refreshServers, serversQuery } from '../server-queries.ts'

const renamed = 'Server name was updated successfully'

/** The problem of a new name, or null. The edited server may keep its own name. */
export function nameProblem(
  entered: string,
  id: string,
  others: readonly Pick<Server, 'id' | 'name'>[],
): string | null {
  const read = z.safeParse(serverName, entered)
  if (!read.success) return read.error.issues[0]?.message ?? nameSentences('Server').characters
  return others.some((s) => s.id !== id && s.name === read.data)
    ? nameSentences('Server').taken
    : null
}

/**
 * Changes a server's name in a cached page. Returns the same object if the page doesn't contain the
 * server.
 */
export function withName<P extends { items: Pick<Server, 'id' | 'name'>[] }>(
  page: P,
  id: string,
  name: string,
): P {
  if (!page.items.some((s) => s.id === id && s.name !== name)) return page
  return { ...page, items: page.items.map((s) => (s.id === id ? { ...s, name } : s)) }
}

const { Text } = fieldsFor<{ name: string }>()

/**
 * The modal `editServerName`. Lists show the new name at once. If the API refuses the name, lists
 * show the old name again, and the reason is shown.
 */
export default function EditServerName({
  serverId,
  name: before,
}: {
  serverId: string
  name: string
}) {
  const { open, close } = useDialog()
  const { data: all } = useQuery({ ...serversQuery({}), enabled: open })

  const rename = async (wanted: string) => {
    const [list, one] = [[keyOf(serverList)], [keyOf(serverGet), { params: { id: serverId } }]]
    await Promise.all([
      queryClient.cancelQueries({ queryKey: list }),
      queryClient.cancelQueries({ queryKey: one }),
    ])
    const cached = [
      ...queryClient.getQueriesData<Page<ListedServer>>({ queryKey: list }),
      ...queryClient.getQueriesData<Server>({ queryKey: one }),
    ]
    queryClient.setQueriesData<Page<ListedServer>>(
      { queryKey: list },
      (page) => page && withName(page, serverId, wanted),
    )
    queryClient.setQueryData<Server>(one, (known) => known && { ...known, name: wanted })
    const userId = storedUserId()
    try {
      await call(serverUpdate, { params: { id: serverId }, body: { name: wanted } })
      toast.success(
        renamed,
        wanted === before ? {} : { undo: () => rename(before).catch(() => undefined) },
      )
    } catch (error) {
      // After a sign-out the cache belongs to the next user.
      if (storedUserId() === userId)
        for (const [key, data] of cached) queryClient.setQueryData(key, data)
      toast.error(saidBy(error, messages.nameNotUpdated))
      throw error
    } finally {
      void refreshServers(serverId)
    }
  }
  const form = useForm({
    initial: { name: before },
    read: ({ name }) => {
      const problem = nameProblem(name, serverId, all?.items ?? [])
      return problem === null
        ? { ok: true, body: { name: name.trim() } }
        : { ok: false, fields: { name: problem } }
    },
    send: ({ name }) => rename(name),
    done: () => close(),
  })
  const name = form.values.name.trim()
  return (
    <FormDialog
      form={form}
      title="Edit server name"
      submit="Save"
      can={form.read.ok ? yes : no(form.read.fields['name'] ?? '')}
      command={
        <AsCommand
          cli={cliOf(['server', 'rename', before, name])}
          api={curlOf(serverUpdate, { id: serverId }, { name })}
          complete={form.read.ok && name !== before}
        />
      }
    >
      <Text
        name="name"
        label="Server name"
        hint={`Lowercase letters, numbers and single hyphens, at most ${nameLength.max} characters.`}
        autoCapitalize="none"
        eager
      />
    </FormDialog>
  )
}
