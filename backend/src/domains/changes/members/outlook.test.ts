import { expect, test } from 'vitest'
import { etcdCheck } from './outlook.ts'

const report = (name: string, problem: string | null) => ({
  node_id: `id of ${name}`,
  name,
  answers: problem === null,
  problem,
  alarm: null,
  knowsAlarms: problem === null,
  version: null,
  storageVersion: null,
  strangers: null,
  isLeader: false,
  learner: false,
  sizeBytes: problem === null ? 1 : null,
})
const silent = 'connection refused'

test('a dead member of etcd must be replaced before another one joins; a dead control plane that is no member does not matter', () => {
  const member = (name: string) => ({ id: name, name, learner: false, healthy: name === 'cp-1' })
  const reports = [report('cp-1', null), report('cp-2', silent), report('cp-3', silent)]
  const nodes = new Map()
  const three = {
    members: [member('cp-1'), member('cp-2'), member('cp-3')],
  }
  expect(etcdCheck({ etcd: three, reports, nodes }, 'web', 'cp-2')).toMatchObject({
    ok: false,
    message: expect.stringContaining('cp-3 is not healthy') as string,
  })
  const twin = { ...member('cp-1'), id: '255', healthy: false }
  const second = { members: [...three.members, twin] }
  expect(etcdCheck({ etcd: second, reports, nodes }, 'web', 'cp-2')).toMatchObject({
    ok: false,
    message:
      'A server of web has two members of etcd. Remove the dead member cp-1 (ff) first: talosctl etcd remove-member ff',
  })
  // Only cp-1 was restored from the snapshot.
  const restored = { members: [member('cp-1')] }
  expect(etcdCheck({ etcd: restored, reports, nodes }, 'web', 'cp-2')).toMatchObject({ ok: true })
})
