/** Actions on a user, for row menu and ⌘K. */
import { no, yes } from '#contract/rule.ts'
import {
  type Person,
  userList,
  userRemove,
  userResetPassword,
  userResetSecondFactor,
  userUnlock,
  userUpdate,
} from '#contract/users.ts'
import { counted } from '#contract/words.ts'
import { call } from '../../../api/client.ts'
import { invalidate } from '../../../api/query.ts'
import { allowed } from '../../../api/session.ts'
import { paths } from '../../../lib/paths.ts'
import { type Action, both, confirm } from '../../../ui/actions.ts'
import { toast } from '../../../ui/feedback/toast.ts'
import { dialog } from '../../../ui/overlay/dialogs.ts'
import type { ShownLink } from './ShowLink.tsx'

export const editUser = dialog<{ user: Person }>(() => import('./EditUser.tsx'))
export const showLink = dialog<ShownLink>(() => import('./ShowLink.tsx'))

/** @param ownId id of the signed-in user */
export const userActions = (u: Person, ownId: string | undefined): Action[] => [
  { label: 'Edit', icon: 'edit', can: allowed(userUpdate), run: () => editUser({ user: u }) },
  { label: 'Sessions', icon: 'terminal', to: paths.sessions({ user: u.id }) },
  { label: 'Actions in the audit log', icon: 'lock', to: paths.audit({ actor: u.email }) },
  {
    label: 'Link to set a password',
    icon: 'key',
    can: allowed(userResetPassword),
    run: () =>
      confirm({
        title: `Create a link to set a password?`,
        label: 'Create link',
        text: `Whoever opens the link can set a new password for ${u.email}. An earlier link stops working.`,
        act: async () => {
          const { url, expires_at: until } = await call(userResetPassword, { params: { id: u.id } })
          void showLink({
            title: `Link for ${u.email}`,
            url,
            until,
            text: 'Send it to the user. It can be used once, to set a new password.',
          })
        },
      }),
  },
  {
    label: 'Clear failed sign-ins',
    icon: 'refresh',
    can: allowed(userUnlock),
    run: () =>
      confirm({
        title: `Clear the failed sign-ins of ${u.email}?`,
        label: 'Clear',
        text: 'The next sign-in does not have to wait.',
        act: async () => {
          const { failures_cleared: n } = await call(userUnlock, { params: { id: u.id } })
          toast.success(`${counted(n, 'failed sign-in')} cleared`)
        },
      }),
  },
  {
    label: 'Reset second factor',
    icon: 'swap',
    danger: true,
    can: both(
      allowed(userResetSecondFactor),
      u.has_second_factor ? yes : no('The user has no second factor'),
    ),
    run: () =>
      confirm({
        title: `Reset the second factor of ${u.email}?`,
        label: 'Reset',
        text: 'Authenticator app, passkeys and recovery codes are removed, and all sessions end. Make sure that it is really this user who asks for it.',
        danger: true,
        act: async () => {
          await call(userResetSecondFactor, { params: { id: u.id } })
          await invalidate(userList)
          toast.success(`The second factor of ${u.email} was reset`)
        },
      }),
  },
  {
    label: u.disabled_at === null ? 'Disable' : 'Enable',
    icon: 'power',
    danger: u.disabled_at === null,
    can: both(
      allowed(userUpdate),
      u.disabled_at === null && u.id === ownId ? no('You cannot disable your own account') : yes,
    ),
    run: () => setDisabled(u, u.disabled_at === null),
  },
  {
    label: 'Remove',
    icon: 'trash',
    danger: true,
    can: both(allowed(userRemove), u.id === ownId ? no('You cannot remove your own account') : yes),
    run: () =>
      confirm({
        title: `Remove ${u.email}?`,
        label: 'Remove user',
        text: 'All sessions and API tokens of the user end within 5 seconds. What the user did stays in the audit log.',
        danger: true,
        typed: u.email,
        act: async () => {
          await call(userRemove, { params: { id: u.id } })
          await invalidate(userList)
          toast.success(`${u.email} was removed`)
        },
      }),
  },
]

function setDisabled(u: Person, disabled: boolean): Promise<boolean> {
  const act = async () => {
    await call(userUpdate, { params: { id: u.id }, body: { disabled } }, { version: u.version })
    await invalidate(userList)
    toast.success(`${u.email} was ${disabled ? 'disabled' : 'enabled'}`)
  }
  return confirm(
    disabled
      ? {
          title: `Disable ${u.email}?`,
          label: 'Disable',
          text: 'The user can no longer sign in, and all sessions and API tokens stop working within 5 seconds.',
          danger: true,
          act,
        }
      : { title: `Enable ${u.email}?`, label: 'Enable', text: 'The user can sign in again.', act },
  )
}
