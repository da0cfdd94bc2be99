import { serverSaid } from '#contract/findings/said.ts'
import { labelsText } from '#contract/labels/changed.ts'
import { contentOf, notByDefault } from '#contract/disks/choice.ts'
import { capacityOf } from '#contract/capacity.ts'
import { quarantineText } from '#contract/servers/quarantine.ts'
import { placementSaid } from '#contract/racks/placement.ts'
import {
  canConfirmServer,
  type ListedServer,
  matchedText,
  type Server,
  serverAdd,
  serverConfirm,
  serverGet,
  serverList,
  serverUpdate,
} from '#contract/servers/servers.ts'
import { counted } from '#contract/words.ts'
import {
  command,
  type Command,
  type Context,
  given,
  listCommand,
  objectCommand,
} from '../command.ts'
import { CliError } from '../exit.ts'
import { findingColours, findingLine, saidColour } from '../finding-text.ts'
import * as noun from '../nouns.ts'
import { type Column, facts, table } from '../table.ts'
import type { Terminal } from '../terminal.ts'
import { ago, disk, localTime, memory, oneLine, words } from '../text.ts'
import { showBegun, waitOption } from '../watch.ts'

const usualColour = ({ status }: ListedServer) => (status === 'ready' ? 'green' : null)
const number = (n: number | null) => (n === null ? '?' : String(n))

/** How the change after which the server fell silent is taken back. */
const takeBackCommand = ({ talos, cluster, name }: Server): string | null => {
  const after = talos.silent_after
  if (!after || cluster === null) return null
  if (after.take_back === 'patches')
    return `steelyard cluster configure ${cluster.name} --take-back ${after.operation_id}`
  return after.take_back === 'talos'
    ? `steelyard cluster rollback-talos ${cluster.name} ${name}`
    : null
}

/** Why its patches are not sent yet, and the commands that show the servers that are not well. */
const waitsText = ({ reason, waits_for }: NonNullable<Server['pending']>): string =>
  [
    `its patches are not sent yet: ${reason.replace(/\.$/, '')}`,
    ...waits_for.map(({ name }) => `steelyard server show ${name}`),
  ].join('. ')

function nodeText({ ready, reason }: NonNullable<Server['kubernetes']>): string {
  if (ready === true) return 'Ready'
  return `${ready === null ? 'unknown' : 'NotReady'}: ${reason ?? 'no reason was given'}`
}

