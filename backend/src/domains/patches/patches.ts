/** Patches of servers' configurations: API calls, and the store of layers for configurations. */
import type { FastifyInstance } from 'fastify'
import {
  patchCreate,
  patchGet,
  patchList,
  patchPreview,
  patchRemove,
  patchSchema,
  patchUpdate,
} from '#contract/patches.ts'
import { serve } from '../../http/serve.ts'
import type { Patches } from './api.ts'
import type { PatchParts } from './parts.ts'
import { type Reading, reading } from './reading.ts'
import { saving } from './saving.ts'
import { type Writing, writing } from './writing.ts'

type UseCases = Patches & Reading & Writing

export function patchRoutes(app: FastifyInstance, patches: Reading & Writing): void {
  const on = serve(app)
  on(patchSchema, () => Promise.resolve(patches.schema()))
  on(patchList, ({ caller, params }) => patches.list(caller, params.id))
  on(patchGet, ({ caller, params }) => patches.get(caller, params.id, params.patchId))
  on(patchCreate, ({ caller, params, body }) => patches.create(caller, params.id, body))
  on(patchUpdate, ({ caller, params, body, ifMatch }) =>
    patches.update(caller, params.id, params.patchId, body, ifMatch),
  )
  on(patchRemove, ({ caller, params, ifMatch }) =>
    patches.remove(caller, params.id, params.patchId, ifMatch).then(() => undefined),
  )
  serve(app, { heavy: true })(patchPreview, ({ caller, signal, params, body }) =>
    patches.preview({ caller, signal }, params.id, body),
  )
}

export const patches = (parts: PatchParts): UseCases => ({
  ...reading(parts),
  ...writing(parts),
  ...saving(parts),
})
