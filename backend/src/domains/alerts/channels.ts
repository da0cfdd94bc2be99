/** Use cases of channels. A channel's address is checked when it is saved and at each connection. */
import { randomUUID } from 'node:crypto'
import {
  canKeepSecret,
  type Channel,
  type ChannelChange,
  channelLimit,
  type channelList,
  type channelTest,
  type NewChannel,
  wrongChange,
} from '#contract/alerts/channels.ts'
import { Problem } from '#contract/errors.ts'
import { nameSentences } from '#contract/names.ts'
import type { Answer, Input } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { yes } from '#contract/rule.ts'
import { type Db, inTransaction, type Tx, violatedConstraint } from '../../db/db.ts'
import { type EndpointPolicy, EndpointRefused } from '../../endpoints/policy.ts'
import { type Caller, system } from '../../http/caller.ts'
import { existing, type Versions } from '../../http/tags.ts'
import type { Platform } from '../../platform.ts'
import { demandRoom } from '../../room.ts'
import { wakeAlerts } from './api.ts'
import { wakeDeliveries } from './delivering.ts'
import { subjectOf, testContent } from './message.ts'
import type { Outcome } from './outcome.ts'
import { type Opened, send } from './sending.ts'
import * as deliveries from './store-deliveries.ts'
import * as recipientRows from './store-recipients.ts'
import * as store from './store.ts'

/** How long a webhook is signed with its former secret too. */
const rotationMs = 24 * 3_600_000
const usualPort = { starttls: 587, tls: 465, none: 25 } as const

type ChannelParts = Pick<
  Platform,
  'db' | 'clock' | 'config' | 'engine' | 'record' | 'tell' | 'vault' | 'tracing'
> & { readonly policy: EndpointPolicy }
export type Channels = ReturnType<typeof channels>

const place = (column: 'secret_sealed' | 'former_sealed', owner: string) => ({
  table: 'channel',
  column,
  owner,
})

/** Many receivers know who sends by a token in the path or query of the URL. */
const shownTo = (caller: Caller, channel: Channel): Channel =>
  channel.url === null || (caller.kind === 'user' && caller.scopes.includes('alerts:manage'))
    ? channel
    : { ...channel, url: urlShown(channel.url) }

const urlShown = (text: string): string => {
  const { origin, pathname, search } = new URL(text)
  return pathname === '/' && search === '' ? text : `${origin}/…`
}

