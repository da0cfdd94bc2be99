/** Decides what is sent, and makes the messages, in one transaction under the fence. */
import type { Tx } from '../../db/db.ts'
import { system } from '../../http/caller.ts'
import type { Outcome, Reconciler } from '../../engine/engine.ts'
import type { Platform } from '../../platform.ts'
import type { Clusters } from '../clusters/api.ts'
import type { SilenceTerms } from '#contract/alerts/silences.ts'
import type { Incidents, StandingFinding, StandingIncident } from '../incidents/api.ts'
import type { Operations } from '../operations/api.ts'
import type { Servers } from '../servers/api.ts'
import { alertQueue } from './api.ts'
import {
  decide,
  type Decision,
  type Event,
  rulesAbout,
  silenceOf,
  silencesInForce,
} from './deciding.ts'
import { keepTryingMs, wakeDeliveries } from './delivering.ts'
import { afterSteps, type Conditions, explainedBy } from './explaining.ts'
import { contentOf, itemOf, subjectOf } from './message.ts'
import { termsOf } from './rules.ts'
import * as deliveries from './store-deliveries.ts'
import * as store from './store.ts'

interface AlertParts extends Pick<Platform, 'db' | 'engine' | 'tell'> {
  readonly incidents: Pick<Incidents, 'standing' | 'told'>
  readonly operations: Pick<Operations, 'touched'>
  readonly servers: Pick<Servers, 'conditions'>
  readonly clusters: Pick<Clusters, 'conditions'>
}

/**
 * Incidents that one decision notes as told, of all channels: with more of them the transaction would
 * take minutes. A channel's message isn't split.
 */
const mostWritten = 20_000

/** What the story of an incident says of a message. */
const saidTold: Readonly<Record<Event, (channel: string) => string>> = {
  began: (channel) => `A message went to ${channel}.`,
  reminder: (channel) => `A reminder went to ${channel}.`,
  ended: (channel) => `${channel} was told that it is over.`,
}

type ToldRows = readonly {
  readonly incident_id: string
  readonly finding_id: string | null
}[]

/** What a receiver knows by the finding that it was told of, it is told of by that again. */
function contentFor({ tell }: Decision, told: ToldRows) {
  const known = new Map(told.map((one) => [one.incident_id, one.finding_id]))
  return contentOf(
    tell.map(({ incident, event }) =>
      itemOf(
        incident,
        event,
        event === 'began'
          ? incident.cause
          : incident.parts.find(({ id }) => id === known.get(incident.id)),
      ),
    ),
  )
}

/** Notes what the channel is told, and adds it to the stories. */
async function noteTold(
  tx: Tx,
  incidents: Pick<Incidents, 'told'>,
  channel: Pick<store.ChannelRow, 'id' | 'name'>,
  { tell }: Decision,
  now: Date,
): Promise<void> {
  const [ends, begins] = [true, false].map((isEnd) =>
    tell.filter((one) => (one.event === 'ended') === isEnd).map((one) => one.incident),
  ) as [StandingIncident[], StandingIncident[]]
  const told = begins.map(({ id, cause }) => ({ id, findingId: cause.id }))
  await deliveries.tell(tx, channel.id, told, now)
  const over = ends.map(({ id }) => id)
  await deliveries.tellEnd(tx, channel.id, over, now)
  const steps = tell.map(({ incident: { id }, event }) => ({
    id,
    text: saidTold[event](channel.name),
  }))
  await incidents.told(tx, steps, now)
}

const nothing: Conditions = { servers: [], clusters: [] }

export const alerting = ({
  engine,
  tell,
  incidents,
  operations,
  servers,
  clusters,
}: AlertParts): Reconciler => ({
  queue: alertQueue,
  async reconcile(job) {
    // Read before the transaction, because this takes a connection of its own.
    const { unwell } = await servers.conditions()
    const clusterOf = new Map(unwell.map(({ id, cluster }) => [id, cluster]))
    return job.fence.write(async (tx): Promise<Outcome> => {
      const now = new Date(job.now())
      const channels = (await store.channels(tx)).filter(
        (channel) => !channel.paused && channel.gone_since === null,
      )
      if (channels.length === 0) return undefined
      const rules = await store.rules(tx)
      const inForce = await silencesInForce((await store.silencesAfter(tx, now)).map(termsOf), now)
      const made = await deliveries.lastMade(tx)
      const standing = await incidents.standing(tx, await deliveries.toldIds(tx))
      const touched = await operations.touched(tx, afterSteps(now))
      const explained = explainedBy(
        touched,
        standing.flatMap(({ parts }) => parts),
        touched.length === 0
          ? nothing
          : { servers: unwell, clusters: await clusters.conditions(tx) },
      )
      const ofServer = (id: string) => clusterOf.get(id) ?? null
      const silences = new Map<string, SilenceTerms | undefined>()
      const silenced = (finding: StandingFinding): SilenceTerms | undefined => {
        if (!silences.has(finding.id))
          silences.set(finding.id, silenceOf(finding, inForce, ofServer))
        return silences.get(finding.id)
      }
      const about = rulesAbout(rules, ofServer)
      let again = Infinity
      let written = 0
      for (const channel of channels) {
        // The next decision goes on with the other channels, of which it finds the same.
        if (written >= mostWritten) {
          again = now.getTime()
          break
        }
        const told = await deliveries.toldOf(tx, channel.id)
        const decision = await decide(
          standing,
          {
            id: channel.id,
            reminds: channel.kind !== 'alertmanager',
            last: made.get(channel.id) ?? null,
            told: new Map(told.map((one) => [one.incident_id, one])),
          },
          { about, silenced, explained, now },
        )
        if (decision.again) again = Math.min(again, decision.again.getTime())
        written += decision.over.length + decision.tell.length
        if (decision.over.length > 0) await deliveries.tellEnd(tx, channel.id, decision.over, now)
        if (decision.tell.length === 0) continue
        // The next decision, made at once, says when this is to be reminded of.
        again = now.getTime()
        const content = contentFor(decision, told)
        // The oldest message that waits goes first, so that an end doesn't arrive before its begin.
        await deliveries.hurryOldest(tx, channel.id, now)
        const { id } = await deliveries.insert(tx, {
          channel_id: channel.id,
          channel_name: channel.name,
          subject: subjectOf(content),
          content: JSON.stringify(content),
          next_at: now,
          expires_at: new Date(now.getTime() + keepTryingMs),
          created_at: now,
        })
        await noteTold(tx, incidents, channel, decision, now)
        await wakeDeliveries(engine, tx, channel.id)
        await tell(tx, system, { name: 'delivery.created', object: { kind: 'delivery', id } })
      }
      return again === Infinity ? undefined : { againMs: Math.max(0, again - now.getTime()) }
    })
  },
})
