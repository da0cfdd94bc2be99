/** Templates of clusters: list, show, save, delete. */
import type { TemplateDocument } from '#contract/apply/documents.ts'
import {
  clusterTemplate,
  definitionOf,
  type NewTemplate,
  templateCreate,
  templateGet,
  templateList,
  templateRemove,
  templateUpdate,
} from '#contract/templates/templates.ts'
import { problemsText } from '../../apply/show.ts'
import { readDocuments } from '../../apply/files.ts'
import { documentsText } from '#contract/apply/write.ts'
import { beSure, sureOption } from '../../ask.ts'
import { command, type Command, type Context, listCommand, objectCommand } from '../../command.ts'
import { CliError } from '../../exit.ts'
import * as noun from '../../nouns.ts'
import { manyLines, oneLine } from '../../text.ts'

/** The only template of a file. @throws CliError */
async function templateIn(file: string): Promise<NewTemplate> {
  const { documents, problems } = await readDocuments([file])
  if (problems.length > 0) throw new CliError('usage', problemsText(problems))
  const [one, ...more] = documents
  if (one?.document.kind !== 'template' || more.length > 0)
    throw new CliError('usage', `${oneLine(file)} must contain one document of the kind template`)
  const { kind: _kind, ...template } = one.document satisfies TemplateDocument
  return template
}

/** What is to be saved: from a file, or like a cluster. */
async function wanted(
  { api, terminal }: Context,
  { file, like }: { readonly file: string | undefined; readonly like: string | undefined },
): Promise<NewTemplate> {
  if ((file === undefined) === (like === undefined))
    throw new CliError('usage', 'Give either --file or --like')
  if (file !== undefined) return templateIn(file)
  const { template, left_out } = await api.call(clusterTemplate, {
    params: { id: await noun.idOf(api, noun.cluster, like!) },
  })
  for (const sentence of left_out) terminal.err(`Left out: ${oneLine(sentence)}\n`)
  return template
}

export const templateCommands: Command[] = [
  listCommand({
    name: 'template list',
    examples: ['template list'],
    operation: templateList,
    cells: {},
  }),
  command({
    name: 'template show',
    summary: 'One template as the YAML document that template save and apply read.',
    operands: { template: noun.template },
    examples: ['template show shop > shop.yaml'],
    async run({ api, show }, { operands: { template } }) {
      show(
        await api.call(templateGet, {
          params: { id: await noun.idOf(api, noun.template, template) },
        }),
        (t) => manyLines(documentsText([{ kind: 'template', ...definitionOf(t) }])),
      )
    },
  }),
  command({
    name: 'template save',
    summary:
      'Save a template from a file, or like a cluster; replaces one of the same name. Clusters that were made from it stay as they are.',
    operands: { name: { value: 'NAME', help: 'Name of the template' } },
    options: {
      file: { kind: 'text', value: 'FILE', help: 'A YAML document of the kind template, or -' },
      like: { kind: 'text', value: 'CLUSTER', help: 'Make the template like this cluster' },
    },
    examples: ['template save shop --like shop-01', 'template save shop --file shop.yaml'],
    async run(context, { operands: { name }, options }) {
      const { api, show } = context
      const body = { ...(await wanted(context, options)), name }
      const { items } = await api.call(templateList, {
        query: { q: name, per_page: templateList.list.mostPerPage },
      })
      const known = items.find((one) => one.name === name)
      const saved = known
        ? await api.call(
            templateUpdate,
            { params: { id: known.id }, body },
            { version: known.version },
          )
        : await api.call(templateCreate, { body })
      show(
        saved,
        (t) =>
          `${oneLine(t.name)} is saved, revision ${t.revision}. Make a cluster from it: steelyard cluster create NAME --template ${oneLine(t.name)} --datacenter CODE\n`,
      )
    },
  }),
  objectCommand({
    name: 'template delete',
    of: noun.template,
    operation: templateRemove,
    summary:
      'Remove a template; asks for its name first. Clusters that were made from it stay as they are.',
    options: sureOption,
    examples: ['template delete shop'],
    async ask({ terminal }, { options: { yes } }, { name }) {
      await beSure(terminal, `${oneLine(name)} is removed.`, name, yes)
      return {}
    },
  }),
]
