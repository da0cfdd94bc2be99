import type { ReactNode } from 'react'
import { architectures, imageFormats } from '#contract/images.ts'
import type { JoinToken } from '#contract/join-tokens.ts'
import type { OfferedTalos } from '#contract/versions.ts'
import { paths } from '../../lib/paths.ts'
import { Segmented } from '../../ui/inputs/Button.tsx'
import { cx } from '../../ui/cx.ts'
import { Field, Select, Switch, TextArea } from '../../ui/inputs/Field.tsx'
import { Panel } from '../../ui/text/Panel.tsx'
import { ExtensionPicker } from './ExtensionPicker.tsx'
import { argsOf, type Draft, type Field as FieldName, formatHints, formatNames, type Known, withDatacenter } from './image-form.ts'
import css from './PrepareImage.module.css'
import { TokenField } from './TokenField.tsx'

/** Everything that can be chosen of an image. */
export function ImageFields({
  draft,
  set,
  version,
  versions,
  offered,
  known,
  errorOf,
  onLeft,
  onCreateToken,
}: {
  draft: Draft
  set: (patch: Partial<Draft>) => void
  /** The chosen one, or the newest. */
  version: string
  versions: readonly string[]
  /** What is known of their support. */
  offered: readonly OfferedTalos[]
  known: Omit<Known, 'tokens' | 'datacenters'> & { tokens: readonly JoinToken[]; datacenters: readonly { id: string; code: string; city_name: string }[] }
  errorOf: (field: FieldName) => string | undefined
  onLeft: (field: FieldName) => void
  onCreateToken: () => void
}) {
  const moreOf = (version: string) => {
    const found = offered.find((v) => v.talos_version === version)
    return found?.support.ended === true ? { more: 'out of support' } : {}
  }
  return (
    <>
      <Panel title="Talos">
        <div className={css['fields']}>
          <div data-field="version">
            <Field label="Talos version" error={errorOf('version')} hint="What boots it can join clusters of this minor version, or of an earlier one.">
              <Select
                value={version}
                placeholder="Loading"
                options={versions.map((v, i) => ({ value: v, text: i === 0 && v === known.newest ? `${v} (newest)` : v, ...moreOf(v) }))}
                onValue={(to) => set({ version: to === known.newest ? '' : to })}
              />
            </Field>
          </div>
          <Choice label="Architecture">
            <Segmented
              size="medium"
              label="Architecture"
              value={draft.arch}
              options={architectures.map((value) => ({ value, text: value }))}
              onChange={(arch) => set({ arch })}
            />
          </Choice>
          <Choice label="File" hint={formatHints[draft.format]}>
            <Segmented
              size="medium"
              label="File"
              value={draft.format}
              options={imageFormats.map((value) => ({ value, text: formatNames[value] }))}
              onChange={(format) => set({ format })}
            />
          </Choice>
          <Choice
            label="SecureBoot"
            hint={draft.secureboot ? 'The machine boots only what is signed: enrol the keys at its first start.' : 'The machine boots it as it is.'}
          >
            <span className={css['switch']}>
              <Switch
                checked={draft.secureboot}
                onChange={(secureboot) => set({ secureboot })}
                label={
                  <>
                    <span className="sr">SecureBoot </span>
                    {draft.secureboot ? 'On' : 'Off'}
                  </>
                }
              />
            </span>
          </Choice>
        </div>
      </Panel>
      <Panel
        title="Joining"
        actions={
          <a className={css['all']} href={paths.joinTokens()}>
            All join tokens
          </a>
        }
      >
        <div className={css['fields']}>
          <div data-field="datacenter">
            <Field label="Datacenter" error={errorOf('datacenter')} hint="Where the servers will stand.">
              <Select
                value={draft.datacenter === '' ? 'none' : draft.datacenter}
                options={[{ value: 'none', text: 'None yet' }, ...known.datacenters.map((d) => ({ value: d.id, text: d.code, more: d.city_name }))]}
                onValue={(id) => set(withDatacenter(draft, id === 'none' ? '' : id, known.tokens))}
              />
            </Field>
          </div>
          <div data-field="token">
            <TokenField draft={draft} tokens={known.tokens} error={errorOf('token')} onChange={set} onLeft={() => onLeft('token')} onCreate={onCreateToken} />
          </div>
        </div>
      </Panel>
      <Panel title="Extensions" note={draft.extensions.length === 0 ? 'none chosen' : `${draft.extensions.length} chosen`}>
        <div data-field="extensions">
          <ExtensionPicker version={version} chosen={draft.extensions} onChosen={(extensions) => set({ extensions })} error={errorOf('extensions')} />
        </div>
      </Panel>
      <Panel title="Kernel arguments">
        <div data-field="kernelArgs">
          <Field
            label="Extra kernel arguments"
            optional
            error={errorOf('kernelArgs')}
            hint={`One a line, such as console=ttyS0. A hyphen in front takes one of Talos's own off. ${argsOf(draft.kernelArgs).length === 0 ? '' : `${argsOf(draft.kernelArgs).length} written.`}`}
          >
            <TextArea
              mono
              rows={3}
              value={draft.kernelArgs}
              onValue={(kernelArgs) => set({ kernelArgs })}
              onBlur={() => onLeft('kernelArgs')}
              spellCheck={false}
              autoCapitalize="none"
            />
          </Field>
        </div>
      </Panel>
    </>
  )
}

/** Label and hint of a choice that is no single control. */
function Choice({ label, hint, children }: { label: string; hint?: string; children: ReactNode }) {
  return (
    <div className={css['choose']}>
      <span className={css['label']} aria-hidden="true">
        {label}
      </span>
      {children}
      {hint !== undefined && <p className={cx('fs12', 't3', css['hint'])}>{hint}</p>}
    </div>
  )
}
