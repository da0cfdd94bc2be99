import { storeCreate } from '#contract/storage/stores.ts'
import { allowed } from '../../api/session.ts'
import { paths } from '../../lib/paths.ts'
import { Alert } from '../../ui/feedback/Status.tsx'

/**
 * What a form shows that needs a store when there is none: the way to add one, or to the names of
 * those who can.
 */
export const NoStore = () =>
  allowed(storeCreate).ok ? (
    <Alert tone="warn" action={<a href={paths.stores()}>Add a store</a>}>
      There is no store yet.
    </Alert>
  ) : (
    <Alert tone="warn" action={<a href={paths.profile()}>Names of the admins</a>}>
      There is no store yet. An admin can add one.
    </Alert>
  )
