import { type Bmc, bmcList, bmcMatch, bmcPlace } from '#contract/bmcs/bmcs.ts'
import { call } from '../../api/client.ts'
import { invalidate } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { useDialog } from '../../ui/overlay/dialogs.ts'

const { Choose } = fieldsFor<{ server: string }>()

const marks = { uuid: 'UUID', serial: 'serial number', mac: 'a MAC address' } as const

/** Decides which server a BMC switches, if its marks don't. */
export default function MatchBmc({ bmc }: { bmc: Bmc }) {
  const { close } = useDialog()
  const form = useForm({
    initial: { server: '' },
    read: ({ server }) => ({ ok: true, body: { node_id: server === '' ? null : server } }),
    send: (body) => call(bmcMatch, { params: { id: bmc.id }, body }, { version: bmc.version }),
    done: async () => {
      await invalidate(bmcList)
      toast.success(`${bmcPlace(bmc)} was decided`)
      close()
    },
  })
  const { uuid, serial } = bmc.identity
  return (
    <FormDialog
      form={form}
      title={`Which server does ${bmcPlace(bmc)} switch?`}
      submit="Decide"
      can={allowed(bmcMatch)}
    >
      <p className="fs13 t2">
        It tells UUID {uuid ?? 'unknown'} and serial number {serial ?? 'unknown'}. Of UUID, serial
        number and MAC address only one agrees with each server below. A wrong decision switches
        another server.
      </p>
      <Choose
        name="server"
        label="Server"
        none="None of them: a server that has not booted yet"
        options={bmc.candidates.map(({ id, name, agrees }) => ({
          value: id,
          text: name,
          more: `agrees: ${agrees.map((mark) => marks[mark]).join(', ')}`,
        }))}
      />
    </FormDialog>
  )
}
