import { describe, expect, it } from 'vitest'
import type { Server } from '#contract/servers.ts'
import { contactOf, statusOf } from './server-state.ts'

const talos: Server['talos'] = {
  version: 'v1.13.0',
  schematic: null,
  stage: 'maintenance',
  reachable: true,
  last_contact_at: '2026-11-20T13:00:00Z',
  installed: null,
  unreachable_since: null,
  reason: null,
}
const identity: Server['identity'] = { state: 'confirmed', uuid: 'u', serial: 's', fingerprint: null, since: '2026-11-01T00:00:00Z', note: null }
const server = { status: 'maintenance' as const, cluster: null, talos, eligibility: [], identity, operation_id: null }

describe('what is said of a server', () => {
  it('says what a free server is for, and why it is not eligible', () => {
    expect(statusOf(server)).toEqual({ tone: 'idle', word: 'Maintenance', why: 'free to use', more: null })
    expect(statusOf({ ...server, eligibility: [{ check: 'disks', ok: false, reason: 'The server has no disk' }] })).toMatchObject({
      why: 'not eligible',
      more: 'The server has no disk',
    })
    expect(statusOf({ ...server, identity: { ...identity, state: 'unconfirmed' } }).why).toBe('to be confirmed')
  })

  it('keeps status and contact apart', () => {
    const silent = { ...talos, reachable: false, unreachable_since: '2026-11-20T12:00:00Z', reason: 'connection refused' }
    expect(statusOf({ ...server, status: 'ready', talos: silent })).toEqual({ tone: 'ok', word: 'Ready', why: null, more: null })
    const contact = contactOf({ talos: silent, operation_id: null }, Date.parse('2026-11-20T13:00:00Z'))
    expect(contact.kind).toBe('silent')
    expect(contact.kind === 'silent' && contact.text).toMatch(/^\d\d:\d\d, connection refused$/)
  })

  it("says Talos's stage where it is doing something", () => {
    expect(statusOf({ ...server, talos: { ...talos, stage: 'installing' } }).why).toBe('installing')
    expect(statusOf({ ...server, status: 'ready', talos: { ...talos, stage: 'running', reason: 'kubelet is not healthy' } }).why).toBe('kubelet is not healthy')
  })

  it('says when it was never asked', () => {
    expect(contactOf({ talos: { ...talos, reachable: null, last_contact_at: null }, operation_id: null })).toEqual({ kind: 'never' })
    expect(contactOf({ talos, operation_id: null })).toEqual({ kind: 'answered', at: talos.last_contact_at })
  })

  it('takes a machine that something is done to for away, not for lost, for a while', () => {
    const dark = { ...talos, stage: 'installing' as const, reachable: false, unreachable_since: '2026-11-20T12:00:00Z', reason: 'connection refused' }
    expect(contactOf({ talos: dark, operation_id: 'o' }, Date.parse('2026-11-20T12:14:00Z'))).toEqual({ kind: 'away', at: talos.last_contact_at })
    expect(contactOf({ talos: dark, operation_id: 'o' }, Date.parse('2026-11-20T12:16:00Z')).kind).toBe('silent')
    expect(contactOf({ talos: dark, operation_id: null }).kind).toBe('silent')
  })
})
