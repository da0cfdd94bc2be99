/**
 * Commands about patches. Every change is previewed before it is saved. A server in a cluster gets
 * the change at once, so the preview is shown first.
 */
import {
  type Patch,
  patchCreate,
  patchGet,
  patchList,
  patchPreview,
  patchRemove,
  patchUpdate,
  type Preview,
} from '#contract/patches.ts'
import { queryOfLoss } from '#contract/servers/losses.ts'
import { type Server, serverGet } from '#contract/servers/servers.ts'
import { beSure, sureOption } from '../ask.ts'
import { command, type Command, type Context, given, objectCommand } from '../command.ts'
import { CliError } from '../exit.ts'
import { readText } from '../files.ts'
import * as noun from '../nouns.ts'
import { type Column, facts, table } from '../table.ts'
import { localTime, manyLines, oneLine } from '../text.ts'
import { watchOption, watchView } from '../watch-view.ts'
import { lossOption, withLosses } from './confirm-loss.ts'

const operands = {
  server: noun.server,
  patch: { value: 'PATCH', help: 'Name or id of the patch' },
} as const

const options = {
  file: { kind: 'text', value: 'FILE', help: 'YAML of the patch; - reads standard input' },
  weight: {
    kind: 'number',
    value: 'N',
    help: '0 to 999: a patch with a higher weight is merged later and wins (default 500)',
  },
  label: { kind: 'text', value: 'KEY=VALUE', help: 'A label', many: true },
  'dry-run': {
    kind: 'flag',
    help: 'Only show the resulting configuration and what saving would do',
  },
  ...sureOption,
} as const

const labelsText = (p: Patch) =>
  Object.entries(p.labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(' ')

const columns: readonly Column<Patch>[] = [
  { title: 'NAME', text: (p) => p.name },
  { title: 'WEIGHT', text: (p) => String(p.weight), right: true },
  { title: 'ID', text: (p) => p.patch_id },
  { title: 'CREATED', text: (p) => localTime(p.created_at) },
  { title: 'LABELS', text: labelsText },
  { title: 'WRITTEN BY', text: (p) => (p.read_only ? 'Steelyard' : (p.created_by ?? '')) },
]

export function labelsOf(entries: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    entries.map((entry) => {
      const at = entry.indexOf('=')
      if (at < 1) throw new CliError('usage', `"${oneLine(entry)}" is not KEY=VALUE`)
      return [entry.slice(0, at), entry.slice(at + 1)]
    }),
  )
}

const effects: Record<Preview['verdict']['kind'], string> = {
  no_reboot: 'Applied to the running server, without a reboot',
  reboot: 'Applied with a reboot',
  not_allowed: 'Talos does not allow this change',
  at_install: 'Applied at install',
  unknown: 'It is not known whether the server reboots',
}
/** The preview's warnings about problems that the patch would cause, one text each. */
const brokenBy = ({ warnings }: Preview): string[] =>
  warnings.map(({ line, message }) => `${line === null ? '' : `Line ${line}: `}${oneLine(message)}`)

const effectOf = ({ kind, reason }: Preview['verdict']) =>
  `${effects[kind]}${reason === '' || reason === effects[kind] ? '' : `: ${oneLine(reason)}`}`

/**
 * Previews the merged configuration. Throws CliError with a line per problem if the patch can't be
 * merged.
 */
async function previewOf(
  { api }: Context,
  server: Server,
  patch: { patch_id?: string; name: string; weight: number; body: string },
): Promise<Preview> {
  const preview = await api.call(patchPreview, { params: { id: server.id }, body: patch })
  if (preview.errors.length > 0)
    throw new CliError(
      'usage',
      preview.errors
        .map(
          (e) =>
            `${e.line === null ? '' : `Line ${e.line}${e.column === null ? '' : `, column ${e.column}`}: `}${oneLine(e.message)}`,
        )
        .join('\n'),
    )
  return preview
}

/**
 * Asks the user to type the server's name if the server is in a cluster, because it then gets the
 * configuration at once. Otherwise only prints warnings.
 */
async function sureOfCluster(
  { terminal }: Context,
  server: Server,
  preview: Preview,
  yes: boolean,
): Promise<void> {
  const broken = brokenBy(preview)
  if (server.cluster === null) {
    for (const sentence of broken) terminal.err(`Warning: ${sentence}\n`)
    return
  }
  const said = [effectOf(preview.verdict), ...broken].join('. ')
  await beSure(
    terminal,
    `${oneLine(server.name)} is in the cluster ${oneLine(server.cluster.name)}. ${said}.`,
    server.name,
    yes,
  )
}

const shown = ({ show }: Context, preview: Preview): void =>
  show(preview, (p) => {
    const said = [effectOf(p.verdict), ...brokenBy(p).map((sentence) => `Warning: ${sentence}`)]
    return `${manyLines(p.diff.after.trimEnd())}\n${said.map((sentence) => `# ${sentence}\n`).join('')}`
  })

const saved = ({ show }: Context, server: Server, patch: Patch, what: string): void =>
  show(
    patch,
    (p) =>
      `${oneLine(p.name)} is ${what}${server.cluster === null ? ', and applied when the server is installed' : ' and applied'}\n`,
  )

const serverOf = async ({ api }: Context, text: string): Promise<Server> =>
  api.call(serverGet, { params: { id: await noun.idOf(api, noun.server, text) } })

