import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useRef, useState } from 'react'
import { type Datacenter, datacenterCreate, datacenterList, datacenterUpdate } from '#contract/datacenters.ts'
import { call, CallError } from '../../api/client.ts'
import { newKey } from '../../api/http.ts'
import { invalidate } from '../../api/query.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog } from '../../ui/Dialog.tsx'
import { Field, Select, TextArea, TextInput } from '../../ui/Field.tsx'
import { Alert } from '../../ui/Status.tsx'
import { toast } from '../../ui/toast.ts'
import { blank, readForm, type Typed, typedOf } from './datacenter-form.ts'
import css from './DatacentersPage.module.css'

const tiers = [{ value: 'unknown', text: 'Unknown' }, ...['1', '2', '3', '4'].map((t) => ({ value: t, text: `Tier ${t}` }))]

/** Adds a datacenter, or changes one. Country and city make the code, so they are fixed once something stands there. */
export default function DatacenterDialog({ edit, onClose }: { edit: Datacenter | null; onClose: () => void }) {
  const client = useQueryClient()
  const [typed, setTyped] = useState<Typed>(edit ? typedOf(edit) : blank)
  const [touched, setTouched] = useState<ReadonlySet<keyof Typed>>(new Set())
  const [refused, setRefused] = useState<Readonly<Record<string, string>>>({})
  const [problem, setProblem] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const [key] = useState(newKey)
  const form = useRef<HTMLFormElement>(null)
  const formId = useId()
  const read = readForm(typed)
  const inUse = edit !== null && edit.servers + edit.clusters + edit.subnets > 0

  const errorOf = (field: keyof Typed) => refused[field] ?? (touched.has(field) && !read.ok ? read.fields[field] : undefined)
  const wire = (field: keyof Typed) => ({
    name: field,
    value: typed[field],
    onValue: (value: string) => {
      setTyped({ ...typed, [field]: value })
      setRefused({})
    },
    onBlur: () => setTouched(new Set([...touched, field])),
  })

  async function submit(event: FormEvent) {
    event.preventDefault()
    if (!read.ok) {
      setTouched(new Set(Object.keys(blank) as (keyof Typed)[]))
      const first = Object.keys(read.fields)[0]
      form.current?.querySelector<HTMLElement>(`[name="${first}"]`)?.focus()
      return
    }
    setBusy(true)
    setProblem(null)
    try {
      const { country_code, city_code, ...rest } = read.body
      const saved = edit
        ? await call(datacenterUpdate, { params: { id: edit.id }, body: inUse ? rest : { ...rest, country_code, city_code } }, { version: edit.version })
        : await call(datacenterCreate, { body: read.body }, { key })
      await invalidate(client, datacenterList)
      toast.success(edit ? `${saved.code} was changed` : `${saved.code} was added`)
      onClose()
    } catch (error) {
      setBusy(false)
      if (error instanceof CallError && Object.keys(error.fields).length > 0) setRefused(error.fields)
      else setProblem(error instanceof Error ? error.message : 'The datacenter could not be saved')
    }
  }

  return (
    <Dialog
      open
      onClose={onClose}
      locked={busy}
      title={edit ? `Edit ${edit.code}` : 'Add datacenter'}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" form={formId} busy={busy} busyText="Saving">
            {edit ? 'Save' : 'Add datacenter'}
          </Button>
        </>
      }
    >
      <form ref={form} id={formId} className={css['form']} onSubmit={(event) => void submit(event)} noValidate>
        {problem !== null && <Alert tone="danger">{problem}</Alert>}
        <div className={css['pair']}>
          <Field label="Country code" hint={inUse ? 'Fixed while something stands here' : 'ISO 3166, such as PL'} error={errorOf('country_code')}>
            <TextInput {...wire('country_code')} maxLength={2} autoCapitalize="characters" autoComplete="off" mono readOnly={inUse} />
          </Field>
          <Field label="City code" hint={inUse ? 'Fixed while something stands here' : 'UN/LOCODE, such as POZ'} error={errorOf('city_code')}>
            <TextInput {...wire('city_code')} maxLength={3} autoCapitalize="characters" autoComplete="off" mono readOnly={inUse} />
          </Field>
        </div>
        <Field label="City" error={errorOf('city_name')}>
          <TextInput {...wire('city_name')} maxLength={64} autoComplete="off" />
        </Field>
        <Field label="Tier" hint="What you declare; nobody has checked it" error={errorOf('tier')}>
          <Select
            value={typed.tier === '' ? 'unknown' : typed.tier}
            options={tiers}
            onValue={(tier) => setTyped({ ...typed, tier: tier === 'unknown' ? '' : tier })}
          />
        </Field>
        <Field label="Certifications" optional hint="One per line, or separated by commas" error={errorOf('certifications')}>
          <TextArea {...wire('certifications')} rows={2} />
        </Field>
        <div className={css['pair']}>
          <Field label="Latitude" optional error={errorOf('latitude')}>
            <TextInput {...wire('latitude')} inputMode="decimal" autoComplete="off" />
          </Field>
          <Field label="Longitude" optional error={errorOf('longitude')}>
            <TextInput {...wire('longitude')} inputMode="decimal" autoComplete="off" />
          </Field>
        </div>
      </form>
    </Dialog>
  )
}
