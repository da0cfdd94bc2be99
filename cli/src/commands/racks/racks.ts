import { serverSaid } from '#contract/findings/said.ts'
import { placeSaid, rackFaces } from '#contract/racks/placement.ts'
import { byBay } from '#contract/racks/placing.ts'
import {
  type Rack,
  rackCreate,
  rackGet,
  rackList,
  rackRemove,
  rackUpdate,
  serverPlace,
  serverUnplace,
  sharedSaid,
} from '#contract/racks/racks.ts'
import { type ListedServer, serverRows } from '#contract/servers/servers.ts'
import { command, type Command, given, listCommand, objectCommand } from '../../command.ts'
import { CliError } from '../../exit.ts'
import { findingColours, findingWord, saidColour } from '../../finding-text.ts'
import * as noun from '../../nouns.ts'
import { type Column, facts, table } from '../../table.ts'
import type { Terminal } from '../../terminal.ts'
import { oneLine, words } from '../../text.ts'

/** Units from above, as one looks at a rack: a server, or neighbouring units that are free. */
interface Shelf {
  readonly top: number
  readonly bottom: number
  readonly server: ListedServer | null
}

function shelvesOf({ units }: Rack, servers: readonly ListedServer[]): Shelf[] {
  const shelves: Shelf[] = []
  for (let unit = units; unit >= 1; unit--) {
    const here = servers.filter(
      ({ placement: p }) => p && p.unit <= unit && unit < p.unit + p.height,
    )
    const last = shelves.at(-1)
    if (here.length === 0) {
      if (last?.server === null) shelves[shelves.length - 1] = { ...last, bottom: unit }
      else shelves.push({ top: unit, bottom: unit, server: null })
      continue
    }
    for (const server of here.toSorted((a, b) => byBay(a.placement!, b.placement!)))
      if (server.placement!.unit + server.placement!.height - 1 === unit)
        shelves.push({ top: unit, bottom: server.placement!.unit, server })
  }
  return shelves
}

const shelfColumns: readonly Column<Shelf>[] = [
  {
    title: 'UNITS',
    text: ({ top, bottom }) => (top === bottom ? String(top) : `${bottom}-${top}`),
    right: true,
  },
  { title: 'SERVER', text: ({ server }) => server?.name ?? 'free' },
  {
    title: 'FACE',
    text: ({ server }) =>
      server?.placement && server.placement.face !== 'both' ? server.placement.face : '',
  },
  { title: 'BAY', text: ({ server }) => server?.placement?.bay ?? '' },
  {
    title: 'ROLE',
    text: ({ server }) => (server && server.type !== 'unknown' ? words(server.type) : ''),
  },
  { title: 'CLUSTER', text: ({ server }) => server?.cluster?.name ?? '' },
  {
    title: 'STATUS',
    text: ({ server }) => (server ? serverSaid(server).word : ''),
    colour: ({ server }) => (server ? saidColour(serverSaid(server)) : null),
  },
]

const rackText = (
  terminal: Terminal,
  { rack, servers }: { readonly rack: Rack; readonly servers: readonly ListedServer[] },
): string =>
  [
    facts(terminal, [
      ['Name', rack.name],
      ['Id', rack.id],
      ['Datacenter', rack.datacenter.code],
      ['Units', `${rack.free_units} of ${rack.units} free`],
      ['Servers', rack.servers],
      ['Warning', sharedSaid(rack).join('; ') || null],
    ]),
    `\n${table(terminal, shelvesOf(rack, servers), shelfColumns, '')}`,
  ].join('')

const statusText = (rack: Rack): string =>
  rack.finding ? findingWord(rack.finding) : (sharedSaid(rack)[0] ?? '')
const units = { kind: 'number', value: 'N', help: 'Number of units; 42 by default' } as const
const datacenter = {
  kind: 'text',
  value: 'CODE',
  help: 'Datacenter in which the rack stands',
} as const

