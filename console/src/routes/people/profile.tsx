import type { Load } from '../../api/page.ts'
import { profileQuery } from '../../features/people/people-queries.ts'

// Not awaited: the page shows placeholders while its data loads, and errors in their place.
export const load: Load<'/profile'> = async ({ client }) => {
  void client.prefetchQuery(profileQuery)
}

export { ProfilePage as Page } from '../../features/people/profile/ProfilePage.tsx'
