import type { MemberRow } from '../store.ts'
import { buildMember } from '../testing/rows.ts'
import type { Around, Seen, SeenService } from './acts.ts'

export const now = Date.UTC(2026, 0, 15, 14, 10)
export const fresh = buildMember({
  at_since: new Date(now - 1000),
  seen_at: new Date(now - 240_000),
  stage: 'maintenance',
})
export const around: Around = {
  now,
  steadySince: 0,
  upMs: Infinity,
  secrets: true,
  controlPlaneAt: null,
  bootstrap: null,
  waitTurn: null,
  othersStay: false,
  clusterStays: false,
}
export const dark: Seen = { kind: 'dark', reason: 'connection refused' }
export const maintenance: Seen = {
  kind: 'maintenance',
  stage: 'maintenance',
  installation: { state: 'none', disk: null },
}
export const healthy = { state: 'Running', healthy: true, message: '' }
export const preparing = { state: 'Preparing', healthy: false, message: 'Running pre state' }
export const secured = (
  stage: string,
  services: Record<string, SeenService> = { etcd: preparing },
): Seen => ({
  kind: 'secured',
  stage,
  services,
  installation: null,
  bootId: null,
  unattended: null,
  unmet: [],
  askedTrouble: false,
  isInstallSkipped: false,
  last: null,
  restart: null,
  isTroubleOver: false,
  trouble: null,
  log: [],
})
export const sent: MemberRow = {
  ...fresh,
  at: 'install',
  send_intent_at: new Date(now - 5000),
  sent_at: new Date(now - 5000),
}
