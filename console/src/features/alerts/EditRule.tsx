import { useQuery } from '@tanstack/react-query'
import { channelList } from '#contract/alerts/channels.ts'
import {
  type AlertRule,
  alertRuleCreate,
  alertRuleList,
  alertRuleUpdate,
} from '#contract/alerts/rules.ts'
import { call } from '../../api/client.ts'
import { invalidate, query } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { fieldsFor } from '../../ui/form/fields.tsx'
import { FormDialog } from '../../ui/form/FormDialog.tsx'
import { useForm } from '../../ui/form/use-form.ts'
import { toast } from '../../ui/feedback/toast.ts'
import { Unread } from '../../ui/feedback/Unread.tsx'
import { useDialog } from '../../ui/overlay/dialogs.ts'
import { Many } from './Many.tsx'
import { MatcherFields } from './MatcherFields.tsx'
import { readChange, readNew, type Typed, valuesOf } from './rule-form.ts'

const { Text, Choose, Check, Custom } = fieldsFor<Typed>()

/** Adds a rule, or changes one. */
export default function EditRule({ rule }: { rule?: AlertRule }) {
  const { close } = useDialog()
  const channels = useQuery(
    query(channelList, { query: { per_page: channelList.list.mostPerPage } }),
  )
  const form = useForm<Typed, object, AlertRule>({
    initial: valuesOf(rule),
    read: (typed) => (rule ? readChange(typed) : readNew(typed)),
    send: (body, key) =>
      rule
        ? call(alertRuleUpdate, { params: { id: rule.id }, body }, { version: rule.version })
        : call(alertRuleCreate, { body: body as never }, { key }),
    done: async ({ name }) => {
      await invalidate(alertRuleList)
      toast.success(rule ? `${name} was changed` : `${name} was added`)
      close()
    },
  })
  const { values } = form
  return (
    <FormDialog
      form={form}
      title={rule ? `Edit ${rule.name}` : 'Add rule'}
      submit={rule ? 'Save rule' : 'Add rule'}
      busyText="Saving"
      width="36rem"
      can={allowed(rule ? alertRuleUpdate : alertRuleCreate)}
    >
      <Text name="name" label="Name" autoCapitalize="none" />
      <MatcherFields values={values} set={form.set} />
      <Check name="every" label="Notify every channel, including those added later" />
      {!values.every && <Unread what="The channels" of={channels} />}
      {!values.every && (
        <Custom
          name="channel_ids"
          label="Channels"
          {...(channels.data?.items.length === 0 && {
            hint: 'There is no channel yet: add one first',
          })}
        >
          <Many
            label="Channels"
            options={(channels.data?.items ?? []).map((c) => ({ value: c.id, text: c.name }))}
            chosen={values.channel_ids}
            onChoose={(chosen) => form.set({ channel_ids: chosen })}
          />
        </Custom>
      )}
      <Choose
        name="when"
        label="When"
        options={[
          { value: 'once', text: 'When it begins' },
          { value: 'daily', text: 'Once a day, all that is open' },
        ]}
      />
      {values.when === 'daily' ? (
        <Text name="digest_at" label="Time of the day, UTC" type="time" />
      ) : (
        <>
          <Text
            name="wait_minutes"
            label="When it has lasted"
            inputMode="numeric"
            unit="min"
            hint="0: at once"
          />
          <Text
            name="remind_hours"
            label="Remind after"
            optional
            inputMode="numeric"
            unit="h"
            hint="Until it ends or somebody acknowledges it. Empty: never"
          />
        </>
      )}
    </FormDialog>
  )
}
