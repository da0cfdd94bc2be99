/**
 * Channels: where Steelyard sends what it finds. A channel is a webhook, a mail server with
 * recipients, or an Alertmanager.
 */
import * as z from 'zod/mini'
import { atMost, codeText, nameText, personText, sentenceText, urlText } from '../bounds/fields.ts'
import { list } from '../list.ts'
import { nameOf, seen } from '../names.ts'
import { callsOf } from '../object-calls.ts'
import { operation, type Words } from '../operation.ts'
import { changed, time, wholeIn } from '../page.ts'
import { type Limit, no, type Verdict, yes } from '../rule.ts'

export const channelKinds = { webhook: 'Webhook', mail: 'Mail', alertmanager: 'Alertmanager' }
export type ChannelKind = keyof typeof channelKinds
const kinds = ['webhook', 'mail', 'alertmanager'] as const

/**
 * How a connection to a mail server is encrypted: by STARTTLS (RFC 3207), from its first byte (RFC
 * 8314), or not at all.
 */
export const mailSecurities = {
  starttls: 'STARTTLS',
  tls: 'TLS from the first byte',
  none: 'Not encrypted',
}
const securities = ['starttls', 'tls', 'none'] as const

const mostRecipients = 20
export const Channel = z.object({
  id: z.uuid(),
  name: codeText,
  kind: z.enum(kinds),
  /**
   * Of a webhook or an Alertmanager; null for mail. Its path and query, which may contain a token,
   * are shown only to those who may change it: `https://hooks.example.com/…`.
   */
  url: z.nullable(urlText),
  /** The mail server. This and the other fields of mail are null for the other kinds. */
  host: z.nullable(nameText),
  port: z.nullable(z.int()),
  security: z.nullable(z.enum(securities)),
  from: z.nullable(personText),
  to: z.nullable(atMost(personText, mostRecipients)),
  /** The name with which Steelyard signs in at a mail server or an Alertmanager. */
  user: z.nullable(personText),
  has_secret: z.boolean(),
  /** Until then a webhook is signed with its former secret too; null if there is none. */
  former_secret_until: z.nullable(time),
  paused: z.boolean(),
  /** When the last message arrived. */
  verified_at: z.nullable(time),
  /** Why the last message did not arrive; null if it did. */
  problem: z.nullable(sentenceText),
  problem_since: z.nullable(time),
  /**
   * Since then the receiver of a webhook says that it is gone (410). It gets nothing more, until the
   * URL is changed or a test message arrives.
   */
  gone_since: z.nullable(time),
  ...changed,
})
export type Channel = z.infer<typeof Channel>

/** Where the messages of the channel go: its URL, or its recipients. */
export const channelPlace = ({ url, to }: Pick<Channel, 'url' | 'to'>): string =>
  url ?? (to ?? []).join(', ')

