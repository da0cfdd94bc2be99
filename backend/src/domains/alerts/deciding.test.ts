import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { alertRuleLimit } from '#contract/alerts/rules.ts'
import { mostSilences, type SilenceTerms } from '#contract/alerts/silences.ts'
import { costOf, longestTurnMs } from '../../testing/turns.ts'
import type { StandingFinding, StandingIncident } from '../incidents/api.ts'
import {
  type ChannelView,
  decide,
  rulesAbout,
  type RuleTerms,
  silenceOf as silenceAbout,
  silencesInForce,
  type Told,
} from './deciding.ts'

const minute = 60_000
const hour = 60 * minute
const start = Date.parse('2026-11-27T03:00:00Z')
const time = (ms: number) => new Date(start + ms)

const findingOf = (more: Partial<StandingFinding> = {}): StandingFinding => ({
  id: randomUUID(),
  kind: 'server_unreachable',
  severity: 'down',
  object: { kind: 'server', id: randomUUID(), name: 'web-1' },
  cluster: null,
  datacenter: null,
  since: time(0).toISOString(),
  reason: 'No answer since 03:00 UTC.',
  remedies: [],
  acknowledged: null,
  affected: null,
  caused_by: null,
  incident_id: null,
  ended_at: null,
  count: 1,
  began_at: time(0),
  begins: [time(0)],
  silent: [],
  ...more,
})
const ruleOf = (more: Partial<RuleTerms> = {}): RuleTerms => ({
  severities: ['down', 'degraded'],
  kinds: [],
  datacenter_ids: [],
  cluster_ids: [],
  channel_ids: null,
  wait_minutes: 0,
  digest_at: null,
  remind_hours: 4,
  paused: false,
  ...more,
})
const silenceOf = (more: Partial<SilenceTerms> = {}): SilenceTerms => ({
  severities: [],
  kinds: [],
  datacenter_ids: [],
  cluster_ids: [],
  object: null,
  starts_at: time(0).toISOString(),
  ends_at: time(hour).toISOString(),
  repeats: null,
  ...more,
})

/** Each finding is an incident of its own; a server that fell silent with others, part of theirs. */
const incidentOf = (finding: StandingFinding): StandingIncident => ({
  id: finding.id,
  title: `${finding.object.name} does not answer`,
  effect: 'one_server',
  severity: 'degraded',
  since: finding.since,
  ended_at: finding.ended_at,
  remedies: [],
  cause: finding,
  worst: null,
  parts: [finding],
  begins: finding.begins,
  isAssigned: finding.acknowledged !== null,
  merged_into: finding.ended_at === null ? null : finding.caused_by,
})

/** A channel that remembers what it was told, and a clock that jumps to the next decision. */
function channelOf({ id = randomUUID(), reminds = true } = {}) {
  const told = new Map<string, Told>()
  let last: Date | null = null
  const messages: { at: number; told: string[] }[] = []
  return {
    id,
    messages,
    async at(
      ms: number,
      findings: readonly StandingFinding[],
      more: {
        rules?: readonly RuleTerms[]
        silences?: readonly SilenceTerms[]
        explained?: (finding: StandingFinding) => boolean
        clusterOf?: (serverId: string) => StandingFinding['cluster']
      } = {},
    ): Promise<Date | null> {
      const now = time(ms)
      const { silences = [], clusterOf = () => null, rules = [ruleOf()], ...others } = more
      const inForce = await silencesInForce(silences, now)
      const view: ChannelView = { id, reminds, last, told }
      const { tell, over, again } = await decide(findings.map(incidentOf), view, {
        about: rulesAbout(rules, clusterOf),
        silenced: (finding) => silenceAbout(finding, inForce, clusterOf),
        explained: () => false,
        now,
        ...others,
      })
      for (const one of over) told.set(one, { ...told.get(one)!, ended_at: now })
      for (const { incident, event } of tell)
        told.set(
          incident.id,
          event === 'ended'
            ? { ...told.get(incident.id)!, ended_at: now }
            : { told_at: now, again: false, ended_at: null },
        )
      if (tell.length > 0) {
        last = now
        messages.push({ at: ms, told: tell.map((one) => one.event) })
      }
      return again
    },
  }
}
type Talk = ReturnType<typeof channelOf>
/** Runs decisions from `from` until `to`, also when one asks for it. */
async function run(
  channel: Talk,
  [from, to]: readonly [number, number],
  findings: (ms: number) => readonly StandingFinding[],
  more: Parameters<Talk['at']>[2] = {},
): Promise<void> {
  for (let ms = from; ms <= to;) {
    const again = await channel.at(ms, findings(ms), more)
    const next = again ? again.getTime() - start : Infinity
    ms = Math.min(Math.max(next, ms + 1), ms + 15_000)
  }
}

