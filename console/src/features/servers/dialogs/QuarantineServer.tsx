import { useQuery } from '@tanstack/react-query'
import {
  NewQuarantine,
  quarantineReasonLength,
  quarantineText,
} from '#contract/servers/quarantine.ts'
import { type Quarantine, serverUpdate } from '#contract/servers/servers.ts'
import { call } from '../../../api/client.ts'
import { serverQueryOf } from '../../../api/one-server.ts'
import { readBy } from '../../../lib/fields.ts'
import { cliOf, curlOf } from '../../../lib/shell.ts'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { refreshServers } from '../server-queries.ts'

interface Props {
  server: { id: string; name: string; quarantine?: Quarantine | null | undefined }
  /** The proposed reason. */
  reason?: string
}
const { Text } = fieldsFor<{ reason: string }>()

const set = async (id: string, quarantine: { reason: string } | null): Promise<void> => {
  await call(serverUpdate, { params: { id }, body: { quarantine } })
  await refreshServers(id)
}

/** Puts a server into quarantine, or lifts its quarantine. */
export default function QuarantineServer({ server, reason = '' }: Props) {
  const { id, name, quarantine } = server
  return quarantine ? (
    <Lift id={id} name={name} quarantine={quarantine} />
  ) : (
    <Quarantining id={id} name={name} reason={reason} />
  )
}

interface Of {
  id: string
  name: string
}

function Lift({ id, name, quarantine }: Of & { quarantine: Quarantine }) {
  const { close } = useDialog()
  const form = useForm({
    initial: {},
    read: () => ({ ok: true, body: null }),
    send: (body) => set(id, body),
    done: () => {
      toast.success(`${name} may be used again`, {
        undo: () => set(id, { reason: quarantine.reason }),
      })
      close()
    },
  })
  return (
    <FormDialog
      form={form}
      title={`Lift the quarantine of ${name}?`}
      submit="Lift quarantine"
      busyText="Saving"
      command={
        <AsCommand
          cli={cliOf(['server', 'quarantine', name], { lift: true })}
          api={curlOf(serverUpdate, { id }, { quarantine: null })}
        />
      }
    >
      <p>{quarantineText(quarantine)}</p>
    </FormDialog>
  )
}

function Quarantining({ id, name, reason }: Of & { reason: string }) {
  const { close } = useDialog()
  // A finding that proposes a quarantine doesn't say whether the server is in one already.
  const { data } = useQuery(serverQueryOf(id))
  const before = data?.quarantine ?? null
  const form = useForm({
    initial: { reason: reason.slice(0, quarantineReasonLength) },
    read: (typed) => readBy(NewQuarantine, typed),
    send: (body) => set(id, body),
    done: () => {
      toast.success(`${name} is in quarantine`, {
        undo: () => set(id, before && { reason: before.reason }),
      })
      close()
    },
  })
  const typed = form.values.reason.trim()
  return (
    <FormDialog
      form={form}
      title={`Put ${name} into quarantine`}
      submit="Quarantine"
      busyText="Saving"
      command={
        <AsCommand
          cli={cliOf(['server', 'quarantine', name, typed])}
          api={curlOf(serverUpdate, { id }, { quarantine: { reason: typed } })}
          complete={form.read.ok}
        />
      }
    >
      <p className="fs13 t2">
        No cluster gets the server until somebody lifts the quarantine. It is still contacted, and
        stays in its cluster if it is in one.
      </p>
      {before !== null && (
        <Alert tone="warn">{quarantineText(before)}. Your reason replaces this one.</Alert>
      )}
      <Text
        name="reason"
        label="Why it is not to be used"
        hint="Everybody sees the reason, with your name and the time"
      />
    </FormDialog>
  )
}