const url = z.string().check(
  z.trim(),
  z.maxLength(500, 'The URL has at most 500 characters'),
  z.refine(
    (text) =>
      URL.canParse(text) &&
      /^https?:$/.test(new URL(text).protocol) &&
      new URL(text).username === '' &&
      new URL(text).password === '' &&
      !text.includes('#'),
    { error: 'Enter a URL without user name and fragment, such as https://hooks.example.com/in' },
  ),
  z.overwrite((text) => (URL.canParse(text) ? new URL(text).href : text)),
)
const hostPattern =
  /^(?=.{1,253}$)(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$|^[0-9A-Fa-f:.]{2,45}$/
const host = z
  .string()
  .check(z.trim(), z.regex(hostPattern, 'Enter the name or address of the mail server'))
const port = wholeIn(1, 65_535, 'A port is a number from 1 to 65535')

/**
 * A mailbox without quotes and comments: what people enter, not all that RFC 5321 allows. No label
 * of its domain is empty, or begins or ends with a hyphen (RFC 1123 §2.1).
 */
const mailbox =
  /^[^\s<>"(),:;@[\\\]]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/
const address = z
  .string()
  .check(
    z.trim(),
    z.maxLength(254, 'The address has at most 254 characters'),
    z.regex(mailbox, 'Enter an email address, such as ops@example.com'),
    seen(),
  )
const recipients = z.array(address).check(
  z.minLength(1, 'Enter at least one recipient'),
  z.maxLength(mostRecipients, 'At most 20 recipients: use a mailing list for more'),
  // Nobody gets a mail twice: no mail server in use tells mailboxes apart by case.
  z.overwrite((all) =>
    [...new Map(all.toReversed().map((one) => [one.toLowerCase(), one])).values()].toReversed(),
  ),
)
const user = z
  .string()
  .check(
    z.trim(),
    z.minLength(1, 'Enter the user name'),
    z.maxLength(200, 'The user name has at most 200 characters'),
    z.regex(/^\P{Cc}*$/u, 'The user name can’t contain line breaks and tabs'),
    seen(),
  )
const secret = z
  .string()
  .check(
    z.minLength(1, 'Enter the secret'),
    z.maxLength(500, 'The secret has at most 500 characters'),
    z.regex(/^[\x20-\x7e]+$/, 'The secret can contain only printable ASCII characters'),
  )

/** 24 to 64 bytes (Standard Webhooks, "Signature scheme"), in base64 with the prefix `whsec_`. */
const signingSecret =
  /^whsec_(?=[A-Za-z0-9+/=]{32,88}$)(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const signingSentence =
  'A signing secret is whsec_ followed by 24 to 64 random bytes in base64, such as the output of: echo "whsec_$(openssl rand -base64 32)"'
export const isSigningSecret = (text: string): boolean => signingSecret.test(text)

const mailFields = ['host', 'port', 'security', 'from', 'to'] as const
const fieldsOf: Readonly<Record<ChannelKind, readonly string[]>> = {
  webhook: ['url', 'secret'],
  alertmanager: ['url', 'user', 'secret'],
  mail: [...mailFields, 'user', 'secret'],
}
const neededOf: Readonly<Record<ChannelKind, readonly string[]>> = {
  webhook: ['url', 'secret'],
  alertmanager: ['url'],
  mail: ['host', 'from', 'to'],
}
const every = ['url', ...mailFields, 'user', 'secret'] as const

/** Why these fields can't be those of a channel of this kind, by field. */
function wrongFields(
  kind: ChannelKind,
  given: Readonly<Partial<Record<(typeof every)[number], unknown>>>,
): [field: string, sentence: string][] {
  const wrong: [string, string][] = every.flatMap((field) =>
    given[field] !== undefined && given[field] !== null && !fieldsOf[kind].includes(field)
      ? [[field, `A channel of kind ${kind} does not have this field`] as [string, string]]
      : [],
  )
  if (kind === 'webhook' && typeof given.secret === 'string' && !isSigningSecret(given.secret))
    wrong.push(['secret', signingSentence])
  // Basic authentication ends the name at the first colon (RFC 7617 §2).
  if (kind === 'alertmanager' && typeof given.user === 'string' && given.user.includes(':'))
    wrong.push(['user', 'The user name of an Alertmanager can’t contain a colon'])
  return wrong
}

const place = {
  url: z.optional(url),
  host: z.optional(host),
  port: z.optional(port),
  security: z.optional(z.enum(securities)),
  from: z.optional(address),
  to: z.optional(recipients),
  /** Null: without a name. */
  user: z.optional(z.nullable(user)),
  /** Never returned by any call. Null: without a secret; a webhook always has one. */
  secret: z.optional(z.nullable(secret)),
}

export const NewChannel = z
  .strictObject({
    name: nameOf('Channel'),
    kind: z.enum(kinds),
    ...place,
    paused: z._default(z.boolean(), false),
  })
  .check((context) => {
    const { value } = context
    const wrong = (field: string, message: string) =>
      void context.issues.push({ code: 'custom', path: [field], message, input: value })
    for (const [field, sentence] of wrongFields(value.kind, value)) wrong(field, sentence)
    for (const field of neededOf[value.kind])
      if ((value as Readonly<Record<string, unknown>>)[field] == null)
        wrong(field, `Required for a channel of kind ${value.kind}`)
    if (value.kind === 'mail' && value.user != null && value.secret == null)
      wrong('secret', 'Enter the password of the user')
  })
export type NewChannel = z.infer<typeof NewChannel>

export const ChannelChange = z.strictObject({
  name: z.optional(nameOf('Channel')),
  ...place,
  paused: z.optional(z.boolean()),
})
export type ChannelChange = z.infer<typeof ChannelChange>

/** The first field of a change that a channel of this kind can't have, and why. */
export const wrongChange = (
  kind: ChannelKind,
  change: ChannelChange,
): [field: string, sentence: string] | undefined =>
  kind === 'webhook' && change.secret === null
    ? ['secret', 'A webhook always has a signing secret']
    : wrongFields(kind, change)[0]

type Place = Pick<Channel, 'kind' | 'url' | 'host' | 'port' | 'security'>
/** Where the secret itself is sent; null for a webhook, whose secret only signs. */
const secretGoesTo = ({ kind, url: to, host: at, port: on, security }: Place): string | null =>
  kind === 'webhook' ? null : kind === 'mail' ? `${at}:${on} ${security}` : to

/**
 * Whether a channel with another address may keep its stored secret, which no call returns: whoever
 * chose the address could otherwise have it sent to a receiver of theirs.
 */
export const canKeepSecret = (before: Place & Pick<Channel, 'has_secret'>, after: Place): Verdict =>
  !before.has_secret || secretGoesTo(before) === secretGoesTo(after)
    ? yes
    : no('The stored secret is sent only where it was entered for: enter it again')

const channels = list<Channel>()({
  nouns: ['channel', 'channels'],
  mostPerPage: 200,
  columns: {
    name: { label: 'Name', sort: true, value: (c: Channel) => c.name },
    kind: { label: 'Kind', value: (c: Channel) => channelKinds[c.kind] },
    place: { label: 'To', kind: 'mono', value: (c: Channel) => channelPlace(c) },
    verified_at: {
      label: 'Arrived',
      help: 'When the last message arrived',
      kind: 'time',
      sort: true,
      value: (c: Channel) => c.verified_at,
    },
    problem: {
      label: 'Status',
      value: (c: Channel) => c.problem ?? (c.paused ? 'Paused' : null),
    },
    created_at: {
      label: 'Created',
      kind: 'time',
      sort: true,
      hidden: true,
      value: (c: Channel) => c.created_at,
    },
  },
  filters: {
    kind: { label: 'Kind', help: 'Only channels of this kind', choices: channelKinds },
  },
  order: 'name',
})

/**
 * Users who can read clusters can read channels. To which networks Steelyard connects for a channel is
 * set where it is installed (`STEELYARD_ALERT_NETWORKS`).
 */
const calls = callsOf(
  'channel',
  '/v1/channels',
  { read: 'clusters:read', write: 'alerts:manage' },
  Channel,
)
export const channelLimit: Limit = {
  most: 100,
  nouns: 'channels',
  remedy: 'remove one that is not used any more',
}

export const channelList = calls.list(
  channels,
  'Channels to which findings are sent. Their secrets are never returned.',
)
export const channelGet = calls.get('One channel.')
export const channelCreate = calls.create({
  summary:
    'Add a channel. Its address must be one that Steelyard may contact; nothing is sent yet: `channelTest` does that.',
  body: NewChannel,
  errors: ['name_taken', 'dial_refused'],
})
export const channelUpdate = calls.update({
  summary:
    'Change a channel. A webhook with a new secret is signed with the former one too for 24 hours. A mail server or an Alertmanager at another address needs its secret again.',
  body: ChannelChange,
  errors: ['stale', 'name_taken', 'dial_refused'],
})
export const channelRemove = calls.remove(
  'Remove a channel. Messages that wait for it are dropped; those that were sent stay in the list of deliveries.',
  ['stale'],
)
export const channelTest = operation(
  'channelTest',
  'POST /v1/channels/{id}/test',
  'alerts:manage',
  {
    summary: 'Send a message that says that it is a test, and wait for its result.',
    kept: true,
    answer: z.object({
      ok: z.boolean(),
      /** Why it did not arrive. */
      problem: z.nullable(z.string()),
      /** Status of the answer: of HTTP, or of SMTP. */
      status: z.nullable(z.int()),
      /** What the receiver answered, at most 64 KiB. */
      answer: z.string(),
      took_ms: z.int(),
      /** The message in the list of deliveries. */
      delivery_id: z.uuid(),
    }),
  },
)

/** Words for the API documentation. */
export const words: Words = {
  objects: {
    Channel: [Channel, 'Where findings are sent: a webhook, mail, or an Alertmanager.'],
    NewChannel: [NewChannel, 'A channel to add.'],
  },
  fields: {
    url: 'URL of the webhook, or of the Alertmanager without `/api/v2/alerts`.',
    host: 'Name or address of the mail server.',
    port: 'Port of the mail server. Default: 587, or 465 for `tls`, or 25 for `none`.',
    security:
      'How the connection to the mail server is encrypted: by STARTTLS, from the first byte (`tls`), or not at all.',
    from: 'Sender of the mail.',
    to: 'Recipients of the mail.',
    user: 'Name with which Steelyard signs in at the mail server or the Alertmanager; null for none.',
    secret:
      'Signing secret of a webhook (`whsec_…`), password of the mail server, or password of the Alertmanager (its bearer token, without `user`). Stored encrypted and never returned.',
    'channelCreate.paused': 'True: nothing is sent.',
    'channelUpdate.paused': 'True: nothing is sent.',
    'channelCreate.kind':
      '`webhook`: Standard Webhooks with a CloudEvent as its body. `mail`: SMTP. `alertmanager`: the API v2 of an Alertmanager.',
    'channelList.kind': 'Only channels of this kind.',
  },
  bodies: {
    channelCreate: {
      name: 'on-call',
      kind: 'webhook',
      url: 'https://192.0.2.10/steelyard',
      secret: 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=',
    },
    channelUpdate: { name: 'on-call-2' },
  },
}
