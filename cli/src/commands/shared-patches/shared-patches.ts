/** Commands about shared patches: saving one sends nothing, a roll-out does. */
import { ClusterRole } from '#contract/clusters/clusters.ts'
import {
  type SharedPatch,
  sharedPatchCreate,
  sharedPatchGet,
  sharedPatchList,
  sharedPatchPreview,
  sharedPatchRemove,
  sharedPatchRollOut,
  sharedPatchServers,
  type SharedPatchServer,
  sharedPatchUndo,
  sharedPatchUpdate,
} from '#contract/shared-patches/shared-patches.ts'
import { counted } from '#contract/words.ts'
import { beSure, sureOption } from '../../ask.ts'
import {
  command,
  type Command,
  type Context,
  type Given,
  listCommand,
  type Noun,
  objectCommand,
  type Operands,
} from '../../command.ts'
import { CliError } from '../../exit.ts'
import { readText } from '../../files.ts'
import * as noun from '../../nouns.ts'
import { type Column, facts, table } from '../../table.ts'
import { localTime, manyLines, oneLine, words } from '../../text.ts'
import { showBegun, waitOption } from '../../watch.ts'
import { lossOption, withLosses } from '../confirm-loss.ts'
import { previewText } from './preview-text.ts'

const targetOptions = {
  file: { kind: 'text', value: 'FILE', help: 'YAML of the patch; - reads standard input' },
  weight: {
    kind: 'number',
    value: 'N',
    help: '0 to 999: a patch with a higher weight is merged later and wins (default 500)',
  },
  selector: {
    kind: 'text',
    value: 'SELECTOR',
    short: 'l',
    many: true,
    whole: true,
    help: 'Servers with these labels, such as rack=3,gen!=r640; several: any of them',
  },
  cluster: { kind: 'text', value: 'CLUSTER', many: true, help: 'Servers of this cluster' },
  role: {
    kind: 'text',
    value: 'ROLE',
    many: true,
    choices: ClusterRole.options,
    help: 'Servers with this role in a cluster',
  },
  server: { kind: 'text', value: 'SERVER', many: true, help: 'This server' },
  'no-targets': { kind: 'flag', help: 'No server: a roll-out then takes the patch away' },
} as const
type Asked = Given<Operands, typeof targetOptions>['options']

const windowOption = {
  'in-window': {
    kind: 'flag',
    help: 'Change servers only while the maintenance window of their cluster is open',
  },
} as const

async function targetsOf(
  { api }: Context,
  asked: Asked,
): Promise<SharedPatch['targets'] | undefined> {
  const ids = async (of: Noun, names: readonly string[]) => {
    const found: string[] = []
    for (const name of names) found.push(await noun.idOf(api, of, name))
    return found
  }
  const targets = {
    labels: [...asked.selector],
    cluster_ids: await ids(noun.cluster, asked.cluster),
    roles: [...asked.role],
    node_ids: await ids(noun.server, asked.server),
  }
  const isNamed = Object.values(targets).some((list) => list.length > 0)
  if (isNamed && asked['no-targets'])
    throw new CliError('usage', 'Give either targets or --no-targets')
  return isNamed || asked['no-targets'] ? targets : undefined
}

/** The saved patch of this name, or undefined. */
async function saved({ api }: Context, name: string): Promise<SharedPatch | undefined> {
  const { items } = await api.call(sharedPatchList, {
    query: { q: name, per_page: sharedPatchList.list.mostPerPage },
  })
  const known = items.find((one) => one.name === name || one.id === name)
  return known && api.call(sharedPatchGet, { params: { id: known.id } })
}

const targetsText = ({ targets }: SharedPatch): string =>
  [
    ...(targets.labels.length > 0 ? [targets.labels.join(' or ')] : []),
    ...(targets.cluster_ids.length > 0 ? [counted(targets.cluster_ids.length, 'cluster')] : []),
    ...(targets.roles.length > 0 ? [targets.roles.map(words).join(' or ')] : []),
    ...(targets.node_ids.length > 0 ? [counted(targets.node_ids.length, 'server')] : []),
  ].join('; ')

