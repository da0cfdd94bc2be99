/**
 * BMCs: the small computers beside servers that switch them and know their hardware. They speak
 * Redfish over HTTPS on a network of their own.
 */
import * as z from 'zod/mini'
import { atMost, codeText, lineText, nameText, sentenceText, wordText } from '../bounds/fields.ts'
import { importLimits, tooLargeImport } from '../csv/imports.ts'
import { list } from '../list.ts'
import { callsOf } from '../object-calls.ts'
import { operation, type Words } from '../operation.ts'
import { begun } from '../operations.ts'
import { changed, time } from '../page.ts'
import { no, type Limit, type Verdict, yes } from '../rule.ts'
import { bmcPassword, bmcUsername } from './credentials.ts'
import { bmcMarks, bmcStatuses, powerStates } from './state.ts'

export const bmcPorts = [443, 8443] as const
/** The most addresses of a CIDR: a /22. */
export const bmcsAtOnce = 1024

const ServerRef = z.object({ id: z.uuid(), name: codeText })

export const Bmc = z.object({
  id: z.uuid(),
  /** A literal IP address. */
  address: wordText,
  port: z.int(),
  /** The server that it switches; null before the confirmation, and while a user has to decide. */
  server: z.nullable(ServerRef),
  /** Servers of which exactly one mark agrees, so that a user has to decide. */
  candidates: atMost(
    z.object({ ...ServerRef.shape, agrees: atMost(z.enum(bmcMarks), bmcMarks.length) }),
    8,
  ),
  status: z.enum(bmcStatuses),
  /** Why it has this status; null if nothing is wrong. */
  reason: z.nullable(sentenceText),
  status_since: time,
  /** SHA-256 of the certificate that a user has confirmed; null before. */
  fingerprint: z.nullable(wordText),
  /** The certificate that it showed last. */
  certificate: z.nullable(
    z.object({
      fingerprint: wordText,
      subject: lineText,
      issuer: lineText,
      valid_from: z.nullable(time),
      valid_to: z.nullable(time),
    }),
  ),
  vendor: z.nullable(lineText),
  /** The BMC's own model, such as iDRAC 9, or what it calls its service before the confirmation. */
  model: z.nullable(lineText),
  firmware: z.nullable(lineText),
  identity: z.object({
    uuid: z.nullable(wordText),
    serial: z.nullable(lineText),
    macs: atMost(codeText, 32),
  }),
  /** What it can; null where that is not known yet. */
  capabilities: z.object({
    media: z.nullable(z.boolean()),
    http_boot: z.nullable(z.boolean()),
    pxe: z.nullable(z.boolean()),
    led: z.nullable(z.boolean()),
    sensors: z.nullable(z.boolean()),
  }),
  power: z.object({
    state: z.enum(powerStates),
    /** When the state was read last; null: never. */
    seen_at: z.nullable(time),
    /** Since when the state is this one, as far as Steelyard has seen it. */
    since: z.nullable(time),
    /** What the operation that runs now brings it to; null if none does. */
    wanted: z.nullable(z.enum(['on', 'off'])),
  }),
  /** Whether the light is on; null if unknown. */
  lit: z.nullable(z.boolean()),
  username: z.nullable(nameText),
  /** The credential whose user name and password are used; null: its own. */
  credential: z.nullable(z.object({ id: z.uuid(), name: nameText })),
  /** The last whole answer to a signed-in request. */
  answered_at: z.nullable(time),
  ...changed,
})
export type Bmc = z.infer<typeof Bmc>

