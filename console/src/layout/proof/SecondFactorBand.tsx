import { secondFactorMissing } from '../../api/identity/proof.ts'
import { paths } from '../../lib/paths.ts'
import { useStore } from '../../lib/store.ts'
import { StaleBand } from '../../ui/feedback/States.tsx'

/** Says that the user's role requires a second factor, and leads to the profile. */
export function SecondFactorBand() {
  if (!useStore(secondFactorMissing)) return null
  return (
    <StaleBand boxed action={<a href={paths.profile({ tab: 'security' })}>Add a second factor</a>}>
      Your role requires a second factor. Until you add one, you can only use your profile.
    </StaleBand>
  )
}