const serverColumns: readonly Column<SharedPatchServer>[] = [
  { title: 'SERVER', text: ({ server }) => server.name },
  { title: 'CLUSTER', text: ({ cluster }) => cluster?.name ?? '' },
  { title: 'ROLE', text: ({ role }) => (role === null ? '' : words(role)) },
  { title: 'STATE', text: ({ state }) => state },
  { title: 'REVISION', text: ({ revision }) => String(revision ?? ''), right: true },
]

/** What saving would save: the options, and for the rest what is saved. */
async function wanted(context: Context, name: string, options: Asked) {
  const known = await saved(context, name)
  const body = options.file === undefined ? undefined : await readText(options.file)
  if (!known && body === undefined)
    throw new CliError(
      'usage',
      `There is no shared patch ${oneLine(name)}: name its file with --file`,
    )
  const targets = await targetsOf(context, options)
  return {
    known,
    change: {
      ...(body !== undefined && { body }),
      ...(options.weight !== undefined && { weight: options.weight }),
      ...(targets && { targets }),
    },
    whole: {
      name: known?.name ?? name,
      weight: options.weight ?? known?.weight ?? 500,
      body: body ?? known?.body ?? '',
      targets: targets ??
        known?.targets ?? { labels: [], cluster_ids: [], roles: [], node_ids: [] },
    },
  }
}

const operands = { name: { value: 'NAME', help: 'Name of the shared patch' } } as const

