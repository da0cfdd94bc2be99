import { type Store, storeGet } from '#contract/storage/stores.ts'
import { sendUnlessEdited } from '../../api/asking/fresh-version.ts'
import { call } from '../../api/client.ts'
import { valuesOf } from './store-form.ts'

/**
 * Sends a change of a store, unless somebody has edited the store since `seen` was read. A version
 * that is newer only because Steelyard has used or tested the store is accepted.
 * @throws CallError stale, or any other refusal of `send`
 */
export const changeStore = <A>(seen: Store, send: (version: number) => Promise<A>): Promise<A> =>
  sendUnlessEdited(
    seen,
    () => call(storeGet, { params: { id: seen.id } }),
    (store) => valuesOf(store),
    send,
  )
