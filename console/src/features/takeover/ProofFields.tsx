import { type ChangeEvent, useRef } from 'react'
import { Button, Segmented } from '../../ui/inputs/Button.tsx'
import { Field, TextArea } from '../../ui/inputs/Field.tsx'
import { unrecorded } from '../../ui/text/unrecorded.ts'
import css from './Takeover.module.css'
import type { ProofKind, Typed } from './takeover-form.ts'

const mostBytes = 128 * 1024

/** A file of secrets: chosen or pasted. It stays in this page's memory and is kept nowhere. */
function SecretFile({
  label,
  hint,
  optional = false,
  value,
  error,
  onValue,
}: {
  label: string
  hint: string
  optional?: boolean
  value: string
  error?: string | undefined
  onValue: (text: string, problem?: string) => void
}) {
  const picker = useRef<HTMLInputElement>(null)
  const pick = async (event: ChangeEvent<HTMLInputElement>) => {
    const picked = event.target.files?.[0]
    event.target.value = ''
    if (!picked) return
    if (picked.size > mostBytes) onValue(value, `${picked.name} is larger than 128 KiB`)
    else onValue(await picked.text())
  }
  return (
    <div {...unrecorded}>
      <Field label={label} hint={hint} error={error} optional={optional} note={value === '' ? undefined : `${value.length} characters`}>
        <TextArea value={value} onValue={(text) => onValue(text)} rows={4} mono spellCheck={false} autoComplete="off" />
      </Field>
      <input ref={picker} type="file" className="sr" tabIndex={-1} aria-label={`File of the ${label.toLowerCase()}`} onChange={(e) => void pick(e)} />
      <div className={css['pick']}>
        <Button size="small" onClick={() => picker.current?.click()}>
          Choose a file
        </Button>
      </div>
    </div>
  )
}

/** What proves that the cluster is one's own. */
export function ProofFields({
  typed,
  errors,
  onChange,
  withKubeconfig = false,
}: {
  typed: Typed
  errors: Readonly<Record<string, string | undefined>>
  onChange: (change: Partial<Typed>, problems?: Readonly<Record<string, string>>) => void
  withKubeconfig?: boolean
}) {
  const set = (field: 'secrets' | 'talosconfig' | 'kubeconfig') => (text: string, problem?: string) =>
    onChange({ [field]: text }, problem === undefined ? {} : { [field]: problem })
  return (
    <>
      <div className="row">
        <Segmented<ProofKind>
          label="What opens the cluster"
          size="medium"
          value={typed.kind}
          options={[
            { value: 'secrets', text: 'Secrets bundle' },
            { value: 'talosconfig', text: 'Talosconfig' },
          ]}
          onChange={(kind) => onChange({ kind })}
        />
      </div>
      {typed.kind === 'secrets' ? (
        <SecretFile
          label="Secrets bundle"
          hint="secrets.yaml, as talosctl gen secrets writes it"
          value={typed.secrets}
          error={errors['secrets']}
          onValue={set('secrets')}
        />
      ) : (
        <>
          <SecretFile
            label="Talosconfig"
            hint="Of an admin (os:admin). The cluster's secrets are read from a control plane"
            value={typed.talosconfig}
            error={errors['talosconfig']}
            onValue={set('talosconfig')}
          />
          {withKubeconfig && (
            <SecretFile
              label="Kubeconfig"
              optional
              hint="Of an admin, to be sure that both are of the same cluster"
              value={typed.kubeconfig}
              error={errors['kubeconfig']}
              onValue={set('kubeconfig')}
            />
          )}
        </>
      )}
    </>
  )
}