export const sharedPatchCommands: Command[] = [
  listCommand({
    name: 'shared-patch list',
    examples: ['shared-patch list --sort=-behind'],
    operation: sharedPatchList,
    cells: {},
  }),
  command({
    name: 'shared-patch show',
    summary: 'One shared patch with its servers and its body; secrets in it are masked.',
    operands: { patch: noun.sharedPatch },
    examples: ['shared-patch show vlan-storage'],
    async run({ api, terminal, show }, { operands: { patch } }) {
      const params = { id: await noun.idOf(api, noun.sharedPatch, patch) }
      const shared = await api.call(sharedPatchGet, { params })
      const { items } = await api.call(sharedPatchServers, { params })
      const last = shared.last_roll_out
      show(
        { ...shared, items },
        () =>
          `${facts(terminal, [
            ['Name', shared.name],
            ['Id', shared.id],
            ['Weight', shared.weight],
            ['Revision', shared.revision],
            ['For', targetsText(shared) || 'no server'],
            ['Servers', `${shared.servers.current} current, ${shared.servers.behind} behind`],
            [
              'Rolled out',
              last &&
                `${localTime(last.at)} by ${last.by}, revision ${last.revision}${last.undone ? ', undone' : ''}`,
            ],
            ['Changed', localTime(shared.updated_at)],
          ])}\n${table(terminal, items, serverColumns, 'No servers')}\n${manyLines(shared.body.trimEnd())}\n`,
      )
    },
  }),
  command({
    name: 'shared-patch save',
    summary:
      'Save a shared patch with its targets, or change it. Sends nothing: shared-patch roll-out does. Different kinds of targets must all match; of one kind, any.',
    operands,
    options: targetOptions,
    examples: [
      'shared-patch save vlan-storage --file vlan.yaml -l net=storage --role worker',
      'shared-patch save vlan-storage --no-targets',
    ],
    async run(context, { operands: { name }, options }) {
      const { api, show } = context
      const { known, change, whole } = await wanted(context, name, options)
      if (known && Object.keys(change).length === 0)
        throw new CliError('usage', 'Specify what to change: --file, --weight or the targets')
      const patch = known
        ? await api.call(
            sharedPatchUpdate,
            { params: { id: known.id }, body: change },
            { version: known.version },
          )
        : await api.call(sharedPatchCreate, { body: whole })
      show(
        patch,
        (p) =>
          `${oneLine(p.name)} is saved for ${counted(p.servers.targets, 'server')}. ${p.servers.behind === 0 ? 'None of them is behind' : `Roll it out: steelyard shared-patch roll-out ${oneLine(p.name)}`}\n`,
      )
    },
  }),
  command({
    name: 'shared-patch preview',
    summary:
      'What a shared patch would change on its servers, grouped by likeness; saves and sends nothing. Without options: the saved patch.',
    operands,
    options: targetOptions,
    examples: ['shared-patch preview vlan-storage --file vlan.yaml -l net=storage'],
    async run(context, { operands: { name }, options }) {
      const { known, whole } = await wanted(context, name, options)
      const preview = await context.api.call(sharedPatchPreview, {
        body: { ...(known && { id: known.id }), ...whole },
      })
      context.show(preview, previewText)
      return preview.refused.every((one) => one.for_now) ? 0 : 1
    },
  }),
  command({
    name: 'shared-patch roll-out',
    summary:
      'Give a shared patch to the servers that are behind: the canary first, then one after another; stops at the first refusal. Shows the differences, and asks for the name of the patch first.',
    operands: { patch: noun.sharedPatch },
    options: {
      server: {
        kind: 'text',
        value: 'SERVER',
        many: true,
        help: 'Only this server (default: all that are behind)',
      },
      canary: { kind: 'text', value: 'SERVER', help: 'The server that is changed first' },
      ...windowOption,
      ...lossOption,
      ...sureOption,
      ...waitOption,
    },
    examples: [
      'shared-patch roll-out vlan-storage --canary brave-otter-042 --yes --wait',
      'shared-patch roll-out vlan-storage --in-window',
    ],
    async run(context, { operands: { patch }, options }) {
      const { api, terminal } = context
      const id = await noun.idOf(api, noun.sharedPatch, patch)
      const shared = await api.call(sharedPatchGet, { params: { id } })
      const node_ids: string[] = []
      for (const server of options.server) node_ids.push(await noun.idOf(api, noun.server, server))
      const canary_id =
        options.canary === undefined ? undefined : await noun.idOf(api, noun.server, options.canary)
      if (!options.yes) {
        const { name, weight, body, targets } = shared
        terminal.err(
          previewText(
            await api.call(sharedPatchPreview, { body: { id, name, weight, body, targets } }),
          ),
        )
      }
      const n = node_ids.length > 0 ? node_ids.length : shared.servers.behind
      await beSure(
        terminal,
        `This changes the configuration of ${counted(n, 'server')}.`,
        shared.name,
        options.yes,
      )
      const begun = await withLosses(context, options, (losses) =>
        api.call(
          sharedPatchRollOut,
          {
            params: { id },
            body: {
              ...(node_ids.length > 0 && { node_ids }),
              ...(canary_id !== undefined && { canary_id }),
              in_window: options['in-window'],
              ...losses,
            },
          },
          { version: shared.version },
        ),
      )
      return showBegun(context, begun, options.wait, 'The roll-out has begun')
    },
  }),
  command({
    name: 'shared-patch undo',
    summary:
      'Take back the last roll-out of a shared patch: every server that it changed gets what it had before. Asks for the name of the patch first.',
    operands: { patch: noun.sharedPatch },
    options: { ...windowOption, ...lossOption, ...sureOption, ...waitOption },
    examples: ['shared-patch undo vlan-storage --yes --wait'],
    async run(context, { operands: { patch }, options }) {
      const { api, terminal } = context
      const id = await noun.idOf(api, noun.sharedPatch, patch)
      const { name } = await api.call(sharedPatchGet, { params: { id } })
      await beSure(
        terminal,
        `This takes back the last roll-out of ${oneLine(name)}, one server after another.`,
        name,
        options.yes,
      )
      const begun = await withLosses(context, options, (losses) =>
        api.call(sharedPatchUndo, {
          params: { id },
          body: { in_window: options['in-window'], ...losses },
        }),
      )
      return showBegun(context, begun, options.wait, 'The undo has begun')
    },
  }),
  objectCommand({
    name: 'shared-patch delete',
    of: noun.sharedPatch,
    operation: sharedPatchRemove,
    summary:
      'Remove a shared patch that no server has any more; asks for the name of the patch first.',
    options: sureOption,
    examples: ['shared-patch delete vlan-storage'],
    async ask({ terminal }, { options: { yes } }, { name }) {
      await beSure(terminal, `${oneLine(name)} is removed.`, name, yes)
      return {}
    },
  }),
]
