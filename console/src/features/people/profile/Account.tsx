import type { Answer } from '#contract/operation.ts'
import { ProfileChange, profileGet, profileUpdate } from '#contract/people/profile.ts'
import { type Role, type Scope, scopes, scopesOf } from '#contract/permissions.ts'
import { call } from '../../../api/client.ts'
import { setPreferences, usePreferences } from '../../../api/preferences.ts'
import { invalidate } from '../../../api/query.ts'
import { renamed } from '../../../api/session.ts'
import { readBy } from '../../../lib/fields.ts'
import { useStore } from '../../../lib/store.ts'
import { sentence } from '../../../lib/text.ts'
import { followSystem, setTheme, theme } from '../../../lib/theme.ts'
import { Badge, Problem } from '../../../ui/feedback/Status.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { fieldsFor, Form } from '../../../ui/form/fields.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { Button } from '../../../ui/inputs/Button.tsx'
import { Field } from '../../../ui/inputs/Field.tsx'
import { Select } from '../../../ui/inputs/Choices.tsx'
import { Time } from '../../../ui/table/list-columns.tsx'
import { KeyValue, Panel } from '../../../ui/text/Panel.tsx'
import css from '../People.module.css'

export type Profile = Answer<typeof profileGet>

/** Name, role and appearance. */
export function Account({ profile }: { profile: Profile }) {
  return (
    <div className={css['cols']}>
      <div className={css['col']}>
        <NamePanel key={profile.user.name} profile={profile} />
        <ThemePanel />
      </div>
      <RolePanel profile={profile} />
    </div>
  )
}

const { Text } = fieldsFor<{ name: string }>()

function NamePanel({ profile: { user, created_at: since } }: { profile: Profile }) {
  const form = useForm({
    initial: { name: user.name },
    read: (typed) => readBy(ProfileChange, typed),
    send: (body) => call(profileUpdate, { body }),
    done: async (after) => {
      renamed(after)
      await invalidate(profileGet)
      toast.success('Your name was changed')
    },
  })
  return (
    <Panel title="You">
      <Form form={form} className="stack">
        <KeyValue
          rows={[
            ['Email', user.email],
            ['Account since', <Time at={since} />],
          ]}
        />
        <Text name="name" label="Name" autoComplete="name" />
        <Problem text={form.problem} />
        <div className="row">
          <Button
            type="submit"
            busy={form.busy}
            busyText="Saving"
            can={form.dirty ? undefined : { ok: false, reason: 'Change the name first' }}
          >
            Save name
          </Button>
        </div>
      </Form>
    </Panel>
  )
}

const themes = [
  { value: 'system', text: 'Like the system' },
  { value: 'dark', text: 'Dark' },
  { value: 'light', text: 'Light' },
] as const

function ThemePanel() {
  const preferences = usePreferences()
  const shown = useStore(theme)
  const choose = (next: (typeof themes)[number]['value']) => {
    if (next === 'system') followSystem()
    else setTheme(next)
    setPreferences((now) => ({ ...now, theme: next }))
  }
  return (
    <Panel title="Appearance">
      <Field
        label="Theme"
        hint="Stored with your account, and used in every browser in which you have chosen no other."
      >
        <Select value={preferences.theme ?? shown} options={themes} onValue={choose} />
      </Field>
    </Panel>
  )
}

const does: Readonly<Record<Role, string>> = {
  viewer: 'Sees everything but credentials and the pages of admins, and changes nothing.',
  operator: 'Manages servers, clusters, networks and the marketplace, and downloads credentials.',
  admin: 'Does everything, and manages users.',
}
const missing = (role: Role): Scope[] => scopes.filter((scope) => !scopesOf[role].includes(scope))

/** The role, what it includes, and who can give another one. */
function RolePanel({ profile: { role, administrators } }: { profile: Profile }) {
  const lacks = missing(role)
  return (
    <Panel title="Role" note={<Badge tone="accent">{sentence(role)}</Badge>}>
      <div className="stack">
        <p>{does[role]}</p>
        <KeyValue
          rows={[
            ['Includes', <span className="mono">{scopesOf[role].join(', ')}</span>],
            lacks.length > 0 && ['Lacks', <span className="mono">{lacks.join(', ')}</span>],
          ]}
        />
        {lacks.length > 0 && (
          <section className="stack stack2" aria-label="Who can give you another role">
            <h3 className="label">Who can give you another role</h3>
            {administrators.length === 0 ? (
              <p className="fs13 t2">Nobody can sign in as an admin now.</p>
            ) : (
              <ul className={css['items']}>
                {administrators.map(({ name, email }) => (
                  <li key={email}>
                    <span>{name}</span>
                    <a href={`mailto:${email}`}>{email}</a>
                  </li>
                ))}
              </ul>
            )}
          </section>
        )}
      </div>
    </Panel>
  )
}
