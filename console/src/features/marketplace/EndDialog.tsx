import { type CapacityCommitment, ccUpdate } from '#contract/marketplace/ccs.ts'
import { call } from '../../api/client.ts'
import { cliOf, curlOf } from '../../lib/shell.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { refreshCcs } from './cc-queries.ts'

const { Text } = fieldsFor<{ reason: string }>()

const texts = {
  failed: {
    title: 'Mark as failed',
    text: 'The promise was not kept until its end. The commitment ends now. This can’t be undone.',
    done: 'is marked as failed',
  },
  removed: {
    title: 'Remove',
    text: 'The commitment stays in the history, and the server can be committed again. Nothing changes on the server.',
    done: 'was removed',
  },
} as const

/** Ends a commitment. A failure needs a reason, a removal may have one. */
export default function EndDialog({ cc, to }: { cc: CapacityCommitment; to: keyof typeof texts }) {
  const { close } = useDialog()
  const { title, text, done } = texts[to]
  const bodyOf = (reason: string) => ({ status: to, ...(reason !== '' && { reason }) })
  const form = useForm({
    initial: { reason: '' },
    read: ({ reason }) =>
      to === 'failed' && reason === ''
        ? { ok: false, fields: { reason: 'Say why it failed' } }
        : { ok: true, body: bodyOf(reason) },
    send: (body) => call(ccUpdate, { params: { id: cc.id }, body }, { version: cc.version }),
    done: async () => {
      await refreshCcs()
      toast.success(`The commitment of ${cc.server.name} ${done}`)
      close()
    },
  })
  const { reason } = form.values
  return (
    <FormDialog
      form={form}
      title={`${title}: commitment of ${cc.server.name}`}
      submit={title}
      danger
      command={
        <AsCommand
          complete={form.read.ok}
          cli={cliOf(['cc', 'update', cc.id], { status: to, reason })}
          api={curlOf(ccUpdate, { id: cc.id }, bodyOf(reason), { version: cc.version })}
        />
      }
    >
      <p className="fs13 t2">{text}</p>
      <Text
        name="reason"
        label="Reason"
        optional={to === 'removed'}
        hint="Shown in the list and kept in the history"
        maxLength={200}
        spellCheck
      />
    </FormDialog>
  )
}
