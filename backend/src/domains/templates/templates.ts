/** Use cases of templates of clusters. */
import { Problem } from '#contract/errors.ts'
import { nameSentences } from '#contract/names.ts'
import { subnetList } from '#contract/network/subnets.ts'
import { largestPatchBody } from '#contract/patches.ts'
import { serverList } from '#contract/servers/server.ts'
import {
  clusterTemplate,
  type NewTemplate,
  type Template,
  templateCreate,
  templateGet,
  templateLimit,
  templateList,
  templatePlan,
  templateRemove,
  templateUpdate,
} from '#contract/templates/templates.ts'
import { inTransaction, type Tx, violatedConstraint } from '../../db/db.ts'
import { type Caller, callerName, demandScope } from '../../http/caller.ts'
import { serve, signedIn } from '../../http/serve.ts'
import { existing, type Versions } from '../../http/tags.ts'
import type { Domain } from '../../platform.ts'
import { demandRoom } from '../../room.ts'
import { likeCluster } from './like.ts'
import { definition, present, presentListed, type TemplateParts } from './parts.ts'
import { planClusters } from './plan.ts'
import * as store from './store.ts'

const targetOf = ({ id, name }: Pick<store.TemplateRow, 'id' | 'name'>) => ({
  kind: 'template',
  id,
  name,
})
/** The audited fields of a template. */
const audited = ({ name, revision, definition: fields }: store.TemplateRow): object => ({
  name,
  revision,
  ...fields,
})

export function templates(parts: TemplateParts): Domain {
  const { db, clock, record, patches } = parts
  const now = () => new Date(clock.now())

  const writing = async (change: (tx: Tx) => Promise<Template>): Promise<Template> => {
    try {
      return await inTransaction(db, change)
    } catch (error) {
      const { taken } = nameSentences('Template')
      throw violatedConstraint(error) === 'template_name'
        ? new Problem('name_taken', taken, { name: taken })
        : error
    }
  }

  /** @throws Problem invalid with the field of a patch that can't be saved, or holds a secret */
  const demandPatches = async (caller: Caller, wanted: NewTemplate): Promise<void> => {
    for (const role of ['control_planes', 'workers'] as const) {
      const { patch } = wanted[role]
      if (!patch) continue
      const field = `${role}.patch.body`
      const [problem] = await patches.check(patch.body)
      if (problem !== undefined) throw new Problem('invalid', problem, { [field]: problem })
      if (!(await patches.holdsSecret(caller, patch.body))) continue
      const sentence = `The patch ${patch.name} holds a secret, or a value that may be one. A template holds none: take it out, and give the servers a patch of their own`
      throw new Problem('invalid', sentence, { [field]: sentence })
    }
  }

  const calls = {
    create: async (caller: Caller, wanted: NewTemplate): Promise<Template> => {
      await demandPatches(caller, wanted)
      return writing(async (tx) => {
        await demandRoom(tx, 'template', templateLimit)
        const { name, ...fields } = wanted
        const row = await store.insert(tx, {
          name,
          fields,
          created_at: now(),
          updated_at: now(),
          created_by_name: callerName(caller),
        })
        await record(tx, caller, {
          action: 'template.created',
          target: targetOf(row),
          after: audited(row),
          event: { version: row.version },
        })
        return present(row)
      })
    },

    update: async (
      caller: Caller,
      id: string,
      wanted: NewTemplate,
      ifMatch: Versions,
    ): Promise<Template> => {
      await demandPatches(caller, wanted)
      return writing(async (tx) => {
        const before = existing(await store.lock(tx, id), 'template', ifMatch)
        const { name, ...fields } = wanted
        const after = await store.update(tx, id, {
          name,
          fields,
          updated_at: now(),
        })
        await record(tx, caller, {
          action: 'template.updated',
          target: targetOf(after),
          before: audited(before),
          after: audited(after),
          event: { version: after.version },
        })
        return present(after)
      })
    },

    remove: (caller: Caller, id: string, ifMatch: Versions): Promise<void> =>
      inTransaction(db, async (tx) => {
        const row = existing(await store.lock(tx, id), 'template', ifMatch)
        await store.remove(tx, id)
        await record(tx, caller, {
          action: 'template.removed',
          target: targetOf(row),
          before: audited(row),
          event: { version: row.version },
        })
      }),
  }

  return {
    name: 'templates',
    routes(app) {
      const on = serve(app)
      // These bring patches.
      const long = serve(app, { largestBody: largestPatchBody })
      on(templateList, async ({ query }) => {
        const { rows, total } = await store.page(db, query)
        return { items: rows.map(presentListed), page: query.page, per_page: query.per_page, total }
      })
      on(templateGet, async ({ params }) =>
        present(existing(await store.find(db, params.id), 'template')),
      )
      long(templateCreate, ({ caller, body }) => calls.create(caller, body))
      long(templateUpdate, ({ caller, params, body, ifMatch }) =>
        calls.update(caller, params.id, body, ifMatch),
      )
      on(templateRemove, ({ caller, params, ifMatch }) =>
        calls.remove(caller, params.id, ifMatch).then(() => undefined),
      )
      on(clusterTemplate, ({ caller, params, signal }) =>
        likeCluster(parts, signedIn(caller), params.id, signal),
      )
      const heavy = serve(app, { heavy: true, largestBody: largestPatchBody })
      heavy(templatePlan, async ({ caller, body }) => {
        const { template_id: id, template } = body
        if ((id === undefined) === (template === undefined))
          throw new Problem('invalid', 'Give either template_id or template', {
            template_id: 'Give either template_id or template',
          })
        const wanted = template ?? definition(existing(await store.find(db, id!), 'template'))
        demandScope(signedIn(caller), serverList.scope)
        if (wanted.subnets.length > 0) demandScope(signedIn(caller), subnetList.scope)
        return planClusters(parts, wanted, body)
      })
    },
  }
}
