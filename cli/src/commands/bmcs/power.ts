import { powerTargets } from '#contract/bmcs/order.ts'
import { powerLoss, serverIdentify, serverPower } from '#contract/bmcs/power.ts'
import { serverGet } from '#contract/servers/servers.ts'
import { beSure, sureOption } from '../../ask.ts'
import { command, type Command, given } from '../../command.ts'
import { CliError } from '../../exit.ts'
import * as noun from '../../nouns.ts'
import { oneLine } from '../../text.ts'
import { showBegun, waitOption } from '../../watch.ts'

const isOneOf = <T extends string>(all: readonly T[], text: string): text is T =>
  (all as readonly string[]).includes(text)

export const powerCommands: Command[] = [
  command({
    name: 'server power',
    summary:
      'Switch a server on or off, or off and on again (cycle), through its BMC. Asks for the name of the server before its power is cut.',
    operands: {
      to: { value: 'on|off|cycle', help: 'What to do' },
      server: { value: 'SERVER', help: 'Name or id of the server' },
    },
    options: {
      now: { kind: 'flag', help: 'Cut the power; what runs is not asked to end first' },
      override: {
        kind: 'text',
        value: 'REASON',
        help: 'Only for admins: do it although etcd loses its majority, for this reason',
      },
      ...sureOption,
      ...waitOption,
    },
    examples: [
      'server power on brave-otter-042 --wait',
      'server power off brave-otter-042',
      'server power cycle brave-otter-042 --now --yes',
    ],
    async run(context, { operands: { to, server: text }, options: o }) {
      const { api, terminal } = context
      if (!isOneOf(powerTargets, to)) throw new CliError('usage', 'Give on, off or cycle')
      const { id } = await noun.server.find(api, text)
      const server = await api.call(serverGet, { params: { id } })
      const kind = o.now ? 'hard' : 'graceful'
      if (to !== 'on' && (o.now || o.override !== undefined))
        await beSure(terminal, powerLoss(to, kind) ?? '', server.name, o.yes)
      const begun = await api.call(serverPower, {
        params: { id },
        body: given({
          to,
          kind,
          seen: server.power?.state ?? 'unknown',
          override:
            o.override === undefined ? undefined : { name: server.name, reason: o.override },
        }),
      })
      return showBegun(context, begun, o.wait, `${oneLine(server.name)} is being switched`)
    },
  }),
  command({
    name: 'server identify',
    summary: 'Switch the light that finds a server in its rack on or off.',
    operands: { server: { value: 'SERVER', help: 'Name or id of the server' } },
    options: { off: { kind: 'flag', help: 'Switch the light off' } },
    examples: ['server identify brave-otter-042', 'server identify brave-otter-042 --off'],
    async run({ api, show }, { operands: { server }, options: { off } }) {
      const { id, name } = await noun.server.find(api, server)
      return show(
        await api.call(serverIdentify, { params: { id }, body: { lit: !off } }),
        ({ lit }) => `The light of ${oneLine(name)} is ${lit ? 'on' : 'off'}\n`,
      )
    },
  }),
]
