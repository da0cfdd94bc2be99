import { useState } from 'react'
import type { Passkey } from '#contract/people/passkeys.ts'
import { passkeyRemove, passkeysOf } from '#contract/people/passkeys.ts'
import { profileGet } from '#contract/people/profile.ts'
import { recoveryCodesRenew, totpRemove } from '#contract/people/second-factor.ts'
import { mayBePassword, PasswordChange, passwordChange, sessionList } from '#contract/sessions.ts'
import { no, type Verdict } from '#contract/rule.ts'
import { counted } from '#contract/words.ts'
import { call } from '../../../api/client.ts'
import { useInstallation } from '../../../api/installation.ts'
import { invalidate } from '../../../api/query.ts'
import { readBy } from '../../../lib/fields.ts'
import { confirm } from '../../../ui/actions.ts'
import { Alert, Badge, Problem, StatusDot } from '../../../ui/feedback/Status.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { fieldsFor, Form } from '../../../ui/form/fields.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Button } from '../../../ui/inputs/Button.tsx'
import { dialog } from '../../../ui/overlay/dialogs.ts'
import { Time } from '../../../ui/table/list-columns.tsx'
import { Panel } from '../../../ui/text/Panel.tsx'
import css from '../People.module.css'
import type { Profile } from './Account.tsx'

const setUpTotp = dialog(() => import('./SetUpTotp.tsx'))
const addPasskey = dialog(() => import('./AddPasskey.tsx'))
const renamePasskey = dialog<{ passkey: Passkey }>(() => import('./RenamePasskey.tsx'))
const showCodes = dialog<{ codes: readonly string[] }>(() => import('./ShowCodes.tsx'))

/** Password, second factor and passkeys. */
export function Security({ profile }: { profile: Profile }) {
  const ways = useInstallation()?.sign_in
  const hasFactor = profile.totp_since !== null || profile.passkeys.length > 0
  return (
    <div className={css['col']}>
      {profile.second_factor_required && !hasFactor && (
        <Alert tone="warn">
          <b>Your role requires a second factor.</b> Add an authenticator app or a passkey.
        </Alert>
      )}
      {ways?.password === false && (
        <Alert tone="info">
          Passwords and passkeys are switched off here: you sign in with {ways.provider}.
        </Alert>
      )}
      <div className={css['cols']}>
        <PasswordPanel profile={profile} />
        <div className={css['col']}>
          <AppPanel profile={profile} />
          <PasskeysPanel profile={profile} />
          {hasFactor && <CodesPanel profile={profile} />}
        </div>
      </div>
    </div>
  )
}

const blank = { password: '', new_password: '' }
const { Text } = fieldsFor<typeof blank>()

function PasswordPanel({ profile: { user, has_password: has } }: { profile: Profile }) {
  const [times, setTimes] = useState(0)
  const form = useForm({
    initial: blank,
    read: (typed) => {
      const verdict = mayBePassword(typed.new_password, user.email)
      return readBy(PasswordChange, typed, verdict.ok ? {} : { new_password: verdict.reason })
    },
    send: (body) => call(passwordChange, { body }),
    done: async () => {
      form.reset(blank)
      setTimes(times + 1)
      await invalidate(sessionList)
      toast.success('Your password was changed. Your other sessions have ended.')
    },
  })
  if (!has)
    return (
      <Panel title="Password">
        <p className="fs13 t2">
          Your account has no password. An admin can give you a link to set one.
        </p>
      </Panel>
    )
  return (
    <Panel title="Password">
      {/* A new form after a change, so that the old texts are gone. */}
      <Form key={times} form={form} className="stack">
        <input
          hidden
          type="text"
          name="username"
          autoComplete="username"
          value={user.email}
          readOnly
        />
        <Text
          name="password"
          label="Current password"
          type="password"
          autoComplete="current-password"
        />
        <Text
          name="new_password"
          label="New password"
          hint="12 to 128 characters. Your other sessions end."
          type="password"
          autoComplete="new-password"
        />
        <Problem text={form.problem} />
        <div className="row">
          <Button type="submit" busy={form.busy} busyText="Changing the password">
            Change password
          </Button>
        </div>
      </Form>
    </Panel>
  )
}

