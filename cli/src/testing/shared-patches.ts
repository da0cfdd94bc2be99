/** The calls of shared patches, for the Steelyard in memory. */
import { Problem } from '#contract/errors.ts'
import { selectorOf, selects } from '#contract/labels/selector.ts'
import type { Operation } from '#contract/operations.ts'
import type { Server } from '#contract/servers/servers.ts'
import {
  type SharedPatch,
  sharedPatchCreate,
  sharedPatchGet,
  sharedPatchList,
  sharedPatchPreview,
  sharedPatchRemove,
  sharedPatchRollOut,
  sharedPatchServers,
  sharedPatchUndo,
  sharedPatchUpdate,
} from '#contract/shared-patches/shared-patches.ts'
import { variablesIn } from '#contract/shared-patches/variables.ts'
import type { TestApi } from './api.ts'
import { excerptOf, pageOf } from './things.ts'

const at = '2026-11-20T08:00:00.000Z'

interface Around {
  readonly sharedPatches: SharedPatch[]
  readonly servers: readonly Server[]
  readonly newId: () => string
  readonly made: (id: string) => void
  readonly gone: (id: string) => void
  /** @throws Problem stale */
  readonly fresh: (object: { version: number }) => void
  readonly began: (target: Operation['target']) => Operation
}

/** Labels and named servers are targets; the preview has one group, and refuses nothing. */
export function serveSharedPatches(
  api: TestApi,
  { sharedPatches: all, servers, newId, made, gone, fresh, began }: Around,
): void {
  /** Revision that a server has, by patch and server. */
  const has = new Map<string, number>()
  const keyOf = (patch: { id: string }, server: { id: string }) => `${patch.id} ${server.id}`
  const targetsOf = ({ labels, node_ids }: SharedPatch['targets']) =>
    servers.filter(
      (server) =>
        labels.length + node_ids.length > 0 &&
        (labels.length === 0 ||
          labels.some((text) => selects(selectorOf(text)!, server.labels ?? {}))) &&
        (node_ids.length === 0 || node_ids.includes(server.id)),
    )
  const statesOf = (patch: SharedPatch) => {
    const targets = targetsOf(patch.targets)
    return servers.flatMap((server) => {
      const revision = has.get(keyOf(patch, server)) ?? null
      const isTarget = targets.includes(server)
      if (!isTarget && revision === null) return []
      const state = !isTarget ? 'extra' : revision === patch.revision ? 'current' : 'behind'
      return [{ server, cluster: null, role: null, state, revision } as const]
    })
  }
  const shown = (patch: SharedPatch): SharedPatch => {
    const states = statesOf(patch).map(({ state }) => state)
    return {
      ...patch,
      servers: {
        targets: states.filter((state) => state !== 'extra').length,
        current: states.filter((state) => state === 'current').length,
        behind: states.filter((state) => state !== 'current').length,
      },
    }
  }
  const one = (id: string): SharedPatch => {
    const patch = all.find((p) => p.id === id)
    if (!patch) throw new Problem('not_found', 'There is no such shared patch')
    return patch
  }

  api.on(sharedPatchList, () => pageOf(all.map((p) => ({ ...shown(p), body: excerptOf(p.body) }))))
  api.on(sharedPatchGet, ({ params }) => shown(one(params.id)))
  api.on(sharedPatchServers, ({ params }) => ({ items: statesOf(one(params.id)) }))
  api.on(sharedPatchCreate, ({ body }) => {
    const patch: SharedPatch = {
      ...body,
      id: newId(),
      variables: variablesIn(body.body),
      revision: 1,
      servers: { targets: 0, current: 0, behind: 0 },
      last_roll_out: null,
      last_operation: null,
      created_by: 'a@example.com',
      updated_by: 'a@example.com',
      version: 1,
      created_at: at,
      updated_at: at,
    }
    all.push(patch)
    made(patch.id)
    return shown(patch)
  })
  api.on(sharedPatchUpdate, ({ params, body }) => {
    const patch = one(params.id)
    fresh(patch)
    const isNew = body.body !== undefined && body.body !== patch.body
    return shown(
      Object.assign(patch, body, {
        version: patch.version + 1,
        revision: patch.revision + Number(isNew),
      }),
    )
  })
  api.on(sharedPatchRemove, ({ params }) => {
    all.splice(all.indexOf(one(params.id)), 1)
    gone(params.id)
    return undefined
  })
  api.on(sharedPatchPreview, ({ body }) => {
    const targets = targetsOf(body.targets)
    return {
      servers: targets.length,
      unchanged: 0,
      groups:
        targets.length === 0
          ? []
          : [
              {
                servers: targets.map(({ id, name }) => ({ id, name })),
                lines: body.body
                  .trimEnd()
                  .split('\n')
                  .map((line) => `+${line}`),
                example: '',
                effect: 'no_reboot' as const,
                warnings: [],
              },
            ],
      refused: [],
      losses: [],
    }
  })
  const targetOf = ({ id, name }: SharedPatch) => ({ kind: 'shared_patch' as const, id, name })
  api.on(sharedPatchRollOut, ({ params }) => {
    const patch = one(params.id)
    fresh(patch)
    for (const { server, state } of statesOf(patch))
      if (state === 'extra') has.delete(keyOf(patch, server))
      else has.set(keyOf(patch, server), patch.revision)
    return { operation: began(targetOf(patch)) }
  })
  api.on(sharedPatchUndo, ({ params }) => ({ operation: began(targetOf(one(params.id))) }))
}
