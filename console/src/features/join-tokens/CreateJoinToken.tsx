import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useRef, useState } from 'react'
import { type JoinToken, joinTokenCreate, joinTokenList, longestLifetimeHours } from '#contract/join-tokens.ts'
import type { Answer } from '#contract/operation.ts'
import { nameLength } from '#contract/names.ts'
import { call, CallError } from '../../api/client.ts'
import { newKey } from '../../api/http.ts'
import { invalidate } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { paths } from '../../lib/paths.ts'
import { cliOf, curlOf } from '../../lib/shell.ts'
import { exact } from '../../lib/time.ts'
import { count } from '../../lib/units.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { Button, ButtonLink } from '../../ui/inputs/Button.tsx'
import { Command } from '../../ui/text/Copyable.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { Field, Select, TextInput } from '../../ui/inputs/Field.tsx'
import { Alert, Problem } from '../../ui/feedback/Status.tsx'
import { useAct } from '../../ui/feedback/use-act.ts'
import css from './JoinTokens.module.css'
import { atFields, blank, lifetimes, readForm, type Typed } from './token-form.ts'
import { datacentersQuery } from './token-queries.ts'

type MadeToken = Answer<typeof joinTokenCreate>

const none = 'none'

/** Makes a join token. It is shown once; with `onMade` it goes into something that carries it, and isn't shown. */
export default function CreateJoinToken({
  open,
  onClose,
  onMade,
  datacenter = '',
}: {
  open: boolean
  onClose: () => void
  onMade?: (token: JoinToken) => void
  /** Where its servers are put unless something else is chosen: an id. */
  datacenter?: string
}) {
  const [made, setMade] = useState<MadeToken | null>(null)
  const take = (token: MadeToken) => {
    if (onMade === undefined) return setMade(token)
    const { token: _, kernel_argument: __, ...listed } = token
    onMade(listed)
    return onClose()
  }
  return made === null ? <Form open={open} onClose={onClose} onMade={take} datacenter={datacenter} /> : <ShownOnce open={open} onClose={onClose} token={made} />
}