function serverText(terminal: Terminal, s: Server): string {
  const { cores, threads, memory_bytes, disk_bytes } = capacityOf(s.resources)
  const failed = s.eligibility.filter((e) => !e.ok)
  const section = <T>(title: string, rows: readonly T[], columns: readonly Column<T>[]) =>
    rows.length > 0 ? `\n${title}\n${table(terminal, rows, columns, '')}` : ''
  return [
    facts(terminal, [
      ['Name', s.name],
      ['Id', s.id],
      ['Status', serverSaid(s).word],
      ['Finding', s.finding ? findingLine(s.finding) : null],
      ['Stage', words(s.talos.stage)],
      ['Node type', words(s.type)],
      ['Datacenter', s.datacenter?.code ?? 'none'],
      ['Rack', s.placement ? placementSaid(s.placement) : null],
      ['Cluster', s.cluster?.name ?? 'none'],
      ['Commitment', s.capacity_commitment && words(s.capacity_commitment.status)],
      ['Addresses', s.nodeAddresses.join(', ') || 'No Addresses'],
      ['Talos', s.talos.version ?? 'unknown'],
      ['Schematic', s.talos.schematic],
      [
        'Installed',
        s.talos.installed && `${s.talos.installed.version} on ${s.talos.installed.disk}`,
      ],
      [
        'Last contact',
        s.talos.last_contact_at === null
          ? 'never'
          : `${localTime(s.talos.last_contact_at)} (${ago(s.talos.last_contact_at, terminal.now())})`,
      ],
      ['Unreachable since', s.talos.unreachable_since && localTime(s.talos.unreachable_since)],
      ['Reason', s.talos.reason],
      ['Take back', takeBackCommand(s)],
      [
        'Change of network',
        s.trial && `${s.trial.state === 'undone' ? 'undone' : 'on trial'}: ${s.trial.reason}`,
      ],
      ['Waits', s.pending && waitsText(s.pending)],
      [
        'Configuration',
        s.drift &&
          `changed outside of Steelyard, seen since ${localTime(s.drift.since)}: steelyard server drift`,
      ],
      ['In Kubernetes', s.kubernetes && nodeText(s.kubernetes)],
      ['Identity', s.identity.state],
      ['System UUID', s.identity.uuid],
      ['Serial', s.identity.serial],
      ['Fingerprint', s.identity.fingerprint],
      [
        'Answered as it',
        s.identity.seen &&
          `UUID ${s.identity.seen.uuid}, serial ${s.identity.seen.serial || 'unknown'}`,
      ],
      ['Note', s.identity.note],
      ['Quarantine', s.quarantine && quarantineText(s.quarantine)],
      ['Labels', labelsText(s.labels ?? {})],
      ['Notes', s.notes],
      [
        'Capacity',
        `${number(cores)} cores, ${number(threads)} threads, ${memory(memory_bytes)} memory, ${disk(disk_bytes)} disk`,
      ],
      [
        'Can join a cluster',
        failed.length === 0 ? 'yes' : `no: ${failed.map((e) => e.reason ?? e.check).join('; ')}`,
      ],
      ['Operation', s.operation_id],
    ]),
    section('PROCESSORS', s.resources.processors, [
      { title: 'ID', text: (p) => p.id },
      { title: 'MODEL', text: (p) => p.product_name ?? 'unknown' },
      { title: 'CORES', text: (p) => number(p.cpu_cores ?? null), right: true },
      { title: 'THREADS', text: (p) => number(p.thread_count ?? null), right: true },
      {
        title: 'GHZ',
        text: (p) => (p.max_speed === undefined ? '?' : (p.max_speed / 1000).toFixed(1)),
        right: true,
      },
    ]),
    section('MEMORY', s.resources.memory, [
      { title: 'SLOT', text: (m) => m.device_locator ?? m.id },
      { title: 'SIZE', text: (m) => memory(m.size), right: true },
      { title: 'MAKER', text: (m) => m.manufacturer ?? '' },
    ]),
    section('DISKS', s.resources.disks, [
      { title: 'DEVICE', text: (d) => d.id },
      { title: 'MODEL', text: (d) => d.model ?? '' },
      { title: 'SIZE', text: (d) => disk(d.size), right: true },
      { title: 'TYPE', text: (d) => d.type ?? '' },
      { title: 'HOLDS', text: (d) => [notByDefault(d), contentOf(d)].filter(Boolean).join(', ') },
      { title: 'SERIAL', text: (d) => d.serial ?? '' },
      { title: 'WWID', text: (d) => d.wwid ?? '' },
    ]),
    section('INTERFACES', s.resources.interfaces, [
      { title: 'NAME', text: (i) => i.id },
      {
        title: 'LINK',
        text: (i) => (i.link_state === undefined ? '?' : i.link_state ? 'up' : 'down'),
      },
      { title: 'MAC', text: (i) => i.hardware_addr ?? '' },
      { title: 'DRIVER', text: (i) => i.driver ?? '' },
      { title: 'PRODUCT', text: (i) => [i.vendor, i.product].filter(Boolean).join(' ') },
    ]),
  ].join('')
}

/**
 * Shows the identity that the server has reported and asks the user to confirm it. Returns the
 * confirmed identity.
 */