/** "10.0.8.11", or "10.0.8.11:8443". */
export const bmcPlace = ({ address, port }: Pick<Bmc, 'address' | 'port'>): string =>
  port === 443 ? address : address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`

const bmcs = list<Bmc>()({
  nouns: ['BMC', 'BMCs'],
  mostPerPage: 500,
  columns: {
    address: { label: 'Address', kind: 'mono', sort: true, value: (b: Bmc) => bmcPlace(b) },
    status: { label: 'Status', kind: 'word', sort: true, value: (b: Bmc) => b.status },
    server: { label: 'Server', sort: true, value: (b: Bmc) => b.server?.name ?? null },
    power: { label: 'Power', kind: 'word', sort: true, value: (b: Bmc) => b.power.state },
    vendor: { label: 'Vendor', sort: true, value: (b: Bmc) => b.vendor },
    model: { label: 'Model', sort: true, value: (b: Bmc) => b.model },
    firmware: { label: 'Firmware', kind: 'mono', sort: true, value: (b: Bmc) => b.firmware },
    serial: {
      label: 'Serial',
      kind: 'mono',
      sort: true,
      hidden: true,
      value: (b: Bmc) => b.identity.serial,
    },
    credential: {
      label: 'Credential',
      sort: true,
      hidden: true,
      value: (b: Bmc) => b.credential?.name ?? null,
    },
    answered_at: {
      label: 'Last answer',
      kind: 'time',
      sort: true,
      value: (b: Bmc) => b.answered_at,
    },
    created_at: {
      label: 'Added',
      kind: 'time',
      sort: true,
      hidden: true,
      value: (b: Bmc) => b.created_at,
    },
  },
  filters: {
    status: { label: 'Status', help: 'Only BMCs with this status', choices: bmcStatuses },
    power: { label: 'Power', help: 'Only BMCs of servers with this power', choices: powerStates },
    server: {
      label: 'Server',
      help: 'Only the BMC of this server, by name or id',
      none: 'Of no server yet',
      placeholder: 'NAME',
    },
    credential: {
      label: 'Credential',
      help: 'Only BMCs that use this credential, by name or id',
      none: 'With a password of their own',
      placeholder: 'NAME',
    },
  },
  order: 'address',
})

export const bmcLimit: Limit = { most: 20_000, nouns: 'BMCs', remedy: 'remove one' }

const calls = callsOf('bmc', '/v1/bmcs', { read: 'servers:read', write: 'bmc:manage' }, Bmc)
export const bmcList = calls.list(
  bmcs,
  'BMCs of servers. The password is never returned. `q` finds them by address, server, serial, UUID, MAC address or model.',
)
export const bmcGet = calls.get('One BMC.')

const addressText = z.string().check(z.trim(), z.minLength(1), z.maxLength(64))
export const bmcAdd = operation('bmcAdd', 'POST /v1/bmcs', 'bmc:manage', {
  summary:
    'Look at addresses for BMCs and add those that answer: one result per address. Only the certificate and what the service root tells without a sign-in is read. Nothing secret is sent before `bmcConfirm`. An address that is listed by itself, or in the CSV text, is added even if it does not answer yet.',
  body: z
    .strictObject({
      addresses: z.optional(
        z
          .array(addressText)
          .check(
            z.minLength(1, 'Enter at least one address'),
            z.maxLength(bmcsAtOnce, `At most ${bmcsAtOnce} addresses at once`),
          ),
      ),
      cidr: z.optional(addressText),
      csv: z.optional(
        z
          .string()
          .check(
            z.minLength(1, 'The file is empty'),
            z.maxLength(importLimits.bytes, tooLargeImport),
          ),
      ),
      port: z._default(
        z.literal([...bmcPorts], `The port is ${bmcPorts.join(' or ')}`),
        bmcPorts[0],
      ),
      credential_id: z.optional(z.uuid()),
      username: z.optional(bmcUsername),
      /** Never returned by any call. */
      password: z.optional(bmcPassword),
      datacenter_id: z.optional(z.nullable(z.uuid())),
    })
    .check(
      z.refine(
        (b) => [b.addresses, b.cidr, b.csv].filter((given) => given !== undefined).length === 1,
        { error: 'Give either addresses, a CIDR or a CSV text', path: ['addresses'] },
      ),
      z.refine((b) => (b.username === undefined) === (b.password === undefined), {
        error: 'Give the user name and the password together',
        path: ['password'],
      }),
      z.refine((b) => b.credential_id === undefined || b.username === undefined, {
        error: 'Give either a credential, or a user name and a password',
        path: ['credential_id'],
      }),
      z.refine((b) => b.cidr === undefined || b.username === undefined, {
        error: 'Save the password as a credential first: it is for all BMCs of the network',
        path: ['password'],
      }),
    ),
  answer: begun,
  errors: ['dial_refused', 'not_found', 'conflict'],
})

export const bmcUpdate = calls.update({
  summary:
    'Change the address of a BMC, or the user name and password with which Steelyard signs in. After a change it is asked once. A new address is confirmed anew unless it shows the confirmed certificate.',
  body: z
    .strictObject({
      address: z.optional(addressText),
      port: z.optional(z.literal([...bmcPorts], `The port is ${bmcPorts.join(' or ')}`)),
      credential_id: z.optional(z.uuid()),
      username: z.optional(bmcUsername),
      /** Never returned by any call. */
      password: z.optional(bmcPassword),
    })
    .check(
      z.refine((b) => b.credential_id === undefined || b.username === undefined, {
        error: 'Give either a credential, or a user name and a password',
        path: ['credential_id'],
      }),
      z.refine((b) => (b.username === undefined) === (b.password === undefined), {
        error: 'Give the user name and the password together',
        path: ['password'],
      }),
    ),
  errors: ['stale', 'dial_refused', 'conflict', 'operation_running'],
})

export const bmcConfirm = operation('bmcConfirm', 'POST /v1/bmcs/{id}/confirm', 'bmc:manage', {
  summary:
    "Confirm that the certificate that was seen is the BMC's own. From then on Steelyard signs in there, and only there. Also ends the alarm about another certificate.",
  kept: true,
  body: z.strictObject({ fingerprint: z.string().check(z.trim(), z.maxLength(128)) }),
  answer: Bmc,
  errors: ['stale', 'bmc_changed', 'bmc_not_ready'],
})

export const bmcMatch = operation('bmcMatch', 'POST /v1/bmcs/{id}/match', 'bmc:manage', {
  summary:
    'Decide which server the BMC switches, if what it tells does not: one of the servers, or a new box (null).',
  kept: true,
  body: z.strictObject({ node_id: z.nullable(z.uuid()) }),
  answer: Bmc,
  errors: ['stale', 'bmc_not_ready', 'conflict'],
})

export const bmcRemove = calls.remove(
  'Remove a BMC. Its session ends. A box that has not booted yet is removed with it.',
  ['stale', 'operation_running'],
)

type Known = Pick<Bmc, 'status' | 'certificate' | 'fingerprint'>
/** Whether a user can agree to the certificate that the BMC shows. */
export function canConfirmBmc(bmc: Known): Verdict {
  if (bmc.certificate === null) return no('The BMC has not shown a certificate yet')
  return bmc.certificate.fingerprint === bmc.fingerprint && bmc.status !== 'changed'
    ? no('The certificate is confirmed already')
    : yes
}

/** Words for the API documentation. */
export const words: Words = {
  objects: { Bmc: [Bmc, 'A BMC: what it is, whether it answers, and the power of its server.'] },
  fields: {
    'bmcAdd.addresses': 'Addresses of BMCs.',
    'bmcAdd.cidr': 'A network of BMCs, at most a /22.',
    'bmcAdd.csv':
      'CSV with the columns address, username, password, datacenter, rack, unit and labels, of which only the first is needed.',
    'bmcAdd.password': 'Password of the account on the BMC. Stored encrypted and never returned.',
    'bmcUpdate.password':
      'Password of the account on the BMC. Stored encrypted and never returned.',
    'bmcUpdate.address': 'The literal IP address of the BMC.',
    credential_id: 'Id of a credential of BMCs.',
    fingerprint: 'SHA-256 of the certificate that the caller has seen.',
    'bmcAdd.port': 'Port of HTTPS: 443 or 8443.',
    'bmcUpdate.port': 'Port of HTTPS: 443 or 8443.',
    'bmcMatch.node_id': 'Id of the server that the BMC switches; null: a new box.',
    'bmcList.power': 'Only BMCs of servers with this power.',
    'bmcList.server': 'Only the BMC of this server, by name or id.',
    'bmcList.credential': 'Only BMCs that use this credential, by name or id.',
  },
  bodies: {
    bmcAdd: { addresses: ['10.0.8.11'], credential_id: '0b6f6c0e-8a54-4a3c-9f43-5f2ad6b3b5d1' },
    bmcUpdate: { username: 'steelyard', password: 'the password of the account' },
    bmcConfirm: { fingerprint: 'AB:CD' },
    bmcMatch: { node_id: null },
  },
}
