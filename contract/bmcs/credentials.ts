/** Credentials of BMCs: a user name and a password that several BMCs have in common. */
import * as z from 'zod/mini'
import { codeText, nameText } from '../bounds/fields.ts'
import { list } from '../list.ts'
import { nameOf } from '../names.ts'
import { callsOf } from '../object-calls.ts'
import type { Words } from '../operation.ts'
import { changed } from '../page.ts'
import type { Limit } from '../rule.ts'

/** A name of an account on a BMC: printable, without spaces and without a colon (RFC 7617). */
export const bmcUsername = z
  .string()
  .check(
    z.trim(),
    z.minLength(1, 'Enter the user name of the account on the BMC'),
    z.maxLength(128, 'A user name has at most 128 characters'),
    z.regex(/^[\x21-\x39\x3b-\x7e]+$/, "A user name can't contain spaces or a colon"),
  )
export const bmcPassword = z
  .string()
  .check(
    z.minLength(1, 'Enter the password of the account on the BMC'),
    z.maxLength(256, 'A password has at most 256 characters'),
    z.regex(/^\P{Cc}+$/u, "A password can't contain control characters"),
  )

export const BmcCredential = z.object({
  id: z.uuid(),
  name: codeText,
  username: nameText,
  /** Number of BMCs that use it. */
  bmcs: z.int(),
  ...changed,
})
export type BmcCredential = z.infer<typeof BmcCredential>

const credentials = list<BmcCredential>()({
  nouns: ['BMC credential', 'BMC credentials'],
  columns: {
    name: { label: 'Name', sort: true, value: (c: BmcCredential) => c.name },
    username: { label: 'User name', kind: 'mono', value: (c: BmcCredential) => c.username },
    bmcs: { label: 'BMCs', kind: 'number', value: (c: BmcCredential) => c.bmcs },
    created_at: {
      label: 'Created',
      kind: 'time',
      sort: true,
      hidden: true,
      value: (c: BmcCredential) => c.created_at,
    },
  },
  filters: {},
  order: 'name',
})

export const bmcCredentialLimit: Limit = {
  most: 1_000,
  nouns: 'BMC credentials',
  remedy: 'remove one that no BMC uses',
}

const calls = callsOf(
  'bmcCredential',
  '/v1/bmc-credentials',
  { read: 'bmc:manage', write: 'bmc:manage' },
  BmcCredential,
)
export const bmcCredentialList = calls.list(
  credentials,
  'User names and passwords that BMCs have in common. The password is never returned.',
)
export const bmcCredentialGet = calls.get('One credential of BMCs.')
export const bmcCredentialCreate = calls.create({
  summary:
    'Add a credential for BMCs. It is kept encrypted and sent only to BMCs whose certificate a user has confirmed.',
  body: z.strictObject({
    name: nameOf('Credential'),
    username: bmcUsername,
    /** Never returned by any call. */
    password: bmcPassword,
  }),
  errors: ['name_taken'],
})
export const bmcCredentialUpdate = calls.update({
  summary:
    'Rename a credential, or change its user name or password to what its BMCs have now. BMCs that refused it are asked again, once. Steelyard changes no account on a BMC.',
  body: z.strictObject({
    name: z.optional(nameOf('Credential')),
    username: z.optional(bmcUsername),
    /** Never returned by any call. Without it, the stored one is kept. */
    password: z.optional(bmcPassword),
  }),
  errors: ['name_taken', 'stale'],
})
export const bmcCredentialRemove = calls.remove('Remove a credential that no BMC uses.', [
  'stale',
  'bmc_credential_in_use',
])

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    BmcCredential: [BmcCredential, 'A user name and a password that BMCs have in common.'],
  },
  fields: {
    username: 'User name of the account on the BMC.',
    'bmcCredentialCreate.password':
      'Password of the account on the BMC. Stored encrypted and never returned.',
    'bmcCredentialUpdate.password':
      'Password of the account on the BMC. Stored encrypted and never returned.',
  },
  bodies: {
    bmcCredentialCreate: {
      name: 'rack-a',
      username: 'steelyard',
      password: 'the password of the account',
    },
    bmcCredentialUpdate: { name: 'rack-b' },
  },
}
