import { useQuery } from '@tanstack/react-query'
import { passkeysOf } from '#contract/people/passkeys.ts'
import {
  profileGet,
  proofMinutes,
  sessionProve,
  sessionProvePasskey,
} from '#contract/people/profile.ts'
import { no } from '#contract/rule.ts'
import { call } from '../../api/client.ts'
import { useInstallation } from '../../api/installation.ts'
import { query } from '../../api/query.ts'
import { useUser } from '../../api/session.ts'
import { Problem } from '../../ui/feedback/Status.tsx'
import { useAct } from '../../ui/feedback/use-act.ts'
import { fieldsFor, Form } from '../../ui/form/fields.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { Button } from '../../ui/inputs/Button.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { useDialog } from '../../ui/overlay/dialogs.ts'

const blank = { password: '' }
const { Text } = fieldsFor<typeof blank>()

/**
 * Asks the user to prove their identity again: by password, passkey, or at the identity provider.
 * Closes with true after a proof.
 */
export default function ConfirmIdentity() {
  const { close } = useDialog()
  const user = useUser()
  const { data: profile } = useQuery({ ...query(profileGet), staleTime: 0 })
  const ways = useInstallation()?.sign_in
  const { busy, problem, act } = useAct()
  const form = useForm({
    initial: blank,
    read: ({ password }) =>
      password === ''
        ? { ok: false, fields: { password: 'Enter your password' } }
        : { ok: true, body: { password } },
    send: (body) => call(sessionProve, { body }),
    done: () => close(true),
  })
  // Until the profile is known, the password is asked for, because nearly every account has one.
  const byPassword = ways?.password !== false && profile?.has_password !== false
  const byPasskey = ways?.password === true && (profile?.passkeys.length ?? 0) > 0
  const byProvider = typeof ways?.provider === 'string' && profile?.has_provider === true
  const rpId = ways?.passkeys.rp_id
  const usePasskey = () =>
    act(async () => {
      const { answerPasskey } = await import('../../api/identity/passkey.ts')
      const passkey = await answerPasskey(await call(sessionProvePasskey))
      await call(sessionProve, { body: { passkey } })
    }).then((isDone) => isDone && close(true))
  const goToProvider = () =>
    act(async () => {
      const { proveAtProvider } = await import('../../api/identity/provider.ts')
      await proveAtProvider(location.pathname + location.search)
    })
  return (
    <Dialog
      title="Confirm that it is you"
      locked={form.busy || busy}
      footer={
        <>
          <Button data-way-out="" onClick={() => close(false)}>
            Cancel
          </Button>
          {byPassword && (
            <Button
              kind="primary"
              type="submit"
              form={form.id}
              busy={form.busy}
              busyText="Confirming"
            >
              Confirm
            </Button>
          )}
        </>
      }
    >
      <div className="stack">
        <p className="fs13 t2">
          This needs a confirmation that is less than {proofMinutes} minutes old. You are signed in
          as {user?.email}.
        </p>
        {byPassword && (
          <Form form={form} className="stack" focusFirst>
            <input
              hidden
              type="text"
              name="username"
              autoComplete="username"
              value={user?.email ?? ''}
              readOnly
            />
            <Text
              name="password"
              label="Password"
              type="password"
              autoComplete="current-password"
            />
            <Problem text={form.problem} />
          </Form>
        )}
        {byPasskey && (
          <ActionButton
            label="Use a passkey"
            icon="key"
            busy={busy}
            can={
              typeof rpId === 'string'
                ? passkeysOf(rpId, location.origin)
                : no(ways?.passkeys.reason ?? 'Passkeys are not available here')
            }
            run={usePasskey}
          />
        )}
        {byProvider && (
          <>
            <ActionButton
              label={`Continue at ${ways.provider}`}
              icon="external"
              busy={busy}
              run={goToProvider}
            />
            <p className="fs13 t2">
              You come back to this page afterwards. Then start the action again.
            </p>
          </>
        )}
        <Problem text={problem} />
      </div>
    </Dialog>
  )
}
