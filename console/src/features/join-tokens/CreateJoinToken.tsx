import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import {
  type JoinToken,
  joinTokenCreate,
  joinTokenList,
  longestLifetimeHours,
} from '#contract/join-tokens.ts'
import type { Answer } from '#contract/operation.ts'
import { nameLength } from '#contract/names.ts'
import { everyDatacenter } from '../../api/every.ts'
import { call } from '../../api/client.ts'
import { invalidate } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { known as knownLabels, textsOf } from '../../layout/labels/labels.ts'
import { paths } from '../../lib/paths.ts'
import { cliOf, curlOf } from '../../lib/shell.ts'
import { exact } from '../../lib/time/time.ts'
import { count } from '../../lib/units.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { LabelsInput } from '../../ui/inputs/LabelsInput.tsx'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { Command } from '../../ui/text/Copyable.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { Alert } from '../../ui/feedback/Status.tsx'
import css from './JoinTokens.module.css'
import { blank, lifetimes, readForm, type Typed } from './token-form.ts'

type MadeToken = Answer<typeof joinTokenCreate>

const { Text, Choose, Custom } = fieldsFor<Typed>()

/**
 * Creates a join token and shows it once. With `onMade` the token is passed on instead of shown.
 */
export default function CreateJoinToken({
  onMade,
  datacenter = '',
}: {
  onMade?: (token: JoinToken) => void
  datacenter?: string
}) {
  const { close } = useDialog()
  const datacenters = useQuery(everyDatacenter)
  const { data: known } = useQuery(knownLabels.server)
  const [made, setMade] = useState<MadeToken | null>(null)
  const form = useForm({
    initial: { ...blank, datacenter_id: datacenter },
    read: readForm,
    send: (body, key) => call(joinTokenCreate, { body }, { key }),
    done: async (answer) => {
      await invalidate(joinTokenList)
      if (onMade === undefined) return setMade(answer)
      const { token: _, kernel_argument: __, ...listed } = answer
      onMade(listed)
      return close()
    },
  })
  if (made !== null) return <ShownOnce token={made} />
  const { values: typed, read } = form
  const site = datacenters.data?.items.find((d) => d.id === typed.datacenter_id)
  return (
    <FormDialog
      form={form}
      width="32rem"
      title="Create join token"
      submit="Create token"
      can={allowed(joinTokenCreate)}
      command={
        <AsCommand
          complete={read.ok}
          cli={cliOf(['token', 'create', typed.name], {
            'lifetime-hours': read.ok ? read.body.lifetime_hours : null,
            'no-expiry': typed.lifetime === 'never',
            uses: typed.max_uses,
            datacenter: site?.code,
            label: Object.entries(typed.labels).map(([key, value]) => `${key}=${value}`),
          })}
          api={curlOf(joinTokenCreate, {}, read.ok ? read.body : {})}
        />
      }
    >
      <p className="fs13 t2">
        A join token lets booting servers announce themselves: anyone who has it can get a server
        listed, but never gets a configuration. Each machine counts as one use, however often it
        boots.
      </p>
      <Text
        name="name"
        label="Name"
        hint={`Lowercase letters, numbers and single hyphens, at most ${nameLength.max} characters, such as rack-7.`}
        autoCapitalize="none"
      />
      <div className={css['pair']}>
        <Choose name="lifetime" label="Lifetime" options={lifetimes} />
        {typed.lifetime === 'other' && (
          <Text
            name="lifetime_hours"
            label="Hours"
            hint={`1 to ${longestLifetimeHours}`}
            inputMode="numeric"
            unit="h"
          />
        )}
        <Text
          name="max_uses"
          label="Uses"
          optional
          hint="How many machines"
          inputMode="numeric"
          placeholder="Any number"
        />
      </div>
      {datacenters.data === undefined && datacenters.error && (
        <Alert tone="danger">
          The datacenters could not be loaded: {datacenters.error.message}
        </Alert>
      )}
      <Choose
        name="datacenter_id"
        label="Datacenter"
        optional
        hint="The datacenter of servers that join with the token."
        none="None yet"
        options={(datacenters.data?.items ?? []).map((d) => ({
          value: d.id,
          text: d.code,
          more: d.city_name,
        }))}
      />
      <Custom
        name="labels"
        label="Labels"
        optional
        hint="Of new servers that join with the token, or with an image that carries it: key=value; Enter ends a label."
      >
        <LabelsInput
          labels={typed.labels}
          suggestions={textsOf(known?.items)}
          onLabels={(labels) => {
            form.set({ labels })
            form.leave('labels')
          }}
        />
      </Custom>
    </FormDialog>
  )
}

function ShownOnce({ token }: { token: MadeToken }) {
  const { close } = useDialog()
  return (
    <Dialog
      width="38rem"
      title={`Join token ${token.name}`}
      footer={
        <>
          <ActionButton
            label="Prepare image"
            to={paths.prepareImage({ token: token.id })}
            icon="disk"
          />
          <ActionButton label="Done" kind="primary" run={() => close()} />
        </>
      }
    >
      <div className="stack">
        <Alert tone="warn">
          Copy the token now: it is not shown again. Images that are prepared with this token
          contain it.
        </Alert>
        <section className="stack stack2">
          <h3 className="label">Token</h3>
          <Command command={token.token} prompt="" what="token" />
        </section>
        <section className="stack stack2">
          <h3 className="label">
            Kernel argument, for machines that boot Talos without a prepared image
          </h3>
          <Command command={token.kernel_argument} prompt="" what="kernel argument" />
        </section>
        <p className="fs13 t2">
          {token.expires_at === null
            ? 'It does not expire'
            : `It expires on ${exact(token.expires_at)}`}
          {token.max_uses === null
            ? ', and any number of servers may join with it.'
            : `, or after ${count(token.max_uses)} machines have joined with it.`}
        </p>
      </div>
    </Dialog>
  )
}
