import { useQuery } from '@tanstack/react-query'
import { mostUnits } from '#contract/racks/placing.ts'
import {
  NewRack,
  type Rack,
  RackChange,
  rackCreate,
  rackUpdate,
  usualUnits,
} from '#contract/racks/racks.ts'
import { everyDatacenter } from '../../api/every.ts'
import { call } from '../../api/client.ts'
import { readBy } from '../../lib/fields.ts'
import { cliOf, curlOf } from '../../lib/shell.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { Unread } from '../../ui/feedback/Unread.tsx'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { refreshRacks } from './rack-queries.ts'
import { wholeOf } from './rack-fields.ts'

interface Typed {
  datacenter_id: string
  name: string
  units: string
}
const { Text, Choose } = fieldsFor<Typed>()

/** Adds or edits a rack. A rack stays in its datacenter. */
export default function RackDialog({ edit }: { edit: Rack | null }) {
  const { close } = useDialog()
  const datacenters = useQuery(everyDatacenter)
  const sites = datacenters.data?.items ?? []
  const form = useForm({
    initial: {
      datacenter_id: edit?.datacenter.id ?? '',
      name: edit?.name ?? '',
      units: String(edit?.units ?? usualUnits),
    },
    read: ({ datacenter_id, name, units }: Typed) => {
      const body = { name, units: wholeOf(units) }
      return edit ? readBy(RackChange, body) : readBy(NewRack, { ...body, datacenter_id })
    },
    send: (body, key) =>
      edit
        ? call(rackUpdate, { params: { id: edit.id }, body }, { version: edit.version })
        : call(rackCreate, { body: body as NewRack }, { key }),
    done: async ({ name }) => {
      await refreshRacks()
      toast.success(edit ? `${name} was changed` : `${name} was added`)
      close()
    },
  })
  const { datacenter_id, name, units } = form.values
  const code = sites.find((d) => d.id === datacenter_id)?.code ?? ''
  return (
    <FormDialog
      form={form}
      title={edit ? `Edit ${edit.name}` : 'Add rack'}
      submit={edit ? 'Save' : 'Add rack'}
      busyText="Saving"
      command={
        edit === null && (
          <AsCommand
            complete={form.read.ok}
            cli={cliOf(['rack', 'add', name, '--datacenter', code, '--units', units])}
            api={curlOf(rackCreate, {}, form.read.ok ? form.read.body : {})}
          />
        )
      }
    >
      {edit === null && <Unread what="The datacenters" of={datacenters} />}
      {edit === null && (
        <Choose
          name="datacenter_id"
          label="Datacenter"
          placeholder="Choose a datacenter"
          options={sites.map((d) => ({ value: d.id, text: d.code, hint: d.city_name }))}
        />
      )}
      <Text name="name" label="Name" hint="As it is printed on the rack" maxLength={40} />
      <Text
        name="units"
        label="Units"
        hint={`Counted from below, 1 to ${mostUnits}`}
        inputMode="numeric"
        maxLength={2}
      />
    </FormDialog>
  )
}
