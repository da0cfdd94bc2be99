import { collapse, diffLines } from '#contract/diff.ts'
import { type Drift, driftSentence, serverDrift, serverDriftKeep, serverDriftOverwrite } from '#contract/servers/drift.ts'
import { serverGet } from '#contract/servers/servers.ts'
import { counted } from '#contract/words.ts'
import { command, type Command } from '../command.ts'
import { CliError } from '../exit.ts'
import { serverId } from '../resolve.ts'
import { beSure, sureOption } from '../sure.ts'
import { localTime, manyLines, oneLine } from '../text.ts'

const signs = { same: ' ', add: '+', remove: '-' } as const

/** A line diff with context. */
function differenceText({ before, after }: NonNullable<Drift['diff']>): string {
  const parts = collapse(diffLines(before, after))
  return parts
    .map(({ hidden, lines }) =>
      hidden ? `@@ ${counted(lines.length, 'unchanged line')} @@\n` : lines.map(({ kind, text }) => `${signs[kind]} ${manyLines(text)}\n`).join(''),
    )
    .join('')
}

function driftText(name: string, drift: Drift): string {
  if (drift.state === 'none') return `${oneLine(name)} holds the configuration that Steelyard gave it\n`
  if (drift.state === 'unknown') return `Not known: ${oneLine(drift.reason ?? '')}\n`
  const since = drift.since === null ? '' : `, seen since ${localTime(drift.since)}`
  const next =
    drift.state === 'overwriting'
      ? 'It is being overwritten.\n'
      : `${drift.keep ? `${manyLines(drift.keep.reason)}.\n` : ''}Keep it with --keep, or overwrite it with what Steelyard has with --overwrite.\n`
  return `${driftSentence}${since}\n\n${drift.diff === null ? '' : `${differenceText(drift.diff)}\n`}${next}`
}

export const driftCommands: Command[] = [
  command({
    name: 'server drift',
    summary: 'What others have changed in the configuration of a server of a cluster, such as with talosctl; keeps it or overwrites it.',
    operands: { server: { value: 'SERVER', help: 'Name or id of the server' } },
    options: {
      keep: { kind: 'flag', help: 'Make what others have changed part of the configuration; nothing is sent' },
      overwrite: { kind: 'flag', help: 'Send the server what Steelyard has; asks for its name first' },
      ...sureOption,
    },
    examples: ['server drift brave-otter-042', 'server drift brave-otter-042 --keep', 'server drift brave-otter-042 --overwrite --yes'],
    async run({ api, terminal, show }, { operands, options }) {
      if (options.keep && options.overwrite) throw new CliError('usage', 'Say either --keep or --overwrite')
      const server = await api.call(serverGet, { params: { id: await serverId(api, operands.server) } })
      const params = { id: server.id }
      const drift = await api.call(serverDrift, { params })
      if ((!options.keep && !options.overwrite) || drift.state === 'none' || drift.state === 'unknown' || drift.seen === null) {
        show(drift, (d) => driftText(server.name, d))
        return undefined
      }
      const body = { seen: drift.seen }
      if (options.keep) {
        show(await api.call(serverDriftKeep, { params, body }), () => `Kept as ${drift.keep?.how === 'patch' ? 'a patch' : 'the base of its patches'}\n`)
        return undefined
      }
      if (drift.diff !== null) terminal.err(`${differenceText(drift.diff)}\n`)
      await beSure(terminal, `This takes back what others have changed on ${oneLine(server.name)}, which may restart.`, server.name, options.yes)
      show(await api.call(serverDriftOverwrite, { params, body }), () => `${oneLine(server.name)} is being given what Steelyard has\n`)
      return undefined
    },
  }),
]
