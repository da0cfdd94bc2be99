import type { JoinToken } from '#contract/join-tokens.ts'
import { joinTokenCreate } from '#contract/join-tokens.ts'
import { allowed } from '../../api/session.ts'
import { until } from '../../lib/time.ts'
import { count } from '../../lib/units.ts'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { Select } from '../../ui/inputs/Field.tsx'
import { choicesOf, type Draft, noToken, withToken } from './image-form.ts'
import css from './PrepareImage.module.css'

const { Custom } = fieldsFor<Draft>()

/** "3 of 10 used, ends in 7 d" */
const stateOf = (t: JoinToken): string =>
  [t.max_uses !== null && `${count(t.uses)} of ${count(t.max_uses)} used`, t.expires_at === null ? 'does not expire' : `ends ${until(t.expires_at)}`]
    .filter(Boolean)
    .join(', ')

interface TokenFieldProps {
  draft: Draft
  tokens: readonly JoinToken[]
  onChange: (patch: Partial<Draft>) => void
  onCreate: () => void
}

/** Picks the image's join token: a usable one, a new one, or none. */
export function TokenField({ draft, tokens, onChange, onCreate }: TokenFieldProps) {
  const { fit, others } = choicesOf(tokens, draft.datacenter)
  // A chosen token that is no longer usable stays in the list; the error says why.
  const spent = tokens.filter((t) => t.id === draft.token && !fit.includes(t) && !others.includes(t))
  const chosen = tokens.find((t) => t.id === draft.token)
  const hint =
    draft.token === noToken
      ? 'Servers that boot it wait in maintenance mode and tell nobody: add them by their address.'
      : chosen === undefined
        ? 'Servers that boot it announce themselves with the token.'
        : `${stateOf(chosen)}. Servers appear in ${chosen.datacenter?.code ?? 'no datacenter yet'} by themselves.`
  return (
    <Custom name="token" label="Join token" hint={hint}>
      <span className={css['token']}>
        <Select
          value={draft.token}
          placeholder="Choose a join token"
          onValue={(token) => onChange(withToken(draft, token, tokens))}
          options={[
            ...fit.map((t) => ({ value: t.id, text: t.name, ...(t.datacenter !== null && { more: t.datacenter.code }) })),
            ...others.map((t) => ({ value: t.id, text: t.name, more: `puts servers in ${t.datacenter?.code ?? 'no datacenter'}`, disabled: true })),
            ...spent.map((t) => ({ value: t.id, text: t.name, disabled: true })),
            { value: noToken, text: 'None: servers do not announce themselves' },
          ]}
        />
        <ActionButton label="New token" icon="add" can={allowed(joinTokenCreate)} run={onCreate} />
      </span>
    </Custom>
  )
}