test('a finding is told once, half a minute after it began, and again after the reminder interval', async () => {
  const channel = channelOf()
  const finding = findingOf()
  await run(channel, [0, 9 * hour], () => [finding])
  expect(channel.messages).toEqual([
    { at: 30_000, told: ['began'] },
    { at: 30_000 + 4 * hour, told: ['reminder'] },
    { at: 30_000 + 8 * hour, told: ['reminder'] },
  ])
})

test('the next decision is asked for at the time when it changes something', async () => {
  const channel = channelOf()
  const finding = findingOf()
  expect(await channel.at(0, [finding])).toEqual(time(30_000))
  expect(await channel.at(30_000, [finding])).toBeNull()
  expect(await channel.at(30_001, [finding])).toEqual(time(30_000 + 4 * hour))
})

test('a thousand servers that vanish within a minute are at most two messages', async () => {
  const channel = channelOf()
  const servers = Array.from({ length: 1000 }, (_, i) =>
    findingOf({ began_at: time(i * 60), begins: [time(i * 60)] }),
  )
  await run(channel, [0, 10 * minute], (ms) => servers.filter((s) => s.began_at <= time(ms)))
  expect(channel.messages).toHaveLength(2)
  expect(channel.messages.flatMap((m) => m.told)).toHaveLength(1000)
})

test('a server whose silence becomes one with that of others is not told on its own', async () => {
  const channel = channelOf()
  const group = findingOf({
    kind: 'datacenter_silent',
    began_at: time(15_000),
    begins: [time(15_000)],
  })
  const early = findingOf()
  const ended = { ...early, ended_at: time(15_000).toISOString(), caused_by: group.id }
  await run(channel, [0, hour], (ms) => (ms < 15_000 ? [early] : [ended, group]))
  expect(channel.messages).toEqual([{ at: 45_000, told: ['began'] }])
  // Told on its own before: the end of the group tells its end.
  const other = channelOf()
  const late = { ...ended, ended_at: time(minute).toISOString() }
  const over = { ...group, began_at: time(minute), begins: [time(minute)] }
  await run(other, [0, 2 * hour], (ms) =>
    ms < minute
      ? [early]
      : [late, { ...over, ended_at: ms < hour ? null : time(hour).toISOString() }],
  )
  expect(other.messages).toEqual([
    { at: 30_000, told: ['began'] },
    { at: 3 * minute, told: ['began'] },
    { at: hour + 5 * minute, told: ['ended'] },
  ])
})

test('the end of a server is told on its own if its channel never heard of the silence of all', async () => {
  const channel = channelOf()
  const group = findingOf({ kind: 'datacenter_silent', severity: 'degraded' })
  const server = findingOf()
  const ended = { ...server, ended_at: time(minute).toISOString(), caused_by: group.id }
  const rules = [ruleOf({ severities: ['down'] })]
  // What ended without having been told is not read again.
  await run(
    channel,
    [0, 2 * hour],
    (ms) => (ms < minute ? [server] : ms < hour ? [ended, group] : [ended]),
    { rules },
  )
  expect(channel.messages).toEqual([
    { at: 30_000, told: ['began'] },
    { at: hour, told: ['ended'] },
  ])
})