export const patchCommands: Command[] = [
  objectCommand({
    name: 'patch list',
    of: noun.server,
    operation: patchList,
    summary: 'The layers of configuration of a server, in the order in which they are merged.',
    say: (page, _name, { terminal }) => table(terminal, page.items, columns, 'No patches'),
  }),
  command({
    name: 'patch show',
    summary: 'One patch with its body; secrets in it are masked.',
    operands,
    options: watchOption,
    examples: ['patch show brave-otter-042 static-system'],
    async run(context, { operands: { server, patch }, options: { watch } }) {
      const { terminal, api, show } = context
      const id = await noun.idOf(api, noun.server, server)
      const { patch_id: patchId } = await noun.patchOf(api, id, patch)
      const load = () => api.call(patchGet, { params: { id, patchId } })
      const draw = (p: Patch) =>
        `${facts(terminal, [
          ['Name', p.name],
          ['Id', p.patch_id],
          ['Weight', p.weight],
          ['Labels', labelsText(p)],
          ['Written by', p.read_only ? 'Steelyard' : p.created_by],
          ['Created', p.created_at && localTime(p.created_at)],
          ['Changed', p.updated_at && localTime(p.updated_at)],
        ])}\n${manyLines(p.body.trimEnd())}\n`
      if (watch) return watchView(context, load, draw)
      show(await load(), draw)
      return undefined
    },
  }),
  command({
    name: 'patch create',
    summary:
      'Add a patch to a server: a layer of its configuration. If the server is in a cluster, the patch is applied at once, after you type the name of the server.',
    operands: { server: noun.server, name: { value: 'NAME', help: 'Name of the patch' } },
    options: { ...options, ...lossOption },
    examples: [
      'patch create brave-otter-042 sysctls --file sysctls.yaml --label team=storage',
      'patch create brave-otter-042 sysctls --file sysctls.yaml --dry-run',
    ],
    async run(
      context,
      {
        operands: { server: which, name },
        options: { file, weight = 500, label, 'dry-run': dryRun, yes, ...loss },
      },
    ) {
      const { api } = context
      if (file === undefined) throw new CliError('usage', 'Name the file of the patch: --file')
      const [labels, body] = [labelsOf(label), await readText(file)]
      const server = await serverOf(context, which)
      const preview = await previewOf(context, server, { name, weight, body })
      if (dryRun) return shown(context, preview)
      await sureOfCluster(context, server, preview, yes)
      return saved(
        context,
        server,
        await withLosses(context, loss, (confirmed) =>
          api.call(patchCreate, {
            params: { id: server.id },
            body: { name, weight, labels, body, ...confirmed },
          }),
        ),
        'created',
      )
    },
  }),
  command({
    name: 'patch edit',
    summary:
      'Change a patch. If the server is in a cluster, the changed configuration is applied at once, after you type the name of the server.',
    operands,
    options: {
      ...options,
      name: { kind: 'text', value: 'NAME', help: 'New name of the patch' },
      'no-labels': { kind: 'flag', help: 'Remove all labels of the patch' },
      ...lossOption,
    },
    examples: [
      'patch edit brave-otter-042 sysctls --file sysctls.yaml',
      'patch edit brave-otter-042 sysctls --weight 600 --label team=storage',
    ],
    async run(
      context,
      {
        operands: { server: which, patch: one },
        options: { file, weight, label, name, 'no-labels': bare, 'dry-run': dryRun, yes, ...loss },
      },
    ) {
      const { api } = context
      if (bare && label.length > 0)
        throw new CliError('usage', 'Give either --label or --no-labels')
      const labels = bare ? {} : label.length > 0 ? labelsOf(label) : undefined
      const body = file === undefined ? undefined : await readText(file)
      const change = given({ name, weight, labels, body })
      if (Object.keys(change).length === 0)
        throw new CliError(
          'usage',
          'Specify what to change: --file, --weight, --label, --no-labels or --name',
        )
      const server = await serverOf(context, which)
      const patch = await noun.patchOf(api, server.id, one)
      const preview = await previewOf(context, server, {
        patch_id: patch.patch_id,
        name: name ?? patch.name,
        weight: weight ?? patch.weight,
        body: body ?? patch.body,
      })
      if (dryRun) return shown(context, preview)
      await sureOfCluster(context, server, preview, yes)
      const params = { id: server.id, patchId: patch.patch_id }
      return saved(
        context,
        server,
        await withLosses(context, loss, (confirmed) =>
          api.call(patchUpdate, { params, body: { ...change, ...confirmed } }),
        ),
        'changed',
      )
    },
  }),
  command({
    name: 'patch remove',
    summary:
      'Remove a patch; asks for the name of the patch first. If the server is in a cluster, the configuration without the patch is applied at once.',
    operands,
    options: { ...sureOption, ...lossOption },
    examples: ['patch remove brave-otter-042 sysctls'],
    async run(context, { operands: { server: which, patch: one }, options: { yes, ...loss } }) {
      const { api, terminal, show } = context
      const server = await serverOf(context, which)
      const patch = await noun.patchOf(api, server.id, one)
      const where =
        server.cluster === null
          ? ''
          : ` of the cluster ${oneLine(server.cluster.name)}, which reboots if Talos asks for it`
      await beSure(
        terminal,
        `${oneLine(patch.name)} is removed from ${oneLine(server.name)}${where}.`,
        patch.name,
        yes,
      )
      await withLosses(context, loss, ({ confirmed_loss = [] }) =>
        api.call(patchRemove, {
          params: { id: server.id, patchId: patch.patch_id },
          query: queryOfLoss(confirmed_loss),
        }),
      )
      show({ patch_id: patch.patch_id }, () => `${oneLine(patch.name)} is removed\n`)
    },
  }),
]
