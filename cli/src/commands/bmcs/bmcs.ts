import {
  type Bmc,
  bmcAdd,
  bmcConfirm,
  bmcGet,
  bmcList,
  bmcMatch,
  bmcPlace,
  bmcRemove,
  bmcUpdate,
} from '#contract/bmcs/bmcs.ts'
import { command, type Command, given, listCommand, objectCommand } from '../../command.ts'
import { CliError } from '../../exit.ts'
import { readText } from '../../files.ts'
import * as noun from '../../nouns.ts'
import { facts } from '../../table.ts'
import type { Terminal } from '../../terminal.ts'
import { localTime, oneLine, words } from '../../text.ts'
import { showBegun, waitOption } from '../../watch.ts'
import { passwordOf, passwordOption } from './password.ts'

const bmcText = (terminal: Terminal, b: Bmc): string =>
  facts(terminal, [
    ['Address', bmcPlace(b)],
    ['Id', b.id],
    ['Status', words(b.status)],
    ['Reason', b.reason],
    ['Server', b.server?.name ?? 'none yet'],
    [
      'May be',
      b.candidates.map(({ name, agrees }) => `${name} (${agrees.join(', ')} agrees)`).join(', ') ||
        null,
    ],
    ['Power', words(b.power.state)],
    ['Power seen', b.power.seen_at === null ? 'never' : localTime(b.power.seen_at)],
    ['Light', b.lit === null ? null : b.lit ? 'on' : 'off'],
    ['Vendor', b.vendor],
    ['Model', b.model],
    ['Firmware', b.firmware],
    ['Serial', b.identity.serial],
    ['System UUID', b.identity.uuid],
    ['User name', b.username],
    ['Credential', b.credential?.name ?? null],
    ['Fingerprint', b.fingerprint ?? 'not confirmed'],
    [
      'Certificate shown',
      b.certificate &&
        `${b.certificate.fingerprint} (${b.certificate.subject || 'without a name'})`,
    ],
    ['Last answer', b.answered_at === null ? 'never' : localTime(b.answered_at)],
  ])

const accountOptions = {
  credential: { kind: 'text', value: 'CREDENTIAL', help: 'Credential that they have in common' },
  username: { kind: 'text', value: 'USER', help: 'User name of the account on the BMC' },
  ...passwordOption,
} as const
const portOption = {
  port: { kind: 'number', value: 'PORT', help: 'Port of HTTPS: 443 or 8443' },
} as const
const portOf = (port: number | undefined): 443 | 8443 | undefined => {
  if (port === undefined || port === 443 || port === 8443) return port
  throw new CliError('usage', 'The port is 443 or 8443')
}