test('a rule about servers or clusters is also about servers that fell silent together', async () => {
  const [web, db] = ['web', 'db'].map((name) => ({ id: randomUUID(), name }))
  const silent = ['a', 'b'].map((name) => ({ id: randomUUID(), name }))
  const group = findingOf({
    kind: 'datacenter_silent',
    object: { kind: 'datacenter', id: randomUUID(), name: 'DE-FRA-1' },
    silent,
  })
  const clusterOf = (id: string) => (id === silent[0]!.id ? web! : null)
  const told = async (
    rule: Partial<RuleTerms>,
    silences: readonly SilenceTerms[] = [],
  ): Promise<boolean> => {
    const channel = channelOf()
    await channel.at(minute, [group], { rules: [ruleOf(rule)], silences, clusterOf })
    return channel.messages.length === 1
  }
  expect(await told({ cluster_ids: [web!.id] })).toBe(true)
  expect(await told({ cluster_ids: [db!.id] })).toBe(false)
  expect(await told({ kinds: ['server_unreachable'] })).toBe(true)
  expect(await told({ kinds: ['server_failed'] })).toBe(false)
  // A silence holds it back only if each of its servers is silenced.
  const ofWeb = silenceOf({ cluster_ids: [web!.id] })
  expect(await told({}, [ofWeb])).toBe(true)
  expect(await told({}, [ofWeb, silenceOf({ object: { id: silent[1]!.id } })])).toBe(false)
})

test('a finding of a clock that is ahead is told at once', async () => {
  const channel = channelOf()
  await channel.at(0, [findingOf({ began_at: time(2 * hour), begins: [time(2 * hour)] })], {
    rules: [ruleOf({ wait_minutes: 10 })],
  })
  expect(channel.messages).toEqual([{ at: 0, told: ['began'] }])
})

test('a flapping server is one message when it begins and one when it has been calm for an hour', async () => {
  const channel = channelOf()
  const id = randomUUID()
  // Down for a minute, up for four, twelve times.
  const cycle = 5 * minute
  const at = (ms: number): StandingFinding => {
    const n = Math.min(Math.floor(ms / cycle), 11)
    const begins = Array.from({ length: n + 1 }, (_, i) => time(i * cycle))
    const end = n * cycle + minute
    return findingOf({
      id,
      count: n + 1,
      begins,
      began_at: time(n * cycle),
      ended_at: ms >= end ? time(end).toISOString() : null,
    })
  }
  await run(channel, [0, 4 * hour], (ms) => [at(ms)])
  expect(channel.messages).toEqual([
    { at: 30_000, told: ['began'] },
    { at: 11 * cycle + minute + hour, told: ['ended'] },
  ])
})

test('the end of a finding is sent after five minutes, and a finding that ended before it was sent never is', async () => {
  const channel = channelOf()
  const finding = findingOf()
  const end = 2 * minute
  await run(channel, [0, hour], (ms) => [
    ms < end ? finding : { ...finding, ended_at: time(end).toISOString() },
  ])
  expect(channel.messages).toEqual([
    { at: 30_000, told: ['began'] },
    { at: end + 5 * minute, told: ['ended'] },
  ])
  const quick = channelOf()
  await run(quick, [0, hour], (ms) => [
    ms < 20_000 ? finding : { ...finding, ended_at: time(20_000).toISOString() },
  ])
  expect(quick.messages).toEqual([])
})

test('what begins again after its end was told is told again', async () => {
  const channel = channelOf()
  const finding = findingOf()
  const again = 20 * minute
  await run(channel, [0, hour], (ms) => [
    ms < minute
      ? finding
      : ms < again
        ? { ...finding, ended_at: time(minute).toISOString() }
        : { ...finding, count: 2, began_at: time(again), begins: [time(0), time(again)] },
  ])
  expect(channel.messages).toEqual([
    { at: 30_000, told: ['began'] },
    { at: 6 * minute, told: ['ended'] },
    { at: again + 30_000, told: ['began'] },
  ])
})

test('an acknowledged finding is not repeated, and its end is told', async () => {
  const channel = channelOf()
  const finding = findingOf()
  const acknowledged = { by: 'ops@example.com', at: time(hour).toISOString(), note: null }
  const end = 10 * hour
  await run(channel, [0, 12 * hour], (ms) => [
    {
      ...finding,
      acknowledged: ms >= hour ? acknowledged : null,
      ended_at: ms >= end ? time(end).toISOString() : null,
    },
  ])
  expect(channel.messages).toEqual([
    { at: 30_000, told: ['began'] },
    { at: end + 5 * minute, told: ['ended'] },
  ])
})

