import { expect, test } from 'vitest'
import type { PlannedDisk } from '../servers/for-clusters.ts'
import { installProblem, selectorWwid, toWipe, wwidsOf } from './disks.ts'

const disk = (id: string, wwid: string | null, type = 'SSD'): PlannedDisk => ({ device: `/dev/${id}`, size: 1e12, type, wwid, system: false })
const disks = [disk('sda', 'naa.1'), disk('sdb', 'naa.2', 'HDD'), disk('sdc', 'naa.3'), disk('sdd', 'naa.3'), disk('vda', null), disk('sde', 't10.QEMU *')]
const chosen = {
  name: 'web-1',
  install_disk: '/dev/sda',
  install_wwid: 'naa.1',
  workload_disks: ['/dev/sdb', '/dev/sdc'],
  disk_wwids: wwidsOf(disks, ['/dev/sda', '/dev/sdb', '/dev/sdc']),
}

test('only an id of its own tells a disk apart', () => {
  expect(chosen.disk_wwids).toEqual({ '/dev/sda': 'naa.1', '/dev/sdb': 'naa.2' })
  expect(wwidsOf(disks, ['/dev/vda'])).toEqual({})
})

test('Talos is given the id where its selector surely finds it', () => {
  expect(['sda', 'sdb', 'sdc', 'vda', 'sde', 'sdz'].map((id) => selectorWwid(disks, `/dev/${id}`))).toEqual(['naa.1', null, null, null, null, null])
})

test('nothing is installed on a disk that bears the name of another', () => {
  const swapped = [
    { id: 'sdb', wwid: 'naa.1' },
    { id: 'sda', wwid: 'naa.2' },
  ]
  expect(installProblem(chosen, swapped)).toBeNull()
  expect(installProblem({ ...chosen, install_wwid: null }, swapped)).toContain('what was /dev/sda is /dev/sdb now')
  expect(installProblem(chosen, [{ id: 'sda', wwid: 'naa.9' }])).toBe('/dev/sda is not in web-1 any more')
  expect(installProblem({ ...chosen, disk_wwids: {} }, [{ id: 'sda', wwid: 'naa.9' }])).toBeNull()
})

test('what is wiped are the disks that were chosen, by whatever name, and never the one that Talos is on', () => {
  const now = [
    { id: 'sda', wwid: 'naa.2' },
    { id: 'sdb', wwid: 'naa.1' },
    { id: 'sdc', wwid: 'naa.7' },
  ]
  expect(toWipe(chosen, now, '/dev/sdb')).toEqual({ wipe: ['/dev/sda', '/dev/sdc'], gone: [] })
  expect(toWipe(chosen, now, '/dev/sdc')).toEqual({ wipe: ['/dev/sda'], gone: ['/dev/sdc'] })
  expect(toWipe(chosen, [], undefined)).toEqual({ wipe: [], gone: ['/dev/sdb', '/dev/sdc'] })
})
