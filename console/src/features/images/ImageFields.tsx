import type { ReactNode } from 'react'
import { architectures, imageFormats } from '#contract/images.ts'
import { type JoinToken, joinTokenCreate } from '#contract/join-tokens.ts'
import type { OfferedTalos } from '#contract/versions.ts'
import { allowed } from '../../api/session.ts'
import { until } from '../../lib/time/time.ts'
import { count } from '../../lib/units.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { paths } from '../../lib/paths.ts'
import { Segmented } from '../../ui/inputs/Segmented.tsx'
import { cx } from '../../ui/cx.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import type { Form } from '../../ui/form/use-form.ts'
import { Select, Switch } from '../../ui/inputs/Choices.tsx'
import { Panel } from '../../ui/text/Panel.tsx'
import { ExtensionPicker } from '../../layout/extensions/ExtensionPicker.tsx'
import { EarlyFields } from './EarlyFields.tsx'
import {
  argsOf,
  choicesOf,
  type Draft,
  formatHints,
  formatNames,
  type Known,
  noToken,
  withDatacenter,
  withToken,
} from './image-form.ts'
import css from './PrepareImage.module.css'

const { Area, Choose, Custom } = fieldsFor<Draft>()

interface ImageFieldsProps {
  form: Form<Draft>
  /** The chosen version, or the newest. */
  version: string
  versions: readonly string[]
  /** The offered Talos versions, each with its end of support. */
  offered: readonly OfferedTalos[]
  known: Omit<Known, 'tokens' | 'datacenters'> & {
    tokens: readonly JoinToken[]
    datacenters: readonly { id: string; code: string; city_name: string }[]
  }
  /** Address of the image factory. */
  factory: string | undefined
  onCreateToken: () => void
}

/** The fields of an image. */
export function ImageFields({
  form: { values: draft, set, errorOf },
  version,
  versions,
  offered,
  known,
  factory,
  onCreateToken,
}: ImageFieldsProps) {
  const moreOf = (version: string) => {
    const found = offered.find((v) => v.talos_version === version)
    return found?.support.ended === true ? { more: 'out of support' } : {}
  }
  return (
    <>
      <Panel title="Talos">
        <div className={css['fields']}>
          <Custom
            name="version"
            label="Talos version"
            hint="Servers that boot the image can join clusters of this minor version, or of an earlier one."
          >
            <Select
              value={version}
              placeholder="Loading"
              options={versions.map((v, i) => ({
                value: v,
                text: i === 0 && v === known.newest ? `${v} (newest)` : v,
                ...moreOf(v),
              }))}
              onValue={(to) => set({ version: to === known.newest ? '' : to })}
            />
          </Custom>
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
            hint={
              draft.secureboot
                ? 'The machine boots signed images only: enrol the keys at its first start.'
                : 'The image is not signed.'
            }
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
          <Choose
            name="datacenter"
            label="Datacenter"
            hint="The datacenter of the servers."
            none="None yet"
            options={known.datacenters.map((d) => ({
              value: d.id,
              text: d.code,
              more: d.city_name,
            }))}
            onValue={(id) => set(withDatacenter(draft, id, known.tokens))}
          />
          <TokenField draft={draft} tokens={known.tokens} onChange={set} onCreate={onCreateToken} />
        </div>
      </Panel>
      <EarlyFields draft={draft} onChange={set} factory={factory} />
      <Panel
        title="Extensions"
        note={draft.extensions.length === 0 ? 'none chosen' : `${draft.extensions.length} chosen`}
      >
        <ExtensionPicker
          version={version}
          chosen={draft.extensions}
          onChosen={(extensions) => set({ extensions })}
          error={errorOf('extensions')}
        />
      </Panel>
      <Panel title="Kernel arguments">
        <Area
          name="kernelArgs"
          label="Extra kernel arguments"
          optional
          hint={`One per line, or separated by a comma and a space, such as console=ttyS0. A leading hyphen removes one of Talos's own arguments. ${argsOf(draft.kernelArgs).length === 0 ? '' : `${argsOf(draft.kernelArgs).length} entered.`}`}
          mono
          rows={3}
          autoCapitalize="none"
        />
      </Panel>
    </>
  )
}

/** Label and hint of a group of controls. */
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

/** "3 of 10 used, ends in 7 d" */
const stateOf = (t: JoinToken): string =>
  [
    t.max_uses !== null && `${count(t.uses)} of ${count(t.max_uses)} used`,
    t.expires_at === null ? 'does not expire' : `ends ${until(t.expires_at)}`,
  ]
    .filter(Boolean)
    .join(', ')

interface TokenFieldProps {
  draft: Draft
  tokens: readonly JoinToken[]
  onChange: (patch: Partial<Draft>) => void
  onCreate: () => void
}

/** Picks the image's join token: a usable one, a new one, or none. */
function TokenField({ draft, tokens, onChange, onCreate }: TokenFieldProps) {
  const { fit, others } = choicesOf(tokens, draft.datacenter)
  // The chosen token stays in the list even if it is no longer usable; the field's error then says
  // why.
  const spent = tokens.filter(
    (t) => t.id === draft.token && !fit.includes(t) && !others.includes(t),
  )
  const chosen = tokens.find((t) => t.id === draft.token)
  const hint =
    draft.token === noToken
      ? 'Servers that boot the image wait in maintenance mode and do not announce themselves: add them by their address.'
      : chosen === undefined
        ? 'Servers that boot the image announce themselves with the token.'
        : `${stateOf(chosen)}. Servers announce themselves ${chosen.datacenter === null ? 'without a datacenter' : `in ${chosen.datacenter.code}`}.`
  return (
    <Custom name="token" label="Join token" hint={hint}>
      <span className={css['token']}>
        <Select
          value={draft.token}
          placeholder="Choose a join token"
          onValue={(token) => onChange(withToken(draft, token, tokens))}
          options={[
            ...fit.map((t) => ({
              value: t.id,
              text: t.name,
              ...(t.datacenter !== null && { more: t.datacenter.code }),
            })),
            ...others.map((t) => ({
              value: t.id,
              text: t.name,
              more: `puts servers in ${t.datacenter?.code ?? 'no datacenter'}`,
              disabled: true,
            })),
            ...spent.map((t) => ({ value: t.id, text: t.name, disabled: true })),
            { value: noToken, text: 'None: servers do not announce themselves' },
          ]}
        />
        <ActionButton label="New token" icon="add" can={allowed(joinTokenCreate)} run={onCreate} />
      </span>
    </Custom>
  )
}
