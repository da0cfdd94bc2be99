import { describe, expect, it } from 'vitest'
import type { ListedServer } from '#contract/servers/servers.ts'
import { type FindingKind, findingKinds } from '#contract/findings/kinds.ts'
import { serverSaid } from '#contract/findings/said.ts'
import { contactOf, statusOf as shownOf } from './server-state.ts'

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

/** The state as the API says it. */
const statusOf = (s: Parameters<typeof serverSaid>[0]) => shownOf({ ...s, said: serverSaid(s) })

describe('the shown state of a server', () => {
  const now = Date.parse('2026-11-20T13:00:00Z')

  it('a free server shows whether it can be used, or why it is not eligible', () => {
    expect(statusOf(server)).toEqual({
      tone: 'idle',
      word: 'Maintenance',
      why: 'free to use',
    })
    expect(statusOf({ ...server, ineligible: 'The server has no disk' })).toMatchObject({
      word: 'Maintenance',
      why: 'not eligible: The server has no disk',
    })
    expect(statusOf({ ...server, identity: { ...identity, state: 'unconfirmed' } }).why).toBe(
      'to be confirmed',
    )
  })

  const finding = (kind: FindingKind, reason: string) => ({
    id: 'f',
    kind,
    severity: findingKinds[kind].severity,
    since: '2026-11-20T12:00:00Z',
    reason,
  })
  it('a server shows the word of a finding that takes the place of its status, with its shape', () => {
    for (const [kind, tone, word] of [
      ['server_unreachable', 'danger', 'Unreachable'],
      ['server_failed', 'danger', 'Failed'],
      ['server_not_ready', 'warn', 'Node NotReady'],
    ] as const)
      for (const status of ['ready', 'maintenance'] as const)
        expect(statusOf({ ...server, status, finding: finding(kind, 'Because.') })).toEqual({
          tone,
          word,
          why: 'Because.',
        })
    expect(
      statusOf({ ...server, status: 'deleted', finding: finding('server_failed', '') }).word,
    ).toBe('Deleted')
  })
  it('a server that only needs attention keeps its word and shape, and shows the sentence', () => {
    const drifted = finding('server_drifted', 'Because.')
    expect(statusOf({ ...server, status: 'ready', finding: drifted })).toEqual({
      tone: 'ok',
      word: 'Ready',
      why: 'Because.',
    })
    expect(statusOf({ ...server, finding: drifted })).toMatchObject({
      tone: 'idle',
      why: 'Because.',
    })
    const leftBehind = finding('server_left_behind', 'In use by poz-shop.')
    expect(statusOf({ ...server, finding: leftBehind }).word).toBe('In use')
  })

  const silent = {
    ...talos,
    reachable: false,
    unreachable_since: '2026-11-20T12:00:00Z',
    reason: 'connection refused',
  }
  it('a silent server keeps the time of its last contact', () => {
    expect(contactOf({ ...server, talos: silent }, now)).toEqual({
      kind: 'silent',
      at: talos.last_contact_at,
    })
  })

  it('a ready server says that Kubernetes does not answer', () => {
    const kubernetes = { ready: null, reason: null, since: '2026-11-20T12:00:00Z' }
    expect(statusOf({ ...server, status: 'ready', kubernetes })).toMatchObject({
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
    expect(contactOf(dark, Date.parse('2026-11-20T12:16:00Z')).kind).toBe('silent')
    expect(contactOf({ ...dark, operation_id: null }).kind).toBe('silent')
  })
})