export const bmcCommands: Command[] = [
  listCommand({
    name: 'bmc list',
    summary: 'BMCs, which switch servers and know their hardware.',
    examples: ['bmc list', 'bmc list --status unconfirmed'],
    operation: bmcList,
    cells: {},
  }),
  objectCommand({
    name: 'bmc show',
    of: noun.bmc,
    operation: bmcGet,
    say: (b, _name, { terminal }) => bmcText(terminal, b),
  }),
  command({
    name: 'bmc add',
    summary:
      'Look at addresses for BMCs and add those that answer. Nothing secret is sent before their certificates are confirmed.',
    operands: {
      address: {
        value: 'ADDRESS',
        help: 'Addresses, or one CIDR of at most a /22',
        many: true,
        optional: true,
      },
    },
    options: {
      csv: {
        kind: 'text',
        value: 'FILE',
        help: 'CSV with the columns address, username, password, datacenter, rack, unit, labels',
      },
      ...accountOptions,
      ...portOption,
      datacenter: { kind: 'text', value: 'CODE', help: 'Datacenter of the servers' },
      ...waitOption,
    },
    examples: [
      'bmc add 10.0.8.11 10.0.8.12 --credential rack-a --wait',
      'bmc add 10.0.8.0/24 --credential rack-a',
      'bmc add --csv ./bmcs.csv',
    ],
    async run(context, { operands: { address: addresses }, options: o }) {
      const { api } = context
      if (addresses.length > 0 === (o.csv !== undefined))
        throw new CliError('usage', 'Give either addresses or --csv')
      const cidr = addresses.find((text) => text.includes('/'))
      if (cidr !== undefined && addresses.length > 1)
        throw new CliError('usage', 'Give either addresses or one CIDR')
      const credential =
        o.credential === undefined ? undefined : await noun.bmcCredential.find(api, o.credential)
      const site =
        o.datacenter === undefined ? undefined : await noun.datacenter.find(api, o.datacenter)
      const body = given({
        addresses: o.csv === undefined && cidr === undefined ? addresses : undefined,
        cidr,
        csv: o.csv === undefined ? undefined : await readText(o.csv),
        port: portOf(o.port),
        credential_id: credential?.id,
        username: o.username,
        password:
          o.username === undefined ? undefined : await passwordOf(context, o['password-file']),
        datacenter_id: site?.id,
      })
      return showBegun(
        context,
        await api.call(bmcAdd, { body }),
        o.wait,
        'The addresses are looked at',
      )
    },
  }),
  objectCommand({
    name: 'bmc edit',
    of: noun.bmc,
    operation: bmcUpdate,
    summary: 'Change the address of a BMC, or the user name and password to sign in with.',
    options: {
      address: { kind: 'text', value: 'ADDRESS', help: 'New address' },
      ...portOption,
      ...accountOptions,
    },
    examples: [
      'bmc edit 10.0.8.11 --credential rack-b',
      'bmc edit 10.0.8.11 --username steelyard --password-file ./password',
    ],
    async ask(context, { options: o }) {
      const credential =
        o.credential === undefined
          ? undefined
          : await noun.bmcCredential.find(context.api, o.credential)
      const body = given({
        address: o.address,
        port: portOf(o.port),
        credential_id: credential?.id,
        username: o.username,
        password:
          o.username === undefined ? undefined : await passwordOf(context, o['password-file']),
      })
      if (Object.keys(body).length === 0) throw new CliError('usage', 'Specify what to change')
      return { body }
    },
    say: (b) => `The BMC at ${oneLine(bmcPlace(b))} is changed\n`,
  }),
  objectCommand({
    name: 'bmc confirm',
    of: noun.bmc,
    operation: bmcConfirm,
    summary:
      "Confirm that a certificate is the BMC's own; from then on Steelyard signs in there. Compare it with what the BMC's own page shows.",
    options: {
      fingerprint: {
        kind: 'text',
        value: 'SHA256',
        help: 'The fingerprint that you have compared',
      },
    },
    examples: ['bmc confirm 10.0.8.11 --fingerprint AB:CD:…'],
    ask: (_context, { options: { fingerprint } }) => {
      if (fingerprint === undefined)
        throw new CliError('usage', 'Give --fingerprint', {
          hint: 'steelyard bmc show shows the certificate that the BMC has shown',
        })
      return Promise.resolve({ body: { fingerprint } })
    },
    say: (b) => `The BMC at ${oneLine(bmcPlace(b))} is confirmed\n`,
  }),
  objectCommand({
    name: 'bmc match',
    of: noun.bmc,
    operation: bmcMatch,
    options: {
      server: { kind: 'text', value: 'SERVER', help: 'The server that it switches' },
      'new-box': { kind: 'flag', help: 'It switches a box that Steelyard does not know yet' },
    },
    examples: ['bmc match 10.0.8.11 --server brave-otter-042', 'bmc match 10.0.8.11 --new-box'],
    async ask({ api }, { options: o }) {
      if ((o.server === undefined) === !o['new-box'])
        throw new CliError('usage', 'Give either --server or --new-box')
      const node_id = o.server === undefined ? null : (await noun.server.find(api, o.server)).id
      return { body: { node_id } }
    },
    say: (b) => `The BMC at ${oneLine(bmcPlace(b))} switches ${oneLine(b.server?.name ?? '')}\n`,
  }),
  objectCommand({
    name: 'bmc remove',
    of: noun.bmc,
    operation: bmcRemove,
    say: (_none, name) => `The BMC ${oneLine(name)} is removed\n`,
  }),
]
