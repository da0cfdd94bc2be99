import { expect, test } from 'vitest'
import type { MemberRow } from '../store.ts'
import { buildMember } from '../testing/rows.ts'
import { decideBlind, decideServer, patienceMs } from './decide-server.ts'
import { minute, mostSends, type Seen, settleMs } from './acts.ts'
import { fresh, around, now, maintenance, sent, dark, secured, healthy } from './testing.ts'

test('a server is not contacted before the cluster has its secrets and the server has a configuration', () => {
  expect(decideBlind(fresh, { ...around, secrets: false }, false)).toMatchObject({
    act: 'wait',
    at: 'config',
  })
  expect(decideBlind(fresh, around, false)).toEqual({ act: 'render', at: 'config' })
  expect(decideBlind(fresh, around, true)).toBeNull()
})

test('a worker gets its configuration only after trustd answers', () => {
  const worker: MemberRow = { ...fresh, role: 'worker' }
  expect(decideBlind(worker, around, true)).toMatchObject({
    act: 'wait',
    at: 'apply',
    reason: expect.stringContaining('trustd'),
  })
  expect(decideBlind(worker, { ...around, controlPlaneAt: new Date(now) }, true)).toBeNull()
  expect(
    decideServer(worker, { ...around, controlPlaneAt: new Date(now) }, maintenance),
  ).toMatchObject({ act: 'apply' })
})

test('a server in maintenance gets its configuration', () => {
  expect(decideServer(fresh, around, maintenance)).toEqual({
    act: 'apply',
    at: 'apply',
    reason: null,
  })
})

test('after a crash before the response, the same configuration is sent again at once', () => {
  expect(decideServer({ ...sent, sent_at: null }, around, maintenance)).toMatchObject({
    act: 'apply',
  })
})

test('an accepted configuration is not sent again until the server has had time to apply it', () => {
  expect(decideServer(sent, around, maintenance)).toMatchObject({ act: 'wait', at: 'install' })
  expect(
    decideServer({ ...sent, sent_at: new Date(now - settleMs) }, around, maintenance),
  ).toMatchObject({ act: 'apply' })
})

test('a server that returns in maintenance has failed to install, and receives its configuration again a limited number of times', () => {
  expect(
    decideServer({ ...sent, left_at: new Date(now), sends: 1 }, around, maintenance),
  ).toMatchObject({ act: 'apply' })
  expect(
    decideServer({ ...sent, left_at: new Date(now), sends: mostSends }, around, maintenance),
  ).toMatchObject({ act: 'fail', at: 'install' })
  expect(
    decideServer(
      { ...sent, left_at: new Date(now), sends: mostSends, trouble: 'i/o error' },
      around,
      maintenance,
    ),
  ).toMatchObject({
    reason: 'web-1 came back in maintenance after 5 installations: i/o error',
  })
})

test.each(['foreign', 'stranger'] as const)(
  'nothing is sent to a machine whose identity is %s',
  (kind) => {
    expect(decideServer(fresh, around, { kind, reason: 'not it' })).toMatchObject({
      act: 'fail',
      at: 'apply',
    })
  },
)

test('a server that answers with a foreign certificate does not count as installed', () => {
  const foreign: Seen = { kind: 'foreign', reason: 'not signed by the expected authority' }
  expect(decideServer(sent, around, foreign)).toMatchObject({ act: 'wait', at: 'install' })
  expect(decideServer({ ...sent, at: 'boot' }, around, foreign)).toMatchObject({
    act: 'wait',
    at: 'boot',
  })
})

test('a server that is silent during its installation shows when it was last seen', () => {
  expect(decideServer(sent, around, dark)).toEqual({
    act: 'wait',
    at: 'install',
    reason: 'Installing, last seen 14:06 UTC: connection refused',
  })
  expect(decideServer({ ...sent, stage: 'rebooting' }, around, dark)).toEqual({
    act: 'wait',
    at: 'boot',
    reason: 'Restarting, last seen 14:06 UTC: connection refused',
  })
})

test('a control plane waits for its etcd, then for Kubernetes to report it Ready', () => {
  expect(decideServer(sent, around, secured('booting'))).toMatchObject({
    act: 'wait',
    at: 'etcd',
    reason: expect.stringContaining('first control plane that answers'),
  })
  const begun = { ...around, bootstrap: { name: 'web-2', confirmedAt: null } }
  expect(decideServer(sent, begun, secured('booting'))).toMatchObject({
    at: 'etcd',
    reason: 'Waiting for etcd to be started on web-2',
  })
  expect(decideServer(sent, around, secured('booting', { etcd: healthy }))).toEqual({
    act: 'wait',
    at: 'join',
    reason: 'Waiting to be Ready in Kubernetes',
  })
})

