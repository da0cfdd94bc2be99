import { isDeepStrictEqual } from 'node:util'
import type { TemplateDocument } from '#contract/apply/documents.ts'
import {
  definitionOf,
  type Template,
  templateCreate,
  templateRemove,
  templateUpdate,
} from '#contract/templates/templates.ts'
import { changesOf, fieldsOf, keyOf, planner, planRemoval, planUpdate, ranks } from '../plan.ts'

const documentOf = (template: Template): TemplateDocument => ({
  kind: 'template',
  ...definitionOf(template),
})

/** A template as the API takes it. */
const bodyOf = ({ kind: _kind, ...definition }: TemplateDocument) => definition

export const templates = planner<TemplateDocument>({
  kind: 'template',
  appliedKind: 'template',
  nameOf: ({ name }) => name,

  async plan(planning, placed) {
    const now = new Map((await planning.world.templates()).map((t) => [t.name, t]))
    for (const one of placed) {
      const { document } = one
      const { name } = document
      const known = now.get(name)
      const step = { kind: 'template', name, placed: one, rank: ranks.template } as const
      const body = bodyOf(document)
      if (!known) {
        planning.plan.steps.push({
          ...step,
          does: 'create',
          changes: fieldsOf(document),
          async run(run) {
            run.made('template', name, (await run.call(templateCreate, { body })).id)
          },
        })
        continue
      }
      planning.described.add(keyOf('template', known.id))
      const before = definitionOf(known)
      // A field that the document leaves out is removed.
      const gone = Object.keys(before).filter((field) => !(field in body))
      planUpdate(
        planning,
        {
          ...step,
          changes: isDeepStrictEqual(before, body)
            ? []
            : changesOf(before, {
                ...body,
                ...Object.fromEntries(gone.map((field) => [field, null])),
              }),
        },
        async (run) => {
          await run.call(templateUpdate, { params: { id: known.id }, body }, known.version)
        },
      )
    }
  },

  async prune(planning, applied) {
    const now = new Map((await planning.world.templates()).map((t) => [t.id, t]))
    for (const { id } of applied) {
      const known = now.get(id)
      if (known)
        planRemoval(planning, {
          kind: 'template',
          name: known.name,
          rank: ranks.templateRemove,
          run: async (run) => {
            await run.call(templateRemove, { params: { id } }, known.version)
          },
        })
    }
  },

  export: async (world) =>
    (await world.templates()).toSorted((a, b) => a.name.localeCompare(b.name)).map(documentOf),
})
