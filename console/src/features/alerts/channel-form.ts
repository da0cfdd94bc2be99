import {
  type Channel,
  ChannelChange,
  type ChannelKind,
  NewChannel,
} from '#contract/alerts/channels.ts'
import { readBy } from '../../lib/fields.ts'

/** A new signing secret: 32 random bytes (Standard Webhooks, "Signature scheme"). */
export const newSigningSecret = (): string =>
  `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`

export interface Typed {
  name: string
  kind: ChannelKind
  url: string
  host: string
  port: string
  security: 'starttls' | 'tls' | 'none'
  from: string
  to: string
  user: string
  secret: string
}

/** The values of the form. The secret is never sent to the console, so its field is empty. */
export const valuesOf = (channel?: Channel): Typed => ({
  name: channel?.name ?? '',
  kind: channel?.kind ?? 'webhook',
  url: channel?.url ?? '',
  host: channel?.host ?? '',
  port: channel?.port == null ? '' : String(channel.port),
  security: channel?.security ?? 'starttls',
  from: channel?.from ?? '',
  to: (channel?.to ?? []).join(', '),
  user: channel?.user ?? '',
  secret: channel ? '' : newSigningSecret(),
})

/** The fields that a channel of the kind has, as the API takes them. */
function bodyOf({ kind, ...typed }: Typed): Record<string, unknown> {
  const common = { name: typed.name, ...(typed.secret !== '' && { secret: typed.secret }) }
  const user = { user: typed.user.trim() === '' ? null : typed.user }
  if (kind === 'webhook') return { ...common, url: typed.url }
  if (kind === 'alertmanager') return { ...common, url: typed.url, ...user }
  return {
    ...common,
    host: typed.host,
    ...(typed.port !== '' && { port: Number(typed.port) }),
    security: typed.security,
    from: typed.from,
    to: typed.to.split(/[\s,;]+/).filter((one) => one !== ''),
    ...user,
  }
}

export const readNew = (typed: Typed) => readBy(NewChannel, { kind: typed.kind, ...bodyOf(typed) })

/** The change of a channel: only the fields that differ from `initial`. */
export function readChange(initial: Typed, typed: Typed) {
  const before = bodyOf(initial)
  const changed = Object.entries(bodyOf(typed)).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]),
  )
  return readBy(ChannelChange, Object.fromEntries(changed))
}
