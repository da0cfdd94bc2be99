import { expect, test } from 'vitest'
import type { MemberRow } from '../store.ts'
import { decideBlind, decideServer } from './decide-server.ts'
import { mostResets, resetAgainMs } from './decide-leave.ts'
import { type Seen, settleMs } from './acts.ts'
import {
  fresh,
  around,
  sent,
  secured,
  now,
  maintenance,
  dark,
  healthy,
  preparing,
} from './testing.ts'

test('a server that never received a configuration is released without being contacted', () => {
  expect(decideBlind({ ...fresh, wanted: 'released' }, around, true)).toEqual({
    act: 'release',
    at: 'release',
  })
})

test('a server that received a configuration is reset before its release, and the reset is repeated only after a pause', () => {
  const leaving: MemberRow = { ...sent, wanted: 'released', at: 'reset' }
  expect(decideServer(leaving, around, secured('running'))).toEqual({
    act: 'reset',
    at: 'reset',
    graceful: false,
  })
  expect(
    decideServer(
      {
        ...leaving,
        reset_intent_at: new Date(now - 1000),
        reset_sent_at: new Date(now - 1000),
        resets: 1,
      },
      around,
      secured('running'),
    ),
  ).toMatchObject({
    act: 'wait',
    at: 'release',
  })
  expect(
    decideServer(
      {
        ...leaving,
        reset_intent_at: new Date(now - resetAgainMs),
        reset_sent_at: new Date(now - resetAgainMs),
        resets: 1,
      },
      around,
      secured('running'),
    ),
  ).toMatchObject({ act: 'reset' })
  expect(
    decideServer(
      { ...leaving, reset_intent_at: new Date(now - 1000), resets: 1 },
      around,
      maintenance,
    ),
  ).toEqual({ act: 'release', at: 'release' })
  // The reset was sent before a crash, and its result is unknown.
  expect(
    decideServer({ ...leaving, reset_intent_at: new Date(now - 1000) }, around, secured('running')),
  ).toMatchObject({ act: 'reset' })
})

test('a server that has just received a configuration is released only after it shows whether it applies the configuration', () => {
  const leaving: MemberRow = { ...sent, wanted: 'released', at: 'reset' }
  expect(decideServer(leaving, around, maintenance)).toMatchObject({ act: 'wait', at: 'reset' })
  expect(
    decideServer({ ...leaving, send_intent_at: new Date(now - settleMs) }, around, maintenance),
  ).toEqual({ act: 'release', at: 'release' })
})

test('waiting for the reset of a replaced server has no time limit, because a user could not retry that reset', () => {
  const replaced: MemberRow = {
    ...sent,
    wanted: 'released',
    at: 'reset',
    at_since: new Date(now - 86_400_000),
  }
  const stays = { ...around, clusterStays: true }
  const foreign: Seen = { kind: 'foreign', reason: 'unknown authority' }
  for (const seen of [dark, foreign, { kind: 'stranger', reason: 'Other hardware' } as const]) {
    expect(decideServer(replaced, stays, seen)).toMatchObject({ act: 'wait', at: 'reset' })
    expect(decideServer(replaced, around, seen)).toMatchObject({ act: 'fail' })
    expect(decideServer({ ...replaced, operation_id: 'reset' }, stays, seen)).toMatchObject({
      act: 'fail',
    })
  }
  expect(decideBlind({ ...replaced, failed_at: new Date(now) }, stays, true)).toBeNull()
  expect(decideBlind({ ...replaced, failed_at: new Date(now) }, around, true)).toEqual({
    act: 'rest',
    at: 'reset',
  })
})

test('a control plane leaves etcd gracefully while others stay; the last control plane does not', () => {
  const leaving: MemberRow = { ...sent, wanted: 'released', at: 'reset' }
  const running = secured('running', { etcd: healthy })
  expect(decideServer(leaving, { ...around, othersStay: true }, running)).toMatchObject({
    act: 'reset',
    graceful: true,
  })
  expect(decideServer(leaving, around, running)).toMatchObject({ act: 'reset', graceful: false })
  expect(
    decideServer(
      { ...leaving, resets: 1, reset_intent_at: new Date(now - resetAgainMs) },
      { ...around, othersStay: true },
      running,
    ),
  ).toMatchObject({
    act: 'reset',
    graceful: false,
  })
  expect(decideBlind(leaving, { ...around, waitTurn: 'Workers first: web-4' }, true)).toEqual({
    act: 'wait',
    at: 'reset',
    reason: 'Workers first: web-4',
  })
})

test('a server that leaves a running cluster is reset gracefully, and removed from etcd and Kubernetes after its wipe', () => {
  const leaving: MemberRow = { ...sent, wanted: 'released', operation_id: 'reset', at: 'reset' }
  const running = secured('running', { etcd: healthy })
  expect(decideServer(leaving, around, running)).toEqual({
    act: 'reset',
    at: 'reset',
    graceful: true,
  })
  expect(decideServer({ ...leaving, resets: mostResets - 1 }, around, running)).toMatchObject({
    act: 'reset',
    graceful: true,
  })
  expect(decideServer({ ...leaving, resets: mostResets }, around, running)).toMatchObject({
    act: 'fail',
  })
  // The server's etcd doesn't run, so the server can't leave gracefully, and the others remove it.
  expect(decideServer(leaving, around, secured('running', { etcd: preparing }))).toMatchObject({
    act: 'reset',
    graceful: false,
  })
  expect(
    decideServer({ ...leaving, role: 'worker' }, around, secured('running', {})),
  ).toMatchObject({ act: 'reset', graceful: true })
  const told = {
    ...leaving,
    send_intent_at: new Date(now - 86_400_000),
    reset_intent_at: new Date(now - 9_000),
    reset_sent_at: new Date(now - 9_000),
    resets: 1,
  }
  expect(decideServer(told, around, maintenance)).toEqual({ act: 'note-wiped', at: 'release' })
  expect(decideBlind({ ...told, wiped_at: new Date(now) }, around, true)).toEqual({
    act: 'forget',
    at: 'forget-member',
  })
  expect(decideBlind({ ...told, role: 'worker', wiped_at: new Date(now) }, around, true)).toEqual({
    act: 'forget',
    at: 'forget-node',
  })
})
