import {
  type Channel,
  channelCreate,
  channelKinds,
  channelList,
  channelUpdate,
  type ChannelKind,
  mailSecurities,
} from '#contract/alerts/channels.ts'
import { call } from '../../api/client.ts'
import { invalidate } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { curlOf } from '../../lib/shell.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { newSigningSecret, readChange, readNew, type Typed, valuesOf } from './channel-form.ts'

const { Text, Choose } = fieldsFor<Typed>()
const optionsOf = <Value extends string>(of: Readonly<Record<Value, string>>) =>
  (Object.keys(of) as Value[]).map((value) => ({ value, text: of[value] }))

/** Adds a channel, or changes one. Only what was changed is sent. */
export default function EditChannel({ channel }: { channel?: Channel }) {
  const { close } = useDialog()
  const initial = valuesOf(channel)
  const form = useForm<Typed, object, Channel>({
    initial,
    read: (typed) => (channel ? readChange(initial, typed) : readNew(typed)),
    send: (body, key) =>
      channel
        ? call(channelUpdate, { params: { id: channel.id }, body }, { version: channel.version })
        : call(channelCreate, { body: body as never }, { key }),
    done: async ({ name }) => {
      await invalidate(channelList)
      toast.success(channel ? `${name} was changed` : `${name} was added: send a test`)
      close()
    },
  })
  const { kind } = form.values
  const shown = form.read.ok ? form.read.body : {}
  const body = 'secret' in shown ? { ...shown, secret: '…' } : shown
  return (
    <FormDialog
      form={form}
      title={channel ? `Edit ${channel.name}` : 'Add channel'}
      submit={channel ? 'Save channel' : 'Add channel'}
      busyText="Saving"
      can={allowed(channel ? channelUpdate : channelCreate)}
      command={
        <AsCommand
          complete={form.read.ok}
          api={
            channel
              ? curlOf(channelUpdate, { id: channel.id }, body)
              : curlOf(channelCreate, {}, body)
          }
        />
      }
    >
      <Text name="name" label="Name" autoCapitalize="none" />
      {!channel && (
        <Choose
          name="kind"
          label="Kind"
          options={optionsOf(channelKinds)}
          onValue={(to: ChannelKind) =>
            form.set({ kind: to, secret: to === 'webhook' ? newSigningSecret() : '' })
          }
        />
      )}
      {kind === 'mail' ? (
        <>
          <Text name="host" label="Mail server" mono autoCapitalize="none" />
          <Choose name="security" label="Encryption" options={optionsOf(mailSecurities)} />
          <Text
            name="port"
            label="Port"
            optional
            hint="587, 465 with TLS, or 25 without encryption"
            inputMode="numeric"
          />
          <Text name="from" label="From" inputMode="email" autoCapitalize="none" />
          <Text
            name="to"
            label="To"
            hint="Several addresses are separated by commas"
            inputMode="email"
            autoCapitalize="none"
          />
        </>
      ) : (
        <Text
          name="url"
          label="URL"
          hint={
            kind === 'webhook'
              ? 'Such as https://hooks.example.com/in'
              : 'Such as https://alertmanager.example.com'
          }
          mono
          inputMode="url"
          autoCapitalize="none"
        />
      )}
      {kind !== 'webhook' && <Text name="user" label="User" optional autoCapitalize="none" />}
      {kind === 'webhook' ? (
        <Text
          name="secret"
          label="Signing secret"
          optional={channel !== undefined}
          hint={
            channel
              ? 'Empty keeps the present one. After a change, messages are signed with the former one too for 24 hours'
              : 'Copy it to the receiver now: it is not shown again'
          }
          mono
          autoCapitalize="none"
        />
      ) : (
        <Text
          name="secret"
          label={kind === 'mail' ? 'Password' : 'Password or bearer token'}
          optional
          type="password"
          {...(channel?.has_secret && {
            hint: 'Empty keeps the present one, unless the address changes',
          })}
        />
      )}
    </FormDialog>
  )
}
