import { describe, expect, it } from 'vitest'
import type { ListedServer } from '#contract/servers/servers.ts'
import { contactOf, statusOf } from './server-state.ts'

const talos: ListedServer['talos'] = {
  version: 'v1.13.0',
  stage: 'maintenance',
  reachable: true,
  last_contact_at: '2026-11-20T13:00:00Z',
  unreachable_since: null,
  reason: null,
}
const identity: ListedServer['identity'] = { state: 'confirmed', uuid: 'u', serial: 's' }
const server = {
  status: 'maintenance' as const,
  cluster: null,
  talos,
  ineligible: null,
  identity,
  operation_id: null,
  kubernetes: null,
}

describe('the shown state of a server', () => {
  const now = Date.parse('2026-11-20T13:00:00Z')

  it('a free server shows whether it can be used, or why it is not eligible', () => {
    expect(statusOf(server)).toEqual({
      tone: 'idle',
      word: 'Maintenance',
      why: 'free to use',
      status: null,
    })
    expect(statusOf({ ...server, ineligible: 'The server has no disk' })).toMatchObject({
      word: 'Maintenance',
      why: 'not eligible: The server has no disk',
    })
    expect(statusOf({ ...server, identity: { ...identity, state: 'unconfirmed' } }).why).toBe(
      'to be confirmed',
    )
  })

  it('a server whose identity is in doubt shows that first, and why', () => {
    expect(
      statusOf({
        ...server,
        identity: { ...identity, state: 'changed' },
      }),
    ).toMatchObject({
      tone: 'danger',
      word: 'In doubt',
      why: 'other hardware answered',
      status: 'Maintenance',
    })
  })

  it('a server that failed in its cluster shows that first and in red, with time and reason', () => {
    const failure = { reason: 'came back in maintenance', since: '2026-11-20T12:00:00Z' }
    expect(statusOf({ ...server, cluster: { id: 'c', name: 'prod' }, failure }, now)).toMatchObject(
      {
        tone: 'danger',
        word: 'Failed',
        why: expect.stringMatching(/^since \d\d:\d\d · came back in maintenance$/),
        status: 'Maintenance',
      },
    )
  })

  it('a server shows a warning if others have changed its configuration', () => {
    const drift = { since: '2026-11-20T12:00:00Z', seen: 'a' }
    expect(statusOf({ ...server, status: 'ready', drift })).toMatchObject({
      tone: 'warn',
      word: 'Changed outside',
      status: 'Ready',
    })
  })

  const silent = {
    ...talos,
    reachable: false,
    unreachable_since: '2026-11-20T12:00:00Z',
    reason: 'connection refused',
  }
  it('an unreachable server shows Unreachable first and in red, with time and reason, and keeps its status', () => {
    for (const [status, kept] of [
      ['ready', 'Ready'],
      ['maintenance', 'Maintenance'],
    ] as const) {
      expect(statusOf({ ...server, status, talos: silent }, now)).toMatchObject({
        tone: 'danger',
        word: 'Unreachable',
        why: expect.stringMatching(/^since \d\d:\d\d · connection refused$/),
        status: kept,
      })
    }
    expect(contactOf({ ...server, talos: silent }, now)).toEqual({
      kind: 'silent',
      at: talos.last_contact_at,
    })
  })

  it('a server shows Node NotReady if Kubernetes reports its node NotReady, even if Talos answers', () => {
    const kubernetes = {
      ready: false,
      reason: 'Kubelet stopped posting node status',
      since: '2026-11-20T12:00:00Z',
    }
    expect(statusOf({ ...server, status: 'ready', kubernetes }, now)).toMatchObject({
      tone: 'danger',
      word: 'Node NotReady',
      status: 'Ready',
      why: expect.stringMatching(/^since \d\d:\d\d · Kubelet stopped posting node status$/),
    })
    expect(
      statusOf({ ...server, status: 'ready', kubernetes: { ...kubernetes, ready: null } }, now),
    ).toMatchObject({
      tone: 'ok',
      why: 'Kubernetes does not answer',
    })
  })

  it('a busy server shows the stage of Talos', () => {
    expect(statusOf({ ...server, talos: { ...talos, stage: 'installing' } }).why).toBe('installing')
    expect(
      statusOf({
        ...server,
        status: 'ready',
        talos: { ...talos, stage: 'running', reason: 'kubelet is not healthy' },
      }).why,
    ).toBe('kubelet is not healthy')
  })

  it('a server that was never contacted looks different from one that never answered', () => {
    const never = { ...talos, last_contact_at: null }
    expect(contactOf({ ...server, talos: { ...never, reachable: null } })).toEqual({
      kind: 'never',
      silent: false,
    })
    expect(contactOf({ ...server, talos: { ...never, reachable: false } })).toEqual({
      kind: 'never',
      silent: true,
    })
    expect(contactOf(server)).toEqual({ kind: 'answered', at: talos.last_contact_at })
  })

  it('a silent server with a running operation is shown as away for 15 minutes, then as unreachable', () => {
    const dark = {
      ...server,
      operation_id: 'o',
      talos: { ...silent, stage: 'installing' as const },
    }
    expect(contactOf(dark, Date.parse('2026-11-20T12:14:00Z'))).toEqual({
      kind: 'away',
      at: talos.last_contact_at,
    })
    expect(statusOf(dark, Date.parse('2026-11-20T12:14:00Z'))).toMatchObject({
      word: 'Maintenance',
      why: 'installing',
    })
    expect(contactOf(dark, Date.parse('2026-11-20T12:16:00Z')).kind).toBe('silent')
    expect(contactOf({ ...dark, operation_id: null }).kind).toBe('silent')
  })
})