test('the daily rule tells what is open once a day, and nothing on a day without findings', async () => {
  const channel = channelOf()
  const rules = [ruleOf({ severities: ['attention'], digest_at: '07:00', remind_hours: null })]
  const finding = findingOf({ kind: 'cluster_snapshot_overdue', severity: 'attention' })
  const end = 40 * hour
  const urgent = findingOf()
  await run(
    channel,
    [0, 100 * hour],
    (ms) => [urgent, { ...finding, ended_at: ms >= end ? time(end).toISOString() : null }],
    { rules },
  )
  expect(channel.messages).toEqual([
    { at: 4 * hour, told: ['began'] },
    { at: 28 * hour, told: ['reminder'] },
    { at: end + 5 * minute, told: ['ended'] },
  ])
})

test('a rule waits as long as it says, and goes to its channels only', async () => {
  const channel = channelOf()
  const other = channelOf()
  const rules = [ruleOf({ wait_minutes: 10, channel_ids: [channel.id] })]
  const finding = findingOf()
  for (const one of [channel, other]) await run(one, [0, hour], () => [finding], { rules })
  expect(channel.messages).toEqual([{ at: 10 * minute + 30_000, told: ['began'] }])
  expect(other.messages).toEqual([])
  const paused = channelOf()
  await run(paused, [0, hour], () => [finding], { rules: [ruleOf({ paused: true })] })
  expect(paused.messages).toEqual([])
})

test('a channel gets no message about its own failure, and other channels do', async () => {
  const [channel, other] = [channelOf(), channelOf()]
  const object = { kind: 'channel', id: channel.id, name: 'office' } as const
  const finding = findingOf({ kind: 'channel_fails', object, cluster: null })
  for (const one of [channel, other]) await run(one, [0, hour], () => [finding])
  expect([channel, other].map((one) => one.messages.length)).toEqual([0, 1])
})

test('of two rules that match, the first one counts, and a finding is sent once', async () => {
  const channel = channelOf()
  const rules = [ruleOf({ wait_minutes: 30 }), ruleOf({ wait_minutes: 5 })]
  await run(channel, [0, hour], () => [findingOf({ id: 'a0000000-0000-4000-8000-000000000000' })], {
    rules,
  })
  expect(channel.messages).toEqual([{ at: 5 * minute + 30_000, told: ['began'] }])
})

test('a rule is about the severities, kinds, datacenters and clusters that it lists', async () => {
  const cluster = { id: randomUUID(), name: 'web' }
  const datacenter = { id: randomUUID(), code: 'DE-FRA-1' }
  const told = async (
    rule: Partial<RuleTerms>,
    finding: Partial<StandingFinding>,
  ): Promise<boolean> => {
    const channel = channelOf()
    await channel.at(minute, [findingOf(finding)], { rules: [ruleOf({ severities: [], ...rule })] })
    return channel.messages.length === 1
  }
  expect(await told({ severities: ['down'] }, { severity: 'degraded' })).toBe(false)
  expect(await told({ kinds: ['server_failed'] }, {})).toBe(false)
  expect(await told({ kinds: ['server_unreachable'] }, {})).toBe(true)
  expect(await told({ cluster_ids: [cluster.id] }, {})).toBe(false)
  expect(await told({ cluster_ids: [cluster.id] }, { cluster })).toBe(true)
  expect(await told({ datacenter_ids: [datacenter.id] }, { cluster })).toBe(false)
  expect(
    await told(
      { datacenter_ids: [datacenter.id], cluster_ids: [cluster.id] },
      { cluster, datacenter },
    ),
  ).toBe(true)
})

