import { useQuery } from '@tanstack/react-query'
import { profileGet } from '#contract/people/profile.ts'
import { query } from '../../api/query.ts'
import { paths } from '../../lib/paths.ts'
import { Empty } from '../../ui/feedback/States.tsx'
import { ActionButton } from '../../ui/inputs/ActionButton.tsx'

/**
 * Shown in place of a page that the user may not see: the user's role, and who can give another
 * one. `what` names the page's content.
 */
export function NoAccess({ what }: { what: string }) {
  const { data: profile } = useQuery(query(profileGet))
  return (
    <Empty
      boxed
      title={`Your role does not include ${what}`}
      text={
        profile && (
          <>
            You are {profile.role === 'viewer' ? 'a' : 'an'} {profile.role}.{' '}
            {whoCan(profile.administrators)}
          </>
        )
      }
      actions={<ActionButton label="Your profile" to={paths.profile()} />}
    />
  )
}

/** Who can give the user another role. */
const whoCan = (administrators: readonly { name: string; email: string }[]): string =>
  administrators.length === 0
    ? 'Nobody can sign in as an admin now.'
    : `Another role is given by ${administrators.map(({ name, email }) => `${name} (${email})`).join(', ')}.`
