import { useState } from 'react'
import type { Answer } from '#contract/operation.ts'
import { apiTokenCreate, apiTokenList, longestTokenDays } from '#contract/people/api-tokens.ts'
import { type Scope, scopes } from '#contract/permissions.ts'
import { call } from '../../../api/client.ts'
import { invalidate } from '../../../api/query.ts'
import { heldScopes } from '../../../api/session.ts'
import { curlOf } from '../../../lib/shell.ts'
import { exact } from '../../../lib/time/time.ts'
import { Alert } from '../../../ui/feedback/Status.tsx'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { ActionButton } from '../../../ui/inputs/ActionButton.tsx'
import { Checkbox } from '../../../ui/inputs/Choices.tsx'
import { Dialog } from '../../../ui/overlay/Dialog.tsx'
import { useDialog } from '../../../ui/overlay/dialogs.ts'
import { AsCommand } from '../../../ui/text/AsCommand.tsx'
import { Command } from '../../../ui/text/Copyable.tsx'
import css from '../People.module.css'
import { blank, lifetimes, readForm, type Typed } from './token-form.ts'

const { Text, Choose, Custom } = fieldsFor<Typed>()

/** Creates an API token, with scopes that the user holds, and shows the token once. */
export default function CreateApiToken() {
  const [made, setMade] = useState<Answer<typeof apiTokenCreate> | null>(null)
  const held = heldScopes() ?? []
  const form = useForm({
    initial: blank,
    read: readForm,
    send: (body, key) => call(apiTokenCreate, { body }, { key }),
    done: async (answer) => {
      await invalidate(apiTokenList)
      setMade(answer)
    },
  })
  if (made !== null) return <ShownOnce token={made} />
  const { values, read } = form
  const choose = (scope: Scope, on: boolean) =>
    form.set({ scopes: scopes.filter((one) => (one === scope ? on : values.scopes.includes(one))) })
  return (
    <FormDialog
      form={form}
      width="34rem"
      title="Create API token"
      submit="Create token"
      command={
        <AsCommand complete={read.ok} api={curlOf(apiTokenCreate, {}, read.ok ? read.body : {})} />
      }
    >
      <Text
        name="name"
        label="Name"
        hint="What uses the token, such as monitoring."
        autoCapitalize="none"
      />
      <Custom
        name="scopes"
        label="Scopes"
        hint="Give only what the program needs. You can give only what your role includes."
      >
        <div role="group" aria-label="Scopes" className={css['scopes']}>
          {scopes.map((scope) => (
            <Checkbox
              key={scope}
              label={<span className="mono fs13">{scope}</span>}
              checked={values.scopes.includes(scope)}
              disabled={!held.includes(scope)}
              onChange={(on) => choose(scope, on)}
            />
          ))}
        </div>
      </Custom>
      <div className={css['pair']}>
        <Choose name="lifetime" label="Lifetime" options={lifetimes} />
        {values.lifetime === 'other' && (
          <Text
            name="lifetime_days"
            label="Days"
            hint={`1 to ${longestTokenDays}`}
            inputMode="numeric"
            unit="d"
          />
        )}
      </div>
    </FormDialog>
  )
}

function ShownOnce({ token }: { token: Answer<typeof apiTokenCreate> }) {
  const { close } = useDialog()
  return (
    <Dialog
      width="38rem"
      title={`API token ${token.name}`}
      footer={<ActionButton label="Done" kind="primary" run={() => close()} />}
    >
      <div className="stack">
        <Alert tone="warn">Copy the token now: it is not shown again.</Alert>
        <Command command={token.token} prompt="" what="token" />
        <p className="fs13 t2">
          It ends on {exact(token.expires_at)}. The command line and programs read it from the
          variable <span className="mono">STEELYARD_TOKEN</span>.
        </p>
      </div>
    </Dialog>
  )
}