test('problems of a machine are reported with the message of Talos', () => {
  const unmet = [
    { name: 'time', reason: 'time is not synced' },
    { name: 'services', reason: 'kubelet not running' },
    { name: 'nodeReady', reason: 'node "web-1" is not ready' },
  ]
  const worker: MemberRow = { ...sent, role: 'worker', secured_at: new Date(now) }
  expect(decideServer(worker, around, { ...secured('running', {}), unmet } as Seen)).toMatchObject({
    at: 'join',
    reason: 'Waiting to be Ready in Kubernetes: time is not synced and kubelet not running',
  })
  expect(
    decideServer(sent, { ...around, bootstrap: { name: 'web-1', confirmedAt: null } }, {
      ...secured('booting'),
      unmet,
    } as Seen),
  ).toMatchObject({
    at: 'etcd',
    reason: 'Waiting for etcd to be started on web-1: time is not synced',
  })
})

test('a server whose clock is wrong counts as answering', () => {
  const clock: Seen = {
    kind: 'dark',
    reason: 'by its certificate its clock is at least 61 minutes ahead of ours',
    answers: true,
  }
  expect(decideServer(sent, around, clock)).toEqual({
    act: 'wait',
    at: 'boot',
    reason: `web-1 answers, but ${clock.reason}`,
  })
  expect(decideServer({ ...sent, wanted: 'released' }, around, clock)).toMatchObject({
    act: 'wait',
    at: 'reset',
    reason: expect.stringContaining(`web-1 answers, but ${clock.reason}; `),
  })
})

test('a server whose secured API answers before a restart was seen still counts as installing', () => {
  expect(decideServer(sent, around, secured('booting', {}))).toMatchObject({
    act: 'wait',
    at: 'install',
  })
  // After a restart was seen, Talos is installed, so a brief answer belongs to the boot and not to
  // the installation.
  expect(decideServer({ ...sent, at: 'boot' }, around, secured('booting', {}))).toMatchObject({
    act: 'wait',
    at: 'boot',
  })
})

test('a server that reports the stage installing or rebooting over the secured API does not count as started', () => {
  expect(decideServer(sent, around, secured('installing'))).toMatchObject({
    act: 'wait',
    at: 'install',
  })
  expect(decideServer(sent, around, secured('rebooting'))).toMatchObject({
    act: 'wait',
    at: 'boot',
  })
})

test('a server that lost its configuration receives a new one only after a user decides so', () => {
  expect(
    decideServer({ ...sent, at: 'etcd', secured_at: new Date(now - 9000) }, around, maintenance),
  ).toMatchObject({
    act: 'fail',
    reason: expect.stringContaining('lost its configuration'),
  })
})

test('the time in which Steelyard did not run does not count towards the time limits', () => {
  const installing = { ...sent, at_since: new Date(now - 86_400_000) }
  expect(decideServer(installing, { ...around, upMs: 60_000 }, dark)).toMatchObject({
    act: 'wait',
    at: 'install',
  })
  expect(decideServer(installing, { ...around, upMs: patienceMs.install! }, dark)).toMatchObject({
    act: 'fail',
    at: 'install',
  })
})

test('nothing is sent to a server that waits for its turn in a change, and it is released at once if the change is cancelled', () => {
  const waits = buildMember({ waits: true })
  expect(decideBlind(waits, around, true)).toMatchObject({ act: 'rest' })
  expect(decideBlind({ ...waits, wanted: 'released' }, around, true)).toMatchObject({
    act: 'release',
  })
})

test('a clock that jumps a day ahead or back does not change the time limits', () => {
  const installing = { ...sent, at_since: new Date(now - 60_000) }
  const ahead = { ...around, now: now + 86_400_000, steadySince: now + 86_400_000 - 5_000 }
  expect(decideServer(installing, ahead, dark)).toMatchObject({ act: 'wait', at: 'install' })
  const back = { ...around, now: now - 86_400_000, steadySince: now - 86_400_000 - 5_000 }
  expect(decideServer(installing, back, dark)).toMatchObject({ act: 'wait', at: 'install' })
  const longAfter = { ...back, now: back.now + patienceMs.install! }
  expect(decideServer(installing, longAfter, dark)).toMatchObject({
    act: 'fail',
    at: 'install',
    reason: expect.stringContaining('Not done after 30 min') as string,
  })
})

