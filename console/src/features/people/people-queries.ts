/** Queries of the profile and of the pages of admins. */
import { keepPreviousData } from '@tanstack/react-query'
import { apiTokenList } from '#contract/people/api-tokens.ts'
import { invitationList, waitlistList } from '#contract/people/invitations.ts'
import { profileGet } from '#contract/people/profile.ts'
import { sessionList } from '#contract/sessions.ts'
import { userList } from '#contract/users.ts'
import { renewScopes } from '../../api/session.ts'
import { secondFactorMissing } from '../../api/identity/proof.ts'
import { query, queryClient } from '../../api/query.ts'
import { askedOf, type ListSearch } from '../../lib/list-search.ts'

export const profileQuery = query(profileGet)
export const usersQuery = (search: ListSearch) => ({
  ...query(userList, { query: askedOf(userList, search) }),
  placeholderData: keepPreviousData,
})
export const invitationsQuery = (search: ListSearch) => ({
  ...query(invitationList, { query: askedOf(invitationList, search) }),
  placeholderData: keepPreviousData,
})
export const waitlistQuery = (search: ListSearch) => ({
  ...query(waitlistList, { query: askedOf(waitlistList, search) }),
  placeholderData: keepPreviousData,
})

/**
 * Whose sessions or API tokens are listed: undefined for the own ones, `all`, or the id of a user.
 */
export type Whose = 'all' | (string & {}) | undefined
const of = (whose: Whose) => (whose === undefined ? {} : { user_id: whose })

/** Sessions and tokens make no live events, so each visit fetches them again. */
export const sessionsQuery = (search: ListSearch, whose: Whose) => ({
  ...query(sessionList, { query: { ...askedOf(sessionList, search), ...of(whose) } }),
  placeholderData: keepPreviousData,
  staleTime: 0,
})
export const apiTokensQuery = (search: ListSearch, whose: Whose) => ({
  ...query(apiTokenList, { query: { ...askedOf(apiTokenList, search), ...of(whose) } }),
  placeholderData: keepPreviousData,
  staleTime: 0,
})

/** After a second factor was added: gets the scopes that the session lacked without it. */
export async function secondFactorAdded(): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: profileQuery.queryKey })
  if (!secondFactorMissing.get()) return
  await renewScopes()
  secondFactorMissing.set(false)
  await queryClient.invalidateQueries()
}
