import { type MachineCommand, machineCommandKinds, machineCommands } from '#contract/servers/machine-commands.ts'
import { serverCommands, serverGet, serverRemove, serverReset } from '#contract/servers/servers.ts'
import { command, type Command } from '../command.ts'
import { serverId } from '../resolve.ts'
import { beSure, sureOption } from '../sure.ts'
import { oneLine } from '../text.ts'
import { waitOption, waitOr } from './operations.ts'

const operand = { server: { value: 'SERVER', help: 'Name or id of the server' } } as const

function machineCommand(kind: MachineCommand): Command {
  const { verb, summary, begun } = machineCommands[kind]
  return command({
    name: `server ${verb}`,
    summary,
    operands: operand,
    options: waitOption,
    examples: [`server ${verb} brave-otter-042 --wait`],
    async run(context, { operands, options }) {
      const answer = await context.api.call(serverCommands[kind], { params: { id: await serverId(context.api, operands.server) } })
      const watched = await waitOr(context, answer.operation.id, options.wait)
      context.show(watched ? { operation: watched.operation } : answer, ({ operation: o }) => (watched ? '' : `${oneLine(o.target.name)} ${begun}\n`))
      return watched?.exit
    },
  })
}

/** What is done to servers that are there. */
export const serverActionCommands: Command[] = [
  ...machineCommandKinds.map(machineCommand),
  command({
    name: 'server reset',
    summary: 'Take a server out of its cluster and wipe it; it comes back in maintenance mode. Asks for its name first.',
    operands: operand,
    options: {
      'keep-workload-disks': { kind: 'flag', help: 'Leave the workload disks that were named at creation as they are' },
      ...sureOption,
      ...waitOption,
    },
    examples: ['server reset brave-otter-042 --wait', 'server reset brave-otter-042 --keep-workload-disks --yes'],
    async run(context, { operands, options }) {
      const { api, terminal, show } = context
      const server = await api.call(serverGet, { params: { id: await serverId(api, operands.server) } })
      const keep = options['keep-workload-disks']
      await beSure(terminal, `This wipes the system disk${keep ? '' : ' and the workload disks'} of ${oneLine(server.name)}.`, server.name, options.yes)
      const begun = await api.call(serverReset, { params: { id: server.id }, body: { keep_workload_disks: keep } })
      const watched = await waitOr(context, begun.operation.id, options.wait)
      show(watched ? { operation: watched.operation } : begun, ({ operation }) => (watched ? '' : `${oneLine(operation.target.name)} is being reset\n`))
      return watched?.exit
    },
  }),
  command({
    name: 'server remove',
    summary: 'Remove a server that is in no cluster; wipes nothing, and its history stays.',
    operands: operand,
    options: { force: { kind: 'flag', help: 'Also one of a cluster, if it does not answer: the cluster forgets it' }, ...sureOption },
    examples: ['server remove brave-otter-042', 'server remove brave-otter-042 --force --yes'],
    async run({ api, terminal, show }, { operands, options }) {
      const server = await api.call(serverGet, { params: { id: await serverId(api, operands.server) } })
      if (options.force)
        await beSure(
          terminal,
          `The cluster${server.cluster ? ` ${oneLine(server.cluster.name)}` : ''} forgets ${oneLine(server.name)} as it is.`,
          server.name,
          options.yes,
        )
      await api.call(serverRemove, { params: { id: server.id }, query: options.force ? { force: 'true' } : {} })
      show({ id: server.id, name: server.name }, (s) => `${oneLine(s.name)} is removed\n`)
    },
  }),
]