test('a wait that exceeds its limit fails with its reason, but waiting for other servers has no limit', () => {
  const late = { ...sent, at_since: new Date(now - patienceMs.install!) }
  expect(decideServer(late, around, dark)).toEqual({
    act: 'fail',
    at: 'install',
    reason: 'Not done after 30 min. Installing, last seen 14:06 UTC: connection refused',
  })
  const waiting: MemberRow = {
    ...sent,
    at: 'etcd',
    secured_at: new Date(now - 9000),
    at_since: new Date(now - 10 * patienceMs.etcd!),
  }
  expect(decideServer(waiting, around, secured('booting'))).toMatchObject({
    act: 'wait',
    at: 'etcd',
  })
  // The server's own time limit starts when the other servers are done.
  const begun = { ...around, bootstrap: { name: 'web-2', confirmedAt: new Date(now - 60_000) } }
  expect(decideServer(waiting, begun, secured('booting'))).toMatchObject({
    act: 'wait',
    at: 'etcd',
  })
  expect(
    decideServer(waiting, { ...begun, now: now + patienceMs.etcd! }, secured('booting')),
  ).toMatchObject({ act: 'fail', at: 'etcd' })
  const joining: MemberRow = { ...waiting, role: 'worker', at: 'join' }
  expect(decideServer(joining, around, secured('running'))).toMatchObject({
    act: 'wait',
    at: 'join',
  })
  expect(
    decideServer(
      joining,
      { ...around, controlPlaneAt: new Date(now - 60_000) },
      secured('running'),
    ),
  ).toMatchObject({ act: 'wait', at: 'join' })
  expect(
    decideServer(
      joining,
      { ...around, controlPlaneAt: new Date(now - patienceMs.join!) },
      secured('running'),
    ),
  ).toEqual({
    act: 'fail',
    at: 'join',
    reason: 'Not done after 30 min. Waiting to be Ready in Kubernetes',
  })
})

test('if the kubelet has stopped, the reason includes its last message', () => {
  const worker: MemberRow = { ...sent, role: 'worker', secured_at: new Date(now) }
  const kubelet = {
    state: 'Failed',
    healthy: false,
    message: 'Failed running service: exit code 1',
  }
  expect(
    decideServer(worker, around, {
      ...secured('booting', { kubelet }),
      unmet: [{ name: 'services', reason: 'kubelet not running' }],
    } as Seen),
  ).toMatchObject({
    at: 'join',
    reason:
      'Waiting to be Ready in Kubernetes: kubelet not running; kubelet: Failed running service: exit code 1',
  })
})

test('a control plane whose etcd Talos has given up is restarted once if it has no data of etcd, otherwise a person has to', () => {
  const message = 'Failed to run pre stage: failed to build initial etcd cluster: timeout'
  const failed = { state: 'Failed', healthy: false, message }
  const seen = (hasData: boolean | null) => secured('booting', { etcd: { ...failed, hasData } })
  const joining: MemberRow = { ...sent, at: 'etcd', secured_at: new Date(now - 40 * minute) }
  const there = { ...around, bootstrap: { name: 'db-1', confirmedAt: new Date(now - 1000) } }
  const ill = `etcd is Failed: ${message}. Talos does not start it again before the server restarts`
  expect(decideServer(joining, there, seen(false))).toEqual({
    act: 'restart-for-etcd',
    at: 'etcd',
    reason: `${ill}. web-1 has no data of etcd yet, so it is restarted, once`,
  })
  // Nothing to join yet, an etcd that Talos starts again, and a restart that is going on.
  expect(decideServer(joining, around, seen(false))).toMatchObject({ act: 'wait' })
  const ends = secured('booting', { etcd: { ...failed, message: 'Failed running service: x' } })
  expect(decideServer(joining, there, ends)).toMatchObject({ act: 'wait' })
  const restarted = (agoMs: number) => ({ ...joining, etcd_restart_at: new Date(now - agoMs) })
  expect(decideServer(restarted(minute), there, seen(false))).toMatchObject({ act: 'wait' })
  // With data, with data that can't be read, after it was a member, or a second time.
  const asks = { act: 'fail', at: 'etcd', reason: `${ill}. Restart web-1, then retry` }
  expect(decideServer(joining, there, seen(true))).toEqual(asks)
  expect(decideServer(joining, there, seen(null))).toEqual(asks)
  expect(decideServer({ ...joining, etcd_at: new Date(now) }, there, seen(false))).toEqual(asks)
  expect(decideServer(restarted(31 * minute), there, seen(false))).toEqual(asks)
})

test('a learner of etcd that Talos no longer tries to promote fails, with what to do', () => {
  const learner = (learnerMs: number) =>
    secured('booting', {
      etcd: {
        state: 'Running',
        healthy: false,
        message: 'rpc not supported for learner',
        learnerMs,
      },
    })
  const joining: MemberRow = { ...sent, at: 'etcd', secured_at: new Date(now - 20 * minute) }
  expect(decideServer(joining, around, learner(10 * minute))).toMatchObject({ act: 'wait' })
  expect(decideServer(joining, around, learner(11 * minute))).toEqual({
    act: 'fail',
    at: 'etcd',
    reason:
      'web-1 has been a learner of etcd for 11 min, and Talos no longer tries to promote it, not even after a restart. Replace the server, or remove it and add it again',
  })
})

test('a kubelet that Talos has given up is started again', () => {
  const message = 'Failed to run pre stage: failed to pull image "kubelet:v1": not found'
  const kubelet = { state: 'Failed', healthy: false, message }
  const joining: MemberRow = { ...sent, role: 'worker', at: 'join', secured_at: new Date(now) }
  expect(decideServer(joining, around, secured('running', { kubelet }))).toEqual({
    act: 'start-kubelet',
    at: 'join',
    reason: `kubelet is Failed: ${message}. It is started again`,
  })
})
