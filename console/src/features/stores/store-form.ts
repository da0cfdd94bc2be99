import { type Store, StoreChange } from '#contract/storage/stores.ts'
import { readBy } from '../../lib/fields.ts'

/**
 * The values of the form for a store. The secret access key is never sent to the console, so its
 * field is empty.
 */
export const valuesOf = ({
  name,
  endpoint,
  region,
  bucket,
  prefix,
  path_style,
  access_key_id,
}: Omit<Store, 'id'>) => ({
  name,
  endpoint: endpoint ?? '',
  region: region ?? '',
  bucket: bucket ?? '',
  prefix,
  path_style,
  access_key_id: access_key_id ?? '',
  secret_access_key: '',
})
export type Typed = ReturnType<typeof valuesOf>

/** The change of a store: only the fields that differ from `initial`. */
export const readChange = (initial: Typed, typed: Typed) =>
  readBy(
    StoreChange,
    Object.fromEntries(
      Object.entries(typed).filter(([name, value]) => value !== initial[name as keyof Typed]),
    ),
  )