export const rackCommands: Command[] = [
  listCommand({
    name: 'rack list',
    examples: ['rack list --datacenter PL-POZ-1', 'rack list --sort=-free'],
    operation: rackList,
    cells: {
      status: {
        text: statusText,
        colour: ({ finding, shared_by: shared }) =>
          finding ? findingColours[finding.severity] : shared.length > 0 ? 'yellow' : null,
      },
    },
  }),
  command({
    name: 'rack show',
    summary:
      'A rack from above to below: its servers with role, cluster and status, and free units.',
    operands: { rack: noun.rack },
    examples: ['rack show A-07', 'rack show PL-POZ-1/A-07'],
    async run({ terminal, api, show }, { operands }) {
      const id = await noun.idOf(api, noun.rack, operands.rack)
      const rack = await api.call(rackGet, { params: { id } })
      const { items: servers } = await api.call(serverRows, {
        query: { rack: id, fields: 'list', per_page: 1000 },
      })
      show({ rack, servers }, (both) => rackText(terminal, both))
    },
  }),
  command({
    name: 'rack add',
    summary: 'Add a rack to a datacenter.',
    operands: { name: { value: 'NAME', help: 'Name, as it is printed on the rack' } },
    options: { datacenter, units },
    examples: ['rack add A-07 --datacenter PL-POZ-1 --units 48'],
    async run({ api, show }, { operands, options }) {
      if (options.datacenter === undefined) throw new CliError('usage', 'Give --datacenter')
      const made = await api.call(rackCreate, {
        body: {
          name: operands.name,
          datacenter_id: await noun.idOf(api, noun.datacenter, options.datacenter),
          ...given({ units: options.units }),
        },
      })
      show(made, (r) => `${oneLine(r.name)} is added with ${r.units} units\n`)
    },
  }),
  objectCommand({
    name: 'rack edit',
    of: noun.rack,
    operation: rackUpdate,
    summary: 'Rename a rack or change its number of units. Its servers keep their places.',
    options: {
      name: { kind: 'text', value: 'NAME', help: 'New name' },
      units: { kind: 'number', value: 'N', help: 'New number of units' },
    },
    examples: ['rack edit A-07 --name B-07'],
    async ask(_context, { options }) {
      const body = given({ name: options.name, units: options.units })
      if (Object.keys(body).length === 0) throw new CliError('usage', 'Specify what to change')
      return { body }
    },
    say: (r) => `${oneLine(r.name)} has ${r.units} units\n`,
  }),
  objectCommand({
    name: 'rack remove',
    of: noun.rack,
    operation: rackRemove,
    say: (_none, name) => `${oneLine(name)} is removed\n`,
  }),
  command({
    name: 'rack place',
    summary: 'Record where a server stands. Nothing is sent to the server.',
    operands: { server: noun.server, rack: noun.rack },
    options: {
      unit: { kind: 'number', value: 'N', help: 'The lowest unit that it takes, from below' },
      height: { kind: 'number', value: 'N', help: 'Number of units that it takes; 1 by default' },
      face: {
        kind: 'text',
        value: 'FACE',
        help: 'Front or rear, if it takes half of the depth; both by default',
        choices: rackFaces,
      },
      bay: {
        kind: 'text',
        value: 'BAY',
        help: 'Its position in a chassis with several servers, such as 1, A or left; they have unit and height in common',
      },
    },
    examples: [
      'rack place brave-otter-042 A-07 --unit 12 --height 2',
      'rack place brave-otter-042 A-07 --unit 12 --height 2 --bay 1',
    ],
    async run({ api, show }, { operands, options }) {
      if (options.unit === undefined) throw new CliError('usage', 'Give --unit')
      const placed = await api.call(serverPlace, {
        params: { id: await noun.idOf(api, noun.server, operands.server) },
        body: {
          rack_id: await noun.idOf(api, noun.rack, operands.rack),
          unit: options.unit,
          ...given({ height: options.height, face: options.face, bay: options.bay }),
        },
      })
      show(placed, ({ name, placement }) =>
        placement
          ? `${oneLine(name)} stands in ${oneLine(placement.rack.name)} at ${placeSaid(placement)}\n`
          : `${oneLine(name)} stands in no rack\n`,
      )
    },
  }),
  objectCommand({
    name: 'rack take-out',
    of: noun.server,
    operation: serverUnplace,
    summary: 'Record that a server stands in no rack.',
    say: (_none, name) => `${oneLine(name)} stands in no rack\n`,
  }),
]