function Form({ open, onClose, onMade, datacenter }: { open: boolean; onClose: () => void; onMade: (token: MadeToken) => void; datacenter: string }) {
  const client = useQueryClient()
  const { data: datacenters } = useQuery({ ...datacentersQuery, enabled: open })
  const [typed, setTyped] = useState<Typed>({ ...blank, datacenter })
  const [touched, setTouched] = useState<ReadonlySet<keyof Typed>>(new Set())
  const [refused, setRefused] = useState<Partial<Record<keyof Typed, string>>>({})
  const { busy, problem, act } = useAct()
  const attempt = useRef(newKey())
  const form = useRef<HTMLFormElement>(null)
  const formId = useId()
  const read = readForm(typed)

  const set = (change: Partial<Typed>) => {
    attempt.current = newKey()
    setTyped((now) => ({ ...now, ...change }))
    setRefused({})
  }
  const errorOf = (field: keyof Typed) => refused[field] ?? (touched.has(field) && !read.ok ? read.fields[field] : undefined)
  const wire = (field: keyof Typed) => ({
    name: field,
    value: typed[field],
    onValue: (value: string) => set({ [field]: value }),
    onBlur: () => setTouched((now) => new Set([...now, field])),
    autoComplete: 'off',
  })
  const focus = (field: string | undefined) => form.current?.querySelector<HTMLElement>(`[name="${field}"]`)?.focus()

  async function submit(event: FormEvent) {
    event.preventDefault()
    if (busy) return
    if (!read.ok) {
      setTouched(new Set(Object.keys(blank) as (keyof Typed)[]))
      return focus(Object.keys(read.fields)[0])
    }
    const { body } = read
    const make = async () => {
      const token = await call(joinTokenCreate, { body }, { key: attempt.current })
      await invalidate(client, joinTokenList)
      onMade(token)
    }
    await act(make, (error) => {
      if (!(error instanceof CallError) || Object.keys(error.fields).length === 0) return false
      const fields = atFields(error.fields)
      setRefused(fields)
      focus(Object.keys(fields)[0])
      return true
    })
    return undefined
  }

  const site = datacenters?.items.find((d) => d.id === typed.datacenter)
  return (
    <Dialog
      open={open}
      onClose={onClose}
      locked={busy}
      width="32rem"
      title="Create join token"
      footer={
        <>
          <span className={css['command']}>
            <AsCommand
              complete={read.ok}
              cli={cliOf(['token', 'create', typed.name], {
                'lifetime-hours': read.ok ? read.body.lifetime_hours : null,
                'no-expiry': typed.lifetime === 'never',
                uses: typed.uses,
                datacenter: site?.code,
              })}
              api={curlOf(joinTokenCreate, {}, read.ok ? read.body : {}, { origin: location.origin })}
            />
          </span>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" form={formId} busy={busy} busyText="Loading" can={allowed(joinTokenCreate)}>
            Create token
          </Button>
        </>
      }
    >
      <form ref={form} id={formId} className="stack" onSubmit={(event) => void submit(event)} noValidate>
        <p className="fs13 t2">
          A join token lets booting servers announce themselves: whoever holds it gets a server listed, never a configuration. One use is one machine; a machine
          that boots again uses nothing.
        </p>
        <Problem text={problem} />
        <Field
          label="Name"
          error={errorOf('name')}
          hint={`Lowercase letters, numbers and single hyphens, at most ${nameLength.max} characters, such as rack-7.`}
        >
          <TextInput {...wire('name')} autoCapitalize="none" spellCheck={false} />
        </Field>
        <div className={css['pair']}>
          <Field label="Lifetime">
            <Select<string> value={typed.lifetime} options={lifetimes} onValue={(lifetime) => set({ lifetime })} />
          </Field>
          {typed.lifetime === 'other' ? (
            <Field label="Hours" error={errorOf('hours')} hint={`1 to ${longestLifetimeHours}`}>
              <TextInput {...wire('hours')} inputMode="numeric" unit="h" />
            </Field>
          ) : null}
          <Field label="Uses" optional error={errorOf('uses')} hint="How many machines">
            <TextInput {...wire('uses')} inputMode="numeric" placeholder="Any number" />
          </Field>
        </div>
        <Field label="Datacenter" optional hint="Where servers that come through it are put.">
          <Select
            value={typed.datacenter === '' ? none : typed.datacenter}
            onValue={(id) => set({ datacenter: id === none ? '' : id })}
            options={[{ value: none, text: 'None yet' }, ...(datacenters?.items ?? []).map((d) => ({ value: d.id, text: d.code, more: d.city_name }))]}
          />
        </Field>
      </form>
    </Dialog>
  )
}

function ShownOnce({ open, onClose, token }: { open: boolean; onClose: () => void; token: MadeToken }) {
  return (
    <Dialog
      open={open}
      onClose={onClose}
      width="38rem"
      title={`Join token ${token.name}`}
      footer={
        <>
          <ButtonLink href={paths.prepareImage({ token: token.id })} icon="disk">
            Prepare image
          </ButtonLink>
          <Button kind="primary" onClick={onClose}>
            Done
          </Button>
        </>
      }
    >
      <div className="stack">
        <Alert tone="warn">Copy it now: it is not shown again. An image that is prepared with it carries it.</Alert>
        <section className="stack stack2">
          <h3 className="label">Token</h3>
          <Command command={token.token} prompt="" what="token" />
        </section>
        <section className="stack stack2">
          <h3 className="label">Kernel argument, for machines that are booted some other way</h3>
          <Command command={token.kernel_argument} prompt="" what="kernel argument" />
        </section>
        <p className="fs13 t2">
          {token.expires_at === null ? 'It does not expire' : `It expires on ${exact(token.expires_at)}`}
          {token.max_uses === null ? ', and any number of servers may come through it.' : `, or once ${count(token.max_uses)} machines have come through it.`}
        </p>
      </div>
    </Dialog>
  )
}