test('a silence holds back its findings until it ends, but not the end of a finding that was sent before', async () => {
  const channel = channelOf()
  const silenced = findingOf()
  const other = findingOf()
  const before = findingOf({ began_at: time(-hour), begins: [time(-hour)] })
  await channel.at(-hour + 30_000, [before])
  const silences = [
    silenceOf({ object: { id: silenced.object.id } }),
    silenceOf({ object: { id: before.object.id } }),
  ]
  await run(
    channel,
    [0, 2 * hour],
    (ms) => [
      silenced,
      other,
      { ...before, ended_at: ms >= minute ? time(minute).toISOString() : null },
    ],
    { silences },
  )
  expect(channel.messages).toEqual([
    { at: -hour + 30_000, told: ['began'] },
    { at: 30_000, told: ['began'] },
    { at: 6 * minute, told: ['ended'] },
    { at: hour, told: ['began'] },
  ])
})

test('a thousand silences that repeat are asked once each, not for each of a thousand findings', async () => {
  const repeats = { days: ['sun' as const], from: '02:00', minutes: 60, time_zone: 'Europe/Warsaw' }
  const silences = Array.from({ length: 1000 }, () => silenceOf({ repeats }))
  const channel = channelOf()
  const findings = Array.from({ length: 1000 }, () => findingOf())
  await channel.at(minute, findings, { silences })
  expect(channel.messages).toMatchObject([{ told: { length: 1000 } }])
})

test('with as many rules and silences as there can be, each of a hundred ids, decisions about a thousand findings are made in slices', async () => {
  const ids = () => Array.from({ length: 100 }, () => randomUUID())
  const repeats = { days: ['sun' as const], from: '02:00', minutes: 60, time_zone: 'Europe/Warsaw' }
  const cluster = { id: randomUUID(), name: 'web' }
  const silences = Array.from({ length: mostSilences }, (_, i) =>
    silenceOf({ cluster_ids: ids(), ...(i % 2 === 0 && { repeats }) }),
  )
  const rules = Array.from({ length: alertRuleLimit.most - 1 }, () =>
    ruleOf({ cluster_ids: ids() }),
  )
  const findings = Array.from({ length: 1000 }, () => findingOf({ cluster }))
  const channel = channelOf()
  const { longestTurnMs: turnMs } = await costOf(() =>
    channel.at(minute, findings, { silences, rules: [...rules, ruleOf()] }),
  )
  expect(channel.messages).toMatchObject([{ told: { length: 1000 } }])
  expect(turnMs).toBeLessThan(longestTurnMs)
})

test('a silence that repeats hides only inside its weekly times', async () => {
  // 2026-11-27 is a Friday; the window opens at 03:00 UTC for an hour.
  const repeats = { days: ['fri' as const], from: '03:00', minutes: 60, time_zone: 'UTC' }
  const silences = [
    silenceOf({ severities: ['down'], repeats, ends_at: time(30 * 24 * hour).toISOString() }),
  ]
  const channel = channelOf()
  const early = findingOf()
  const nextDay = findingOf({ began_at: time(24 * hour), begins: [time(24 * hour)] })
  await run(channel, [0, 25 * hour], (ms) => (ms < 24 * hour ? [early] : [early, nextDay]), {
    silences,
    rules: [ruleOf({ remind_hours: null })],
  })
  expect(channel.messages).toEqual([
    { at: hour, told: ['began'] },
    { at: 24 * hour + 30_000, told: ['began'] },
  ])
})

test('what a running change explains is told only if it outlasts the change', async () => {
  const channel = channelOf()
  const finding = findingOf()
  let isRunning = true
  const explained = () => isRunning
  await run(channel, [0, 20 * minute], () => [finding], { explained })
  expect(channel.messages).toEqual([])
  isRunning = false
  await channel.at(20 * minute + 1, [finding], { explained })
  expect(channel.messages).toEqual([{ at: 20 * minute + 1, told: ['began'] }])
})

test('an Alertmanager is not reminded, because it repeats by its own rules', async () => {
  const channel = channelOf({ reminds: false })
  await run(channel, [0, 9 * hour], () => [
    findingOf({ id: 'a0000000-0000-4000-8000-000000000000' }),
  ])
  expect(channel.messages).toEqual([{ at: 30_000, told: ['began'] }])
})
