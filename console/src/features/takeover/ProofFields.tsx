import { type ChangeEvent, useRef } from 'react'
import { fieldsFor } from '../../ui/form/fields.tsx'
import type { Form } from '../../ui/form/use-form.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { Segmented } from '../../ui/inputs/Segmented.tsx'
import { unrecorded } from '../../ui/text/unrecorded.ts'
import css from './Takeover.module.css'
import type { ProofKind, Typed } from './takeover-form.ts'

const mostBytes = 128 * 1024
const { Area } = fieldsFor<Typed>()
type Of = Pick<Form<Typed>, 'values' | 'set' | 'refuse'>

interface SecretFileProps {
  form: Of
  name: 'secrets' | 'talosconfig' | 'kubeconfig'
  label: string
  hint: string
  optional?: boolean
}

/** A file of secrets, chosen or pasted. The file's text is only in this page's memory. */
function SecretFile({ form, name, label, hint, optional = false }: SecretFileProps) {
  const picker = useRef<HTMLInputElement>(null)
  const { length } = form.values[name]
  const pick = async (event: ChangeEvent<HTMLInputElement>) => {
    const picked = event.target.files?.[0]
    event.target.value = ''
    if (!picked) return
    if (picked.size > mostBytes) form.refuse(name, `${picked.name} is larger than 128 KiB`)
    else form.set({ [name]: await picked.text() })
  }
  return (
    <div {...unrecorded}>
      <Area
        name={name}
        label={label}
        hint={hint}
        optional={optional}
        note={length === 0 ? undefined : `${length} characters`}
        rows={4}
        mono
        autoComplete="off"
      />
      <input
        ref={picker}
        type="file"
        className="sr"
        tabIndex={-1}
        aria-label={`File of the ${label.toLowerCase()}`}
        onChange={(e) => void pick(e)}
      />
      <div className={css['pick']}>
        <ActionButton label="Choose a file" size="small" run={() => picker.current?.click()} />
      </div>
    </div>
  )
}

/** Fields for the proof of ownership. */
export function ProofFields({
  form,
  withKubeconfig = false,
}: {
  form: Of
  withKubeconfig?: boolean
}) {
  return (
    <>
      <div className="row">
        <Segmented<ProofKind>
          label="Credentials of the cluster"
          size="medium"
          value={form.values.kind}
          options={[
            { value: 'secrets', text: 'Secrets bundle' },
            { value: 'talosconfig', text: 'Talosconfig' },
          ]}
          onChange={(kind) => form.set({ kind })}
        />
      </div>
      {form.values.kind === 'secrets' ? (
        <SecretFile
          form={form}
          name="secrets"
          label="Secrets bundle"
          hint="secrets.yaml, as talosctl gen secrets writes it"
        />
      ) : (
        <>
          <SecretFile
            form={form}
            name="talosconfig"
            label="Talosconfig"
            hint="With the role os:admin. Steelyard uses it to read the secrets from a control plane"
          />
          {withKubeconfig && (
            <SecretFile
              form={form}
              name="kubeconfig"
              label="Kubeconfig"
              optional
              hint="An admin's kubeconfig, to check that it belongs to the same cluster"
            />
          )}
        </>
      )}
    </>
  )
}
