import { lostCommitment } from '#contract/marketplace/cc-rules.ts'
import { collapse, diffLines } from '#contract/servers/diff.ts'
import {
  type Drift,
  driftSentence,
  serverDrift,
  serverDriftKeep,
  serverDriftOverwrite,
} from '#contract/servers/drift.ts'
import type { BulkActKind } from '#contract/servers/bulk.ts'
import {
  type MachineCommand,
  machineCommandKinds,
  machineCommands,
} from '#contract/servers/machine-commands.ts'
import { serverCommands, serverGet, serverRemove, serverReset } from '#contract/servers/servers.ts'
import { counted } from '#contract/words.ts'
import { beSure, sureOption } from '../ask.ts'
import { command, type Command, objectCommand } from '../command.ts'
import { CliError } from '../exit.ts'
import * as noun from '../nouns.ts'
import { localTime, manyLines, oneLine } from '../text.ts'
import { showBegun, waitOption } from '../watch.ts'
import { orMany } from './bulk/bulk.ts'
import { serverCommitCommand } from './bulk/commit.ts'
import { serverUpgradeCommand } from './bulk/upgrade.ts'
import { lossOption, withLosses } from './confirm-loss.ts'

const signs = { same: ' ', add: '+', remove: '-' } as const

/** A line diff with context. */
function differenceText({ before, after }: NonNullable<Drift['diff']>): string {
  const parts = collapse(diffLines(before, after))
  return parts
    .map(({ hidden, lines }) =>
      hidden
        ? `@@ ${counted(lines.length, 'unchanged line')} @@\n`
        : lines.map(({ kind, text }) => `${signs[kind]} ${manyLines(text)}\n`).join(''),
    )
    .join('')
}

function driftText(name: string, drift: Drift): string {
  if (drift.state === 'none') return `${oneLine(name)} has the configuration that Steelyard sent\n`
  if (drift.state === 'unknown') return `Unknown: ${oneLine(drift.reason ?? '')}\n`
  const since = drift.since === null ? '' : `, seen since ${localTime(drift.since)}`
  const next =
    drift.state === 'overwriting'
      ? 'The configuration is being overwritten.\n'
      : `${drift.keep ? `${manyLines(drift.keep.reason)}.\n` : ''}Keep the changes with --keep, or overwrite them with the configuration of Steelyard by --overwrite.\n`
  return `${driftSentence}${since}\n\n${drift.diff === null ? '' : `${differenceText(drift.diff)}\n`}${next}`
}

/** The act on several servers of each command; null: the command takes one server. */
const bulkOf: Readonly<Record<MachineCommand, BulkActKind | null>> = {
  serverReboot: 'reboot',
  serverShutdown: null,
  serverRestartKubelet: 'restart_kubelet',
}