/** The authenticator app: its codes are asked for after the password. */
function AppPanel({ profile: { totp_since: since } }: { profile: Profile }) {
  const remove = () =>
    confirm({
      title: 'Remove the authenticator app?',
      label: 'Remove',
      text: 'Its codes are no longer accepted.',
      danger: true,
      act: async () => {
        await call(totpRemove)
        await invalidate(profileGet)
        toast.success('The authenticator app was removed')
      },
    })
  return (
    <Panel
      title="Authenticator app"
      note={
        <StatusDot tone={since === null ? 'off' : 'ok'}>
          {since === null ? 'Not set up' : 'Set up'}
        </StatusDot>
      }
      actions={
        <>
          <ActionButton
            label={since === null ? 'Set up' : 'Replace'}
            size="small"
            run={() => setUpTotp()}
          />
          {since !== null && <ActionButton label="Remove" size="small" danger run={remove} />}
        </>
      }
    >
      <p className="fs13 t2">
        {since === null ? (
          'An app on your phone shows a code that is asked for after your password.'
        ) : (
          <>
            Set up <Time at={since} />. Its code is asked for after your password.
          </>
        )}
      </p>
    </Panel>
  )
}

function PasskeysPanel({ profile: { passkeys } }: { profile: Profile }) {
  const ways = useInstallation()?.sign_in
  const rpId = ways?.passkeys.rp_id
  const can: Verdict =
    typeof rpId === 'string'
      ? passkeysOf(rpId, location.origin)
      : no(ways?.passkeys.reason ?? 'Passkeys are not available here')
  const remove = (passkey: Passkey) =>
    confirm({
      title: `Remove the passkey ${passkey.name}?`,
      label: 'Remove',
      text: 'It can no longer be used to sign in. The device may still offer it; delete it there too.',
      danger: true,
      act: async () => {
        await call(passkeyRemove, { params: { id: passkey.id } })
        await invalidate(profileGet)
        toast.success(`${passkey.name} was removed`)
      },
    })
  return (
    <Panel
      title="Passkeys"
      note={`${passkeys.length}`}
      actions={<ActionButton label="Add passkey" size="small" can={can} run={() => addPasskey()} />}
    >
      {!can.ok && <p className="fs13 t2">{can.reason}.</p>}
      {passkeys.length === 0 ? (
        can.ok && (
          <p className="fs13 t2">
            With a passkey you sign in by your fingerprint, face or a security key, without a
            password.
          </p>
        )
      ) : (
        <ul className={css['items']} aria-label="Passkeys">
          {passkeys.map((passkey) => (
            <li key={passkey.id}>
              <span className="strong">{passkey.name}</span>
              <Badge
                title={
                  passkey.backed_up
                    ? 'Synchronised between your devices'
                    : 'Lost if the device is lost'
                }
              >
                {passkey.backed_up ? 'Synchronised' : 'On one device'}
              </Badge>
              <span className="t3">
                {passkey.last_used_at === null ? (
                  'never used'
                ) : (
                  <>
                    used <Time at={passkey.last_used_at} />
                  </>
                )}
              </span>
              <span className="row right">
                <ActionButton
                  label="Rename"
                  size="small"
                  kind="ghost"
                  aria-label={`Rename ${passkey.name}`}
                  run={() => renamePasskey({ passkey })}
                />
                <ActionButton
                  label="Remove"
                  size="small"
                  danger
                  aria-label={`Remove ${passkey.name}`}
                  run={() => remove(passkey)}
                />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

function CodesPanel({ profile: { recovery_codes: left } }: { profile: Profile }) {
  const renew = () =>
    confirm({
      title: 'Create new recovery codes?',
      label: 'Create new codes',
      text: 'The codes that you have are no longer accepted.',
      act: async () => {
        const { recovery_codes: codes } = await call(recoveryCodesRenew)
        await invalidate(profileGet)
        void showCodes({ codes })
      },
    })
  return (
    <Panel
      title="Recovery codes"
      note={<StatusDot tone={left > 2 ? 'ok' : 'warn'}>{counted(left, 'unused code')}</StatusDot>}
      actions={<ActionButton label="New codes" size="small" run={renew} />}
    >
      <p className="fs13 t2">
        Each code works once, in place of a code of the app, for the case that you have lost your
        device.
      </p>
    </Panel>
  )
}
