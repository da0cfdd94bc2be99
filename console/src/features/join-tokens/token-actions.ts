import { canRevokeJoinToken, canUseJoinToken, type JoinToken, joinTokenList, joinTokenRevoke } from '#contract/join-tokens.ts'
import { imageCreate } from '#contract/images.ts'
import { all } from '#contract/rule.ts'
import { call } from '../../api/client.ts'
import { invalidate } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { paths } from '../../lib/paths.ts'
import { type Action, confirm } from '../../ui/actions.ts'
import { toast } from '../../ui/feedback/toast.ts'

/** Actions on a join token, for row menu and ⌘K. */
export const tokenActions = (t: JoinToken): Action[] => [
  { label: 'Prepare image', icon: 'disk', can: all(allowed(imageCreate), canUseJoinToken(t)), to: paths.prepareImage({ token: t.id }) },
  {
    label: 'Revoke',
    icon: 'trash',
    danger: true,
    can: all(allowed(joinTokenRevoke), canRevokeJoinToken(t)),
    run: () =>
      confirm({
        title: `Revoke ${t.name}?`,
        text: 'No server can announce itself with it any more: machines that boot an image which carries it start, wait in maintenance mode and are not listed. Servers that came through it stay. This can’t be undone.',
        danger: true,
        act: async () => {
          await call(joinTokenRevoke, { params: { id: t.id } })
          await invalidate(joinTokenList)
          toast.success(`${t.name} was revoked`)
        },
      }),
  },
]