async function askForIdentity(
  { terminal, api }: Context,
  id: string,
): Promise<{ uuid: string; serial: string }> {
  const server = await api.call(serverGet, { params: { id } })
  const { uuid, serial, fingerprint, note, seen = null } = server.identity
  const verdict = canConfirmServer(server)
  if (!verdict.ok) throw new CliError('conflict', verdict.reason)
  if (uuid === null || serial === null)
    throw new CliError('conflict', `${oneLine(server.name)} has not reported its identity yet`)
  const { cores, memory_bytes } = capacityOf(server.resources)
  terminal.err(
    facts(terminal, [
      ['Server', server.name],
      ['Addresses', server.nodeAddresses.join(', ')],
      ['System UUID', uuid],
      ['Serial', serial],
      ['Fingerprint', fingerprint],
      ['Hardware', `${number(cores)} cores, ${memory(memory_bytes)} memory`],
      ['Note', note],
    ]),
  )
  if (seen !== null && (seen.uuid !== uuid || seen.serial !== serial))
    return askWhich(terminal, { known: { uuid, serial }, seen })
  const answer = await terminal.ask(
    'Is this the machine? Compare the fingerprint with the last one that its console printed (a boot prints up to three). Type yes: ',
    { secret: false },
  )
  if (answer === null)
    throw new CliError('usage', 'There is no terminal to ask for confirmation', {
      hint: 'Specify the machine with --uuid and --serial',
    })
  if (answer.trim() !== 'yes') throw new CliError('failure', 'Not confirmed')
  return { uuid, serial }
}

/** Asks which hardware is the server: the known one, or another that has answered. */
async function askWhich(
  terminal: Context['terminal'],
  { known, seen }: Record<'known' | 'seen', { uuid: string; serial: string }>,
): Promise<{ uuid: string; serial: string }> {
  terminal.err(
    `The identity above is the known hardware. Other hardware has answered:\n${facts(terminal, [
      ['System UUID', seen.uuid],
      ['Serial', seen.serial],
    ])}`,
  )
  const answer = await terminal.ask(
    'Which hardware is this server? Type known to keep the known hardware, or other to accept the hardware that has answered: ',
    { secret: false },
  )
  if (answer === null)
    throw new CliError('usage', 'There is no terminal to ask which hardware is meant', {
      hint: 'Specify the machine with --uuid and --serial',
    })
  const which = answer.trim()
  if (which === 'known') return known
  if (which === 'other') return seen
  throw new CliError('failure', 'Not confirmed')
}

