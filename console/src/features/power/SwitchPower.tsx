import { bmcGet } from '#contract/bmcs/bmcs.ts'
import { powerLoss, powerTitle, serverPower } from '#contract/bmcs/power.ts'
import { call } from '../../api/client.ts'
import { CallError } from '../../api/http.ts'
import { invalidate } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import type { Read } from '../../lib/fields.ts'
import { cliOf, curlOf } from '../../lib/shell.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import type { PowerAct } from './power-actions.ts'

const blank = { typed: '', reason: '' }
type Typed = typeof blank
const { Text } = fieldsFor<Typed>()

/**
 * Switches a server. The dialog says what is lost; a hard act needs the server's name. If etcd would
 * lose its majority, an admin may insist with a reason.
 */
export default function SwitchPower({ server, to, kind, seen }: PowerAct) {
  const { close } = useDialog()
  const title = powerTitle(to, kind)
  const order = { to, kind, seen }
  const isHard = kind === 'hard'
  const read = ({ typed, reason }: Typed): Read<object> =>
    isHard && typed.trim() !== server.name
      ? { ok: false, fields: { typed: `Type ${server.name}` } }
      : {
          ok: true,
          body:
            reason.trim() === ''
              ? order
              : { ...order, override: { name: server.name, reason: reason.trim() } },
        }
  const form = useForm({
    initial: blank,
    read,
    send: (body, key) =>
      call(serverPower, { params: { id: server.id }, body: body as typeof order }, { key }),
    done: async () => {
      await invalidate(bmcGet)
      toast.success(`${title}: ${server.name} is being switched`)
      close()
    },
  })
  const { failure } = form
  const isMajority = failure instanceof CallError && failure.code === 'power_refused'
  const mayInsist = allowed({ scope: 'bmc:manage' }).ok
  const loss = powerLoss(to, kind)
  return (
    <FormDialog
      form={form}
      danger={isHard}
      title={`${title}: ${server.name}?`}
      submit={title}
      can={allowed(serverPower)}
      command={
        <AsCommand
          complete={form.read.ok}
          cli={cliOf(['server', 'power', to, server.name], { ...(isHard && { now: true }) })}
          api={curlOf(serverPower, { id: server.id }, form.read.ok ? form.read.body : {})}
        />
      }
    >
      <p className="t2">
        {loss === null ? 'The server is switched on by its BMC.' : loss}
        {server.cluster !== null && ` It is in the cluster ${server.cluster.name}.`}
      </p>
      {isHard && (
        <Text
          name="typed"
          label={`Type ${server.name} to confirm`}
          mono
          autoCapitalize="none"
          eager={false}
        />
      )}
      {(isMajority || form.values.reason !== '') && mayInsist && (
        <Text
          name="reason"
          label="Reason to switch it all the same"
          optional
          hint="Kept in the audit log. Without a reason the server is not switched"
        />
      )}
    </FormDialog>
  )
}
