import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useRef, useState } from 'react'
import { type Datacenter, datacenterCreate, datacenterList, datacenterUpdate } from '#contract/datacenters.ts'
import { call, CallError } from '../../api/client.ts'
import { newKey } from '../../api/http.ts'
import { invalidate } from '../../api/query.ts'
import { cliOf, curlOf } from '../../lib/shell.ts'
import { listOf } from '../../lib/text.ts'
import { AsCommand } from '../../ui/text/AsCommand.tsx'
import { Button } from '../../ui/inputs/Button.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { Field, Select, TextArea, TextInput } from '../../ui/inputs/Field.tsx'
import { countryName } from '../../ui/pictures/Flag.tsx'
import { Problem } from '../../ui/feedback/Status.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { useAct } from '../../ui/feedback/use-act.ts'
import { blank, changeOf, codePreview, fields, readForm, type Typed, typedOf } from './datacenter-form.ts'
import css from './DatacentersPage.module.css'

const tiers = [{ value: 'unknown', text: 'Unknown' }, ...['1', '2', '3', '4'].map((t) => ({ value: t, text: `Tier ${t}` }))]

/** Adds a datacenter, or changes one. Country and city make the code, so they are fixed once something stands there. */
export default function DatacenterDialog({ edit, onClose }: { edit: Datacenter | null; onClose: () => void }) {
  const client = useQueryClient()
  const [typed, setTyped] = useState<Typed>(edit ? typedOf(edit) : blank)
  const [touched, setTouched] = useState<ReadonlySet<keyof Typed>>(new Set())
  const [refused, setRefused] = useState<Readonly<Record<string, string>>>({})
  const { busy, problem, act } = useAct()
  const key = useRef(newKey())
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
      key.current = newKey()
    },
    onBlur: () => setTouched((now) => new Set([...now, field])),
  })

  async function submit(event: FormEvent) {
    event.preventDefault()
    if (!read.ok) {
      setTouched(new Set(fields))
      const first = fields.find((field) => read.fields[field] !== undefined)
      form.current?.querySelector<HTMLElement>(`[name="${first}"]`)?.focus()
      return
    }
    const { body } = read
    const save = async () => {
      const saved = edit
        ? await call(datacenterUpdate, { params: { id: edit.id }, body: changeOf(edit, body, inUse) }, { version: edit.version })
        : await call(datacenterCreate, { body }, { key: key.current })
      await invalidate(client, datacenterList)
      toast.success(edit ? `${saved.code} was changed` : `${saved.code} was added`)
    }
    const saved = await act(save, (error) => {
      const atFields = error instanceof CallError && Object.keys(error.fields).length > 0
      if (atFields) setRefused(error.fields)
      return atFields
    })
    if (saved) onClose()
  }

  const code = codePreview(typed)
  const country = /^[A-Za-z]{2}$/.test(typed.country_code) ? countryName(typed.country_code.toUpperCase()) : null
  const fixed = 'Fixed while something stands here'
  return (
    <Dialog
      open
      onClose={onClose}
      locked={busy}
      width="36rem"
      title={edit ? `Edit ${edit.code}` : 'Add datacenter'}
      footer={
        <>
          {edit === null && (
            <span className={css['command']}>
              <AsCommand
                complete={read.ok}
                cli={cliOf(['datacenter', 'add'], {
                  country: typed.country_code.toUpperCase(),
                  'city-code': typed.city_code.toUpperCase(),
                  city: typed.city_name,
                  index: typed.index,
                  facility: typed.facility,
                  address: typed.address,
                  tier: typed.tier,
                  certification: listOf(typed.certifications),
                  latitude: typed.latitude,
                  longitude: typed.longitude,
                  'power-kw': typed.power_capacity_kw,
                  racks: typed.rack_capacity,
                  notes: typed.notes,
                })}
                api={curlOf(datacenterCreate, {}, read.ok ? read.body : {}, { origin: location.origin })}
              />
            </span>
          )}
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" form={formId} busy={busy} busyText="Saving">
            {edit ? 'Save' : 'Add datacenter'}
          </Button>
        </>
      }
    >
      <form ref={form} id={formId} className={css['form']} onSubmit={(event) => void submit(event)} noValidate>
        <Problem text={problem} />
        <div className={css['three']}>
          <Field label="Country code" hint={inUse ? fixed : (country ?? 'ISO 3166, such as PL')} error={errorOf('country_code')}>
            <TextInput {...wire('country_code')} maxLength={2} autoCapitalize="characters" autoComplete="off" mono readOnly={inUse} />
          </Field>
          <Field label="City code" hint={inUse ? fixed : 'UN/LOCODE, such as POZ'} error={errorOf('city_code')}>
            <TextInput {...wire('city_code')} maxLength={3} autoCapitalize="characters" autoComplete="off" mono readOnly={inUse} />
          </Field>
          <Field label="Index" optional={edit === null} hint={inUse ? fixed : 'Empty is the next of the city'} error={errorOf('index')}>
            <TextInput {...wire('index')} inputMode="numeric" maxLength={3} autoComplete="off" mono readOnly={inUse} />
          </Field>
        </div>
        <p className="fs13 t2" aria-live="polite">
          {code === null ? (
            'Country and city make the code.'
          ) : (
            <>
              Its code {inUse ? 'is' : 'will be'} <b className="strong">{code}</b>
              {code.endsWith('…') ? ', with the next number of the city.' : '.'}
            </>
          )}
        </p>
        <Field label="City" error={errorOf('city_name')}>
          <TextInput {...wire('city_name')} maxLength={64} autoComplete="off" />
        </Field>
        <div className={css['pair']}>
          <Field label="Facility" optional hint="The building, or who runs it" error={errorOf('facility')}>
            <TextInput {...wire('facility')} maxLength={50} autoComplete="off" />
          </Field>
          <Field label="Address" optional error={errorOf('address')}>
            <TextInput {...wire('address')} maxLength={200} autoComplete="off" />
          </Field>
          <Field label="Tier" hint="What you declare; nobody has checked it" error={errorOf('tier')}>
            <Select
              value={typed.tier === '' ? 'unknown' : typed.tier}
              options={tiers}
              onValue={(tier) => setTyped({ ...typed, tier: tier === 'unknown' ? '' : tier })}
            />
          </Field>
          <Field label="Certifications" optional hint="One a line, or commas between" error={errorOf('certifications')}>
            <TextArea {...wire('certifications')} rows={2} />
          </Field>
          <Field label="Latitude" optional error={errorOf('latitude')}>
            <TextInput {...wire('latitude')} inputMode="decimal" autoComplete="off" placeholder="52.41" />
          </Field>
          <Field label="Longitude" optional error={errorOf('longitude')}>
            <TextInput {...wire('longitude')} inputMode="decimal" autoComplete="off" placeholder="16.93" />
          </Field>
          <Field label="Power" optional error={errorOf('power_capacity_kw')}>
            <TextInput {...wire('power_capacity_kw')} inputMode="decimal" autoComplete="off" unit="kW" />
          </Field>
          <Field label="Racks" optional error={errorOf('rack_capacity')}>
            <TextInput {...wire('rack_capacity')} inputMode="numeric" autoComplete="off" />
          </Field>
        </div>
        <Field label="Notes" optional error={errorOf('notes')}>
          <TextArea {...wire('notes')} rows={3} maxLength={2000} />
        </Field>
      </form>
    </Dialog>
  )
}