export const serverCommands: Command[] = [
  listCommand({
    name: 'server list',
    summary: 'The servers.',
    examples: [
      'server list --status maintenance --datacenter PL-POZ-1',
      "server list -l 'rack=3,gen!=r640'",
      'server list --eligible true --json',
      'server list --columns name,maker,model,serial',
    ],
    operation: serverList,
    shown: [
      'name',
      'found_by',
      'status',
      'stage',
      'type',
      'datacenter',
      'cluster',
      'cores',
      'memory',
      'disks',
      'contact',
      'finding',
      'configuration',
    ],
    cells: {
      found_by: { text: (s) => matchedText(s) ?? '', optional: true },
      status: {
        text: (s) => serverSaid(s).word,
        colour: (s) => saidColour(serverSaid(s), usualColour(s)),
      },
      stage: { minor: true },
      type: { title: 'TYPE', minor: true },
      hardware: {
        text: ({ hardware: h }) =>
          `${h.model ?? 'unknown model'}, ${number(h.cores)} cores, ${memory(h.memory_bytes)}, ${disk(h.disk_bytes)}`,
      },
      cores: { text: (s) => number(s.hardware.cores), minor: true },
      memory: { text: (s) => memory(s.hardware.memory_bytes), minor: true },
      disks: { title: 'DISK', text: (s) => disk(s.hardware.disk_bytes), minor: true },
      contact: {
        title: 'LAST CONTACT',
        text: (s, now) => ago(s.talos.last_contact_at, now),
        minor: true,
      },
      finding: {
        text: (s) => s.finding?.reason ?? '',
        colour: (s) => (s.finding ? findingColours[s.finding.severity] : null),
        optional: true,
      },
      quarantine: {
        text: (s) => (s.quarantine ? quarantineText(s.quarantine) : ''),
        colour: () => 'yellow',
        optional: true,
      },
      labels: { text: ({ labels = {} }) => labelsText(labels), minor: true },
      configuration: {
        text: (s) => (s.drift ? 'changed outside of Steelyard' : ''),
        colour: () => 'yellow',
        optional: true,
      },
    },
  }),
  objectCommand({
    name: 'server show',
    of: noun.server,
    operation: serverGet,
    say: (s, _name, { terminal }) => serverText(terminal, s),
  }),
  objectCommand({
    name: 'server rename',
    of: noun.server,
    operation: serverUpdate,
    summary: 'Rename a server that is in no cluster.',
    operands: {
      name: {
        value: 'NAME',
        help: 'The new name: lowercase letters, digits and hyphens, at most 25',
      },
    },
    examples: ['server rename brave-otter-042 rack-3-left'],
    ask: async (_context, { operands }) => ({ body: { name: operands.name } }),
    say: (s) => `The server is called ${oneLine(s.name)} now\n`,
  }),
  objectCommand({
    name: 'server confirm',
    of: noun.server,
    operation: serverConfirm,
    summary:
      'Confirm that the hardware shown belongs to this machine. Nothing is sent to an unconfirmed server.',
    options: {
      uuid: {
        kind: 'text',
        value: 'UUID',
        help: 'System UUID that the machine must have; without it, the hardware is shown and you are asked to confirm it',
      },
      serial: { kind: 'text', value: 'SERIAL', help: 'Serial number that the machine must have' },
    },
    examples: [
      'server confirm brave-otter-042',
      'server confirm brave-otter-042 --uuid 4c4c4544-0042-3510-8051-b4c04f563533 --serial B5QV3V3',
    ],
    async ask(context, { options: { uuid, serial } }, { id }) {
      if ((uuid === undefined) !== (serial === undefined))
        throw new CliError('usage', '--uuid and --serial must be given together')
      return {
        body:
          uuid !== undefined && serial !== undefined
            ? { uuid, serial }
            : await askForIdentity(context, id),
      }
    },
    say: (s) => `${oneLine(s.name)} is confirmed\n`,
  }),
  command({
    name: 'server add',
    summary: 'Look for servers in maintenance mode at addresses, and register those that answer.',
    operands: {
      addresses: {
        value: 'ADDRESS',
        help: 'IP addresses; or give a network with --cidr',
        many: true,
        optional: true,
      },
    },
    options: {
      cidr: {
        kind: 'text',
        value: 'CIDR',
        help: 'Contact every address of a network, at most a /22',
      },
      datacenter: { kind: 'text', value: 'CODE', help: 'Datacenter of the servers' },
      'idempotency-key': {
        kind: 'text',
        value: 'KEY',
        help: 'Idempotency key: the same command with the same key within 24 h is carried out only once',
      },
      ...waitOption,
    },
    examples: [
      'server add 10.0.4.11 10.0.4.12 --datacenter PL-POZ-1 --wait',
      'server add --cidr 10.0.4.0/24',
    ],
    async run(
      context,
      {
        operands: { addresses },
        options: { cidr, datacenter, wait, 'idempotency-key': idempotencyKey },
      },
    ) {
      const { api } = context
      if ((addresses.length === 0) === (cidr === undefined))
        throw new CliError('usage', 'Give either addresses or --cidr')
      const datacenter_id =
        datacenter === undefined ? undefined : await noun.idOf(api, noun.datacenter, datacenter)
      const body = given({ ...(cidr === undefined ? { addresses } : { cidr }), datacenter_id })
      const begun = await api.call(serverAdd, { body }, { idempotencyKey })
      const { id, steps } = begun.operation
      return showBegun(
        context,
        begun,
        wait,
        `Contacting ${counted(steps.length, 'address', 'addresses')}: operation ${id}`,
      )
    },
  }),
]
