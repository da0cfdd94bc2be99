import { useState } from 'react'
import type { Answer } from '#contract/operation.ts'
import {
  invitationList,
  type WaitlistEntry,
  waitlistInvite,
  WaitlistInvitation,
  waitlistList,
} from '#contract/people/invitations.ts'
import type { Role } from '#contract/permissions.ts'
import { call } from '../../../api/client.ts'
import { invalidate } from '../../../api/query.ts'
import { readBy } from '../../../lib/fields.ts'
import { fieldsFor } from '../../../ui/form/fields.tsx'
import { FormDialog } from '../../../ui/form/FormDialog.tsx'
import { useForm } from '../../../ui/form/use-form.ts'
import { Invited } from './InviteUser.tsx'
import { roleOptions } from './role-options.ts'

const blank: { role: Role } = { role: 'viewer' }
const { Choose } = fieldsFor<typeof blank>()

/** Invites somebody from the waitlist, with the name and email that they gave. */
export default function InviteFromWaitlist({ entry }: { entry: WaitlistEntry }) {
  const [made, setMade] = useState<Answer<typeof waitlistInvite> | null>(null)
  const form = useForm({
    initial: blank,
    read: (typed) => readBy(WaitlistInvitation, typed),
    send: (body, key) => call(waitlistInvite, { params: { id: entry.id }, body }, { key }),
    done: async (answer) => {
      await invalidate(waitlistList, invitationList)
      setMade(answer)
    },
  })
  if (made !== null) return <Invited {...made} />
  return (
    <FormDialog form={form} title={`Invite ${entry.email}`} submit="Create invitation">
      <p className="fs13 t2">
        {entry.name}
        {entry.company !== '' && `, ${entry.company}`}
      </p>
      <Choose name="role" label="Role" options={roleOptions} />
    </FormDialog>
  )
}
