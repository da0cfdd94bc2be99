/** Patches of servers' configurations: API calls, and the store of layers for configurations. */
import {
  largestPatchBody,
  patchCreate,
  patchGet,
  patchList,
  patchMask,
  patchPreview,
  patchRemove,
  patchSchema,
  patchUpdate,
} from '#contract/patches.ts'
import { lossOfQuery } from '#contract/servers/losses.ts'
import { serve } from '../../http/serve.ts'
import type { Domain } from '../../platform.ts'
import type { Patches } from './api.ts'
import type { PatchParts } from './parts.ts'
import { reading } from './reading.ts'
import { sharedStates } from './shared/states.ts'
import { saving } from './saving.ts'
import { writing } from './writing.ts'

export function patches(parts: PatchParts): Patches & Domain {
  const calls = { ...reading(parts), ...writing(parts) }
  return {
    name: 'patches',
    routes(app) {
      const on = serve(app)
      const long = serve(app, { largestBody: largestPatchBody })
      on(patchSchema, ({ query }) => Promise.resolve(calls.schema(query.talos_version)))
      on(patchList, ({ caller, params }) => calls.list(caller, params.id))
      on(patchGet, ({ caller, params }) => calls.get(caller, params.id, params.patchId))
      long(patchCreate, ({ caller, params, body }) => calls.create(caller, params.id, body))
      long(patchUpdate, ({ caller, params, body, ifMatch }) =>
        calls.update(caller, params.id, params.patchId, body, ifMatch),
      )
      on(patchRemove, ({ caller, params, query, ifMatch }) =>
        calls
          .remove(caller, params.id, params.patchId, {
            ifMatch,
            confirmed_loss: lossOfQuery(query),
          })
          .then(() => undefined),
      )
      serve(app, { heavy: true, largestBody: largestPatchBody })(
        patchPreview,
        ({ caller, signal, params, body }) => calls.preview({ caller, signal }, params.id, body),
      )
    },
    check: (body) => calls.check(body),
    createIn: (...args) => calls.createIn(...args),
    async holdsSecret(caller, body) {
      // What everybody may see lacks comments too, so that a mask outside of one is a value.
      const certain = await parts.read({ caller }, 'mask', body, 'may_read_secrets')
      const possible = await parts.read({ caller }, 'mask', body, 'everybody')
      return (
        certain.text.includes(patchMask) ||
        possible.text.replaceAll(`# ${patchMask}`, '').includes(patchMask)
      )
    },
    ofServer: async (on, nodeId) =>
      (await parts.store.ofServer(on, nodeId)).map(({ name, weight, labels, body }) => ({
        name,
        weight,
        labels,
        body,
      })),
    shared: sharedStates({ db: parts.db, store: parts.store.shared }),
    ...saving(parts),
  }
}
