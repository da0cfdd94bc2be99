import { useQuery } from '@tanstack/react-query'
import { noValue } from '#contract/list.ts'
import { type Place, placementSaid, rackFaces } from '#contract/racks/placement.ts'
import { NewPlacement } from '#contract/racks/placing.ts'
import { type Rack, serverPlace } from '#contract/racks/racks.ts'
import { type ListedServer, serverRows } from '#contract/servers/servers.ts'
import { count, counted } from '#contract/words.ts'
import { call } from '../../api/client.ts'
import { query } from '../../api/query.ts'
import { readBy } from '../../lib/fields.ts'
import { cliOf, curlOf } from '../../lib/shell.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { Unread } from '../../ui/feedback/Unread.tsx'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { wholeOf } from './rack-fields.ts'
import { refreshRacks } from './rack-queries.ts'

interface Typed {
  server: string
  unit: string
  height: string
  face: string
  bay: string
}
const { Text, Choose } = fieldsFor<Typed>()

/** How many servers are offered: most that a page of the list has. */
const mostOffered = 1000

const faces = { both: 'Whole depth', front: 'Front half', rear: 'Rear half' } as const

/** Places a server in a rack, or moves one. Only the database learns of it. */
export default function PlaceDialog({
  rack,
  server,
  place: { unit = 1, height = 1, face = 'both', bay = null },
}: {
  rack: Rack
  /** The server that is moved; null if one is to be chosen. */
  server: ListedServer | null
  /** What the form begins with. */
  place: Partial<Place>
}) {
  const { close } = useDialog()
  const answer = useQuery({
    ...query(serverRows, {
      query: {
        datacenter: rack.datacenter.code,
        rack: noValue,
        fields: 'list',
        per_page: mostOffered,
        sort: 'name',
      },
    }),
    enabled: server === null,
  })
  const { data } = answer
  const without = data?.items ?? []
  const form = useForm({
    initial: {
      server: server?.id ?? '',
      unit: String(unit),
      height: String(height),
      face,
      bay: bay ?? '',
    },
    read: (typed: Typed) => {
      const read = readBy(
        NewPlacement,
        {
          rack_id: rack.id,
          unit: wholeOf(typed.unit),
          height: wholeOf(typed.height),
          face: typed.face,
          bay: typed.bay.trim() === '' ? null : typed.bay,
        },
        typed.server === '' ? { server: 'Choose a server' } : {},
      )
      return read.ok
        ? { ok: true as const, body: { id: typed.server, placement: read.body } }
        : read
    },
    send: ({ id, placement }) => call(serverPlace, { params: { id }, body: placement }),
    done: async ({ name, placement }) => {
      await refreshRacks()
      toast.success(`${name} stands in ${placement ? placementSaid(placement) : 'no rack'}`)
      close()
    },
  })
  const { values } = form
  const name = server?.name ?? without.find(({ id }) => id === values.server)?.name ?? ''
  return (
    <FormDialog
      form={form}
      title={server ? `Move ${server.name}` : `Place a server in ${rack.name}`}
      submit={server ? 'Move' : 'Place'}
      busyText="Saving"
      command={
        <AsCommand
          complete={form.read.ok}
          cli={cliOf([
            'rack',
            'place',
            name,
            `${rack.datacenter.code}/${rack.name}`,
            '--unit',
            values.unit,
            '--height',
            values.height,
            ...(values.face === 'both' ? [] : ['--face', values.face]),
            ...(values.bay.trim() === '' ? [] : ['--bay', values.bay.trim()]),
          ])}
          api={curlOf(
            serverPlace,
            { id: values.server },
            form.read.ok ? form.read.body.placement : {},
          )}
        />
      }
    >
      {server === null && <Unread what="The servers without a place" of={answer} />}
      {server === null && (
        <Choose
          name="server"
          label="Server"
          placeholder={
            data !== undefined && without.length === 0
              ? `Every server of ${rack.datacenter.code} has a place`
              : 'Choose a server'
          }
          {...(data !== undefined &&
            data.total > without.length && {
              hint: `The first ${count(without.length)} of ${counted(data.total, 'server')} without a place. Others are placed by an import, or by the command`,
            })}
          options={without.map((one) => ({
            value: one.id,
            text: one.name,
            hint: one.identity.serial ?? one.hardware.model ?? '',
          }))}
        />
      )}
      <Text
        name="unit"
        label="Lowest unit"
        hint={`Counted from below, 1 to ${rack.units}`}
        inputMode="numeric"
        maxLength={2}
      />
      <Text name="height" label="Height in units" inputMode="numeric" maxLength={2} />
      <Choose
        name="face"
        label="Depth"
        options={rackFaces.map((face) => ({ value: face, text: faces[face] }))}
      />
      <Text
        name="bay"
        label="Bay"
        optional
        hint="Only in a chassis with several servers: what is printed there, such as 1 or left"
        maxLength={16}
      />
    </FormDialog>
  )
}