/** Commands that act on existing servers. */
export const serverActionCommands: Command[] = [
  ...machineCommandKinds.map((kind) => {
    const one = objectCommand({
      name: `server ${machineCommands[kind].verb}`,
      of: noun.server,
      operation: serverCommands[kind],
      options: waitOption,
      examples: [`server ${machineCommands[kind].verb} brave-otter-042 --wait`],
      done: (context, begun, { options }) =>
        showBegun(
          context,
          begun,
          options.wait,
          `${oneLine(begun.operation.target.name)} ${machineCommands[kind].begun}`,
        ),
    })
    const act = bulkOf[kind]
    return act === null ? one : orMany(one, act)
  }),
  orMany(
    objectCommand({
      name: 'server reset',
      of: noun.server,
      operation: serverReset,
      summary:
        'Take a server out of its cluster and wipe it; it comes back in maintenance mode. Asks for the name of the server first.',
      options: {
        'keep-workload-disks': {
          kind: 'flag',
          help: 'Do not wipe the workload disks that were named at creation',
        },
        ...sureOption,
        ...waitOption,
      },
      examples: [
        'server reset brave-otter-042 --wait',
        'server reset brave-otter-042 --keep-workload-disks --yes',
      ],
      async ask({ api, terminal }, { options: { 'keep-workload-disks': keep, yes } }, { id }) {
        const server = await api.call(serverGet, { params: { id } })
        const { name } = server
        const promised = lostCommitment(server, 'reset')
        if (promised !== null) terminal.err(`Warning: ${oneLine(promised)}\n`)
        await beSure(
          terminal,
          `This wipes the system disk${keep ? '' : ' and the workload disks'} of ${oneLine(name)}.`,
          name,
          yes,
        )
        return { body: { keep_workload_disks: keep } }
      },
      done: (context, begun, { options }) =>
        showBegun(
          context,
          begun,
          options.wait,
          `${oneLine(begun.operation.target.name)} is being reset`,
        ),
    }),
    'reset',
    (options) => ({ keep_workload_disks: options['keep-workload-disks'] === true }),
  ),
  orMany(
    objectCommand({
      name: 'server remove',
      of: noun.server,
      operation: serverRemove,
      summary: 'Remove a server that is in no cluster; wipes nothing, and its history stays.',
      options: {
        force: {
          kind: 'flag',
          help: 'Also remove a server of a cluster, if the server does not answer: the cluster forgets it',
        },
        ...sureOption,
      },
      examples: ['server remove brave-otter-042', 'server remove brave-otter-042 --force --yes'],
      async ask({ api, terminal }, { options: { force, yes } }, { id }) {
        const server = await api.call(serverGet, { params: { id } })
        const { name, cluster } = server
        const promised = lostCommitment(server, 'remove')
        if (!force) {
          if (promised !== null) await beSure(terminal, `${oneLine(promised)}.`, name, yes)
          return {}
        }
        if (promised !== null) terminal.err(`Warning: ${oneLine(promised)}\n`)
        await beSure(
          terminal,
          `The cluster${cluster ? ` ${oneLine(cluster.name)}` : ''} forgets ${oneLine(name)} without resetting it.`,
          name,
          yes,
        )
        return { query: { force: 'true' } } as const
      },
      done({ show }, { operation: { target } }) {
        show({ id: target.id, name: target.name }, (s) => `${oneLine(s.name)} is removed\n`)
        return undefined
      },
    }),
    'remove',
  ),
  serverUpgradeCommand,
  serverCommitCommand,
  command({
    name: 'server drift',
    summary:
      'Show changes made outside of Steelyard, such as with talosctl, to the configuration of a server in a cluster; keep or overwrite them.',
    operands: { server: noun.server },
    options: {
      keep: {
        kind: 'flag',
        help: 'Keep the changes as part of the configuration; nothing is sent',
      },
      overwrite: {
        kind: 'flag',
        help: 'Send the configuration of Steelyard to the server; asks for the name of the server first',
      },
      ...lossOption,
      ...sureOption,
    },
    examples: [
      'server drift brave-otter-042',
      'server drift brave-otter-042 --keep',
      'server drift brave-otter-042 --overwrite --yes',
    ],
    async run(context, { operands, options }) {
      const { api, terminal, show } = context
      if (options.keep && options.overwrite)
        throw new CliError('usage', 'Give either --keep or --overwrite')
      const server = await api.call(serverGet, {
        params: { id: await noun.idOf(api, noun.server, operands.server) },
      })
      const params = { id: server.id }
      const drift = await api.call(serverDrift, { params })
      if (
        (!options.keep && !options.overwrite) ||
        drift.state === 'none' ||
        drift.state === 'unknown' ||
        drift.seen === null
      )
        return show(drift, (d) => driftText(server.name, d))
      const body = { seen: drift.seen }
      if (options.keep)
        return show(
          await api.call(serverDriftKeep, { params, body }),
          () => `Kept as ${drift.keep?.how === 'patch' ? 'a patch' : 'the base of its patches'}\n`,
        )
      if (drift.diff !== null) terminal.err(`${differenceText(drift.diff)}\n`)
      await beSure(
        terminal,
        `This reverts the changes made outside of Steelyard on ${oneLine(server.name)}, which may restart.`,
        server.name,
        options.yes,
      )
      return show(
        await withLosses(context, options, (confirmed) =>
          api.call(serverDriftOverwrite, { params, body: { ...body, ...confirmed } }),
        ),
        () => `The configuration of Steelyard is being sent to ${oneLine(server.name)}\n`,
      )
    },
  }),
]
