import { useState } from 'react'
import type { Answer } from '#contract/operation.ts'
import {
  invitationCreate,
  invitationDays,
  invitationList,
  NewInvitation,
} from '#contract/people/invitations.ts'
import type { Role } from '#contract/permissions.ts'
import { call } from '../../../api/client.ts'
import { invalidate } from '../../../api/query.ts'
import { readBy } from '../../../lib/fields.ts'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { roleOptions } from './role-options.ts'
import ShowLink from './ShowLink.tsx'

interface Typed {
  email: string
  name: string
  role: Role
}
const blank: Typed = { email: '', name: '', role: 'viewer' }
const { Text, Choose } = fieldsFor<Typed>()

/** Invites somebody by a link that works once. */
export default function InviteUser() {
  const [made, setMade] = useState<Answer<typeof invitationCreate> | null>(null)
  const form = useForm({
    initial: blank,
    read: (typed) => readBy(NewInvitation, typed),
    send: (body, key) => call(invitationCreate, { body }, { key }),
    done: async (answer) => {
      await invalidate(invitationList)
      setMade(answer)
    },
  })
  if (made !== null) return <Invited {...made} />
  return (
    <FormDialog form={form} title="Invite a user" submit="Create invitation">
      <p className="fs13 t2">
        You get a link to send. With it, the user chooses a name and a password, once, within{' '}
        {invitationDays} days.
      </p>
      <Text name="email" label="Email" type="email" autoCapitalize="none" />
      <Text name="name" label="Name" />
      <Choose name="role" label="Role" options={roleOptions} />
    </FormDialog>
  )
}

/** The link of a new invitation. */
export const Invited = ({ email, url, expires_at: until }: Answer<typeof invitationCreate>) => (
  <ShowLink
    title={`Invitation for ${email}`}
    url={url}
    until={until}
    text={`Send it to ${email}. It can be used once, to create the account.`}
  />
)