export function channels({
  db,
  clock,
  config,
  engine,
  record,
  tell,
  vault,
  tracing,
  policy,
}: ChannelParts) {
  const now = () => new Date(clock.now())

  const present = ({
    secret_sealed,
    former_sealed: _former,
    former_until,
    refreshed_at: _refreshed,
    not_before: _notBefore,
    username,
    mail_from,
    mail_to,
    ...row
  }: store.ChannelRow): Channel => ({
    ...row,
    from: mail_from,
    to: mail_to,
    user: username,
    has_secret: secret_sealed !== null,
    former_secret_until:
      former_until !== null && former_until > now() ? former_until.toISOString() : null,
    verified_at: row.verified_at?.toISOString() ?? null,
    problem_since: row.problem_since?.toISOString() ?? null,
    gone_since: row.gone_since?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  })

  const open = async (on: Db | Tx, row: store.ChannelRow): Promise<Opened> => {
    const opened = async (column: 'secret_sealed' | 'former_sealed'): Promise<string | null> => {
      const sealed = row[column]
      return sealed === null
        ? null
        : (await vault.open(on, { ...place(column, row.id), sealed })).toString('utf8')
    }
    const secret = await opened('secret_sealed')
    if (row.kind === 'webhook') {
      const isRotating = row.former_until !== null && row.former_until > now()
      const former = isRotating ? await opened('former_sealed') : null
      return {
        kind: 'webhook',
        url: row.url!,
        secrets: [secret, former].filter((one) => one !== null),
      }
    }
    if (row.kind === 'alertmanager')
      return { kind: 'alertmanager', url: row.url!, user: row.username, secret }
    return {
      kind: 'mail',
      host: row.host!,
      port: row.port!,
      security: row.security!,
      user: row.username,
      password: secret,
      from: row.mail_from!,
      to: row.mail_to!,
    }
  }

  /** @throws Problem dial_refused for an address that may not be contacted, or a name without one */
  const demandAddress = async ({
    url,
    host,
    security,
  }: Pick<store.ChannelRow, 'url' | 'host' | 'security'>): Promise<void> => {
    const [field, name, isEncrypted] =
      url !== null
        ? (['url', new URL(url).hostname, url.startsWith('https:')] as const)
        : (['host', host!, security !== 'none'] as const)
    try {
      policy.demandHost(name, isEncrypted)
      await new Promise<void>((resolve, reject) => {
        policy.lookup(isEncrypted)(name.replace(/^\[(.*)\]$/, '$1'), { all: true }, (error) =>
          error ? reject(error) : resolve(),
        )
      })
    } catch (error) {
      const why =
        error instanceof EndpointRefused ? error.message : `${name} can't be found in the DNS`
      throw new Problem('dial_refused', why, { [field]: why })
    }
  }

  const demandWhole = (row: store.ChannelRow, hasSecret: boolean): void => {
    if (row.kind !== 'mail' || row.username === null) return
    const why =
      row.security === 'none'
        ? 'A password is sent over an encrypted connection only'
        : hasSecret
          ? undefined
          : 'Enter the password of the user'
    if (why !== undefined)
      throw new Problem('invalid', why, { [row.security === 'none' ? 'security' : 'secret']: why })
  }

  const takenOr = (error: unknown): unknown => {
    if (violatedConstraint(error) !== 'channel_name') return error
    const { taken } = nameSentences('Channel')
    return new Problem('name_taken', taken, { name: taken })
  }

  const seal = (tx: Tx, id: string, secret: string) =>
    vault.seal(tx, { ...place('secret_sealed', id), bytes: Buffer.from(secret) })

  /** Records the result of an attempt at its channel. Its row must be locked. */
  const note = async (
    tx: Tx,
    row: store.ChannelRow,
    { problem, waitMs, isGone }: Outcome,
    at: Date,
  ): Promise<void> => {
    await store.noteChannel(
      tx,
      row.id,
      problem === null
        ? {
            verified_at: at,
            problem: null,
            problem_since: null,
            not_before: null,
            gone_since: null,
          }
        : {
            problem,
            problem_since: row.problem === null ? at : row.problem_since,
            ...(waitMs !== undefined && { not_before: new Date(at.getTime() + waitMs) }),
            ...(isGone && row.kind === 'webhook' && { gone_since: row.gone_since ?? at }),
          },
    )
    await tell(tx, system, { name: 'channel.updated', object: { kind: 'channel', id: row.id } })
  }

  return {
    open,
    note,

    async list(caller: Caller, query: Input<typeof channelList>['query']): Promise<Page<Channel>> {
      const { rows, total } = await store.channelPage(db, query)
      const items = rows.map((row) => shownTo(caller, present(row)))
      return { items, page: query.page, per_page: query.per_page, total }
    },

    get: async (caller: Caller, id: string): Promise<Channel> =>
      shownTo(caller, present(existing(await store.findChannel(db, id), 'channel'))),

    async create(caller: Caller, asked: NewChannel): Promise<Channel> {
      const { name, kind, paused, secret = null, url = null, user = null } = asked
      const security = kind === 'mail' ? (asked.security ?? 'starttls') : null
      const at = now()
      const row = {
        id: randomUUID(),
        name,
        kind,
        paused,
        url,
        host: asked.host ?? null,
        security,
        port: security === null ? null : (asked.port ?? usualPort[security]),
        mail_from: asked.from ?? null,
        mail_to: asked.to ?? null,
        username: user,
        created_at: at,
        updated_at: at,
      }
      demandWhole(row as store.ChannelRow, secret !== null)
      await demandAddress(row)
      try {
        return await inTransaction(db, async (tx) => {
          await demandRoom(tx, 'channel', channelLimit)
          const made = present(
            await store.insertChannel(tx, {
              ...row,
              secret_sealed: secret === null ? null : await seal(tx, row.id, secret),
            }),
          )
          await record(tx, caller, {
            action: 'channel.created',
            target: { kind: 'channel', id: made.id, name: made.name },
            after: made,
            event: { version: made.version },
          })
          await wakeAlerts(engine, tx)
          return made
        })
      } catch (error) {
        throw takenOr(error)
      }
    },

    async update(
      caller: Caller,
      id: string,
      change: ChannelChange,
      ifMatch: Versions,
    ): Promise<Channel> {
      const read = existing(await store.findChannel(db, id), 'channel', ifMatch)
      const wrong = wrongChange(read.kind, change)
      if (wrong) throw new Problem('invalid', wrong[1], { [wrong[0]]: wrong[1] })
      const { secret, from, to, user, ...rest } = change
      const columns = {
        ...rest,
        ...(from !== undefined && { mail_from: from }),
        ...(to !== undefined && { mail_to: to }),
        ...(user !== undefined && { username: user }),
      }
      const changed = { ...read, ...columns } as store.ChannelRow
      demandWhole(changed, secret === undefined ? read.secret_sealed !== null : secret !== null)
      if ('url' in rest || 'host' in rest || 'security' in rest) await demandAddress(changed)
      try {
        return await inTransaction(db, async (tx) => {
          const before = existing(await store.lockChannel(tx, id), 'channel', ifMatch)
          const kept =
            secret === undefined
              ? canKeepSecret(
                  present(before),
                  present({ ...before, ...columns } as store.ChannelRow),
                )
              : yes
          if (!kept.ok) throw new Problem('invalid', kept.reason, { secret: kept.reason })
          const sealed =
            secret === undefined
              ? {}
              : {
                  secret_sealed: secret === null ? null : await seal(tx, id, secret),
                  ...(await formerOf(tx, before)),
                }
          const after = await store.updateChannel(tx, id, {
            ...columns,
            ...sealed,
            // Another receiver has said nothing yet.
            ...(('url' in rest || 'host' in rest || 'port' in rest) && {
              not_before: null,
              gone_since: null,
            }),
            updated_at: now(),
          })
          await record(tx, caller, {
            action: 'channel.updated',
            target: { kind: 'channel', id, name: after.name },
            before: present(before),
            after: { ...present(after), ...(secret !== undefined && { secret: 'changed' }) },
            event: { version: after.version },
          })
          await wakeAlerts(engine, tx)
          // What failed may arrive by the changed channel.
          await deliveries.hurry(tx, id, now())
          await wakeDeliveries(engine, tx, id)
          return present(after)
        })
      } catch (error) {
        throw takenOr(error)
      }
    },

    remove: (caller: Caller, id: string, ifMatch: Versions): Promise<void> =>
      inTransaction(db, async (tx) => {
        const row = existing(await store.lockChannel(tx, id), 'channel', ifMatch)
        await deliveries.drop(tx, id, 'The channel was removed', now())
        await store.remove(tx, 'channel', id)
        await record(tx, caller, {
          action: 'channel.removed',
          target: { kind: 'channel', id, name: row.name },
          before: present(row),
          event: { version: row.version + 1 },
        })
      }),

    /** Sends a test message now, and records it as a delivery with one attempt. */
    async test(
      caller: Caller,
      id: string,
      signal: AbortSignal,
    ): Promise<Answer<typeof channelTest>> {
      const row = existing(await store.findChannel(db, id), 'channel')
      const at = now()
      const deliveryId = randomUUID()
      const began = performance.now()
      const outcome = await send(
        await open(db, row),
        { id: deliveryId, at, content: testContent },
        { policy, tracing, origin: config.publicUrl, now: at, signal },
      )
      const { problem, status, answer, recipients = [] } = outcome
      const took_ms = Math.round(performance.now() - began)
      await inTransaction(db, async (tx) => {
        const locked = existing(await store.lockChannel(tx, id), 'channel')
        await note(tx, locked, outcome, now())
        await deliveries.insert(tx, {
          id: deliveryId,
          channel_id: id,
          channel_name: locked.name,
          test: true,
          subject: subjectOf(testContent),
          content: JSON.stringify(testContent),
          next_at: at,
          expires_at: at,
          created_at: at,
        })
        await deliveries.attempted(
          tx,
          { delivery_id: deliveryId, number: 1, at, took_ms, problem, status, answer },
          {
            next_at: null,
            at: now(),
            arrived: recipients.some((one) => one.problem === null) || problem === null,
            problem,
          },
        )
        if (recipients.length > 0) {
          const addresses = recipients.map((one) => one.address)
          await recipientRows.follow(tx, deliveryId, addresses, at)
          for (const { isFinal: _final, ...one } of recipients)
            await recipientRows.tried(tx, deliveryId, {
              ...one,
              attempts: 1,
              next_at: null,
              arrived: one.problem === null,
            })
        }
        await record(tx, caller, {
          action: 'channel.tested',
          target: { kind: 'channel', id, name: locked.name },
          after: { ...(problem !== null && { problem }) },
          event: { name: 'delivery.created', object: { kind: 'delivery', id: deliveryId } },
        })
        // The channel works again: what waits for its next attempt is sent now.
        if (problem === null) {
          await wakeAlerts(engine, tx)
          await deliveries.hurry(tx, id, now())
          await wakeDeliveries(engine, tx, id)
        }
      })
      return { ok: problem === null, problem, status, answer, took_ms, delivery_id: deliveryId }
    },
  }

  /** The former signing secret of a webhook, under which messages are signed too for a while. */
  async function formerOf(tx: Tx, before: store.ChannelRow) {
    if (before.kind !== 'webhook' || before.secret_sealed === null) return {}
    const bytes = await vault.open(tx, {
      ...place('secret_sealed', before.id),
      sealed: before.secret_sealed,
    })
    return {
      former_sealed: await vault.seal(tx, { ...place('former_sealed', before.id), bytes }),
      former_until: new Date(clock.now() + rotationMs),
    }
  }
}
