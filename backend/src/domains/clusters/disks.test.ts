import { describe, expect, test } from 'vitest'
import type { Disk } from '#talos/client/inventory.ts'
import type { PlannedDisk } from '../servers/api.ts'
import { agreedOf, installProblem, selectorWwid, toWipe, wipeProblem, wwidsOf } from './disks.ts'

const disk = (id: string, wwid: string | null, type = 'SSD'): PlannedDisk => ({
  id,
  content: 'empty',
  device: `/dev/${id}`,
  size: 1e12,
  type,
  wwid,
  system: false,
})
const disks = [
  disk('sda', 'naa.1'),
  disk('sdb', 'naa.2', 'HDD'),
  disk('sdc', 'naa.3'),
  disk('sdd', 'naa.3'),
  disk('vda', null),
  disk('sde', 't10.QEMU *'),
]
const chosen = {
  name: 'web-1',
  install_disk: '/dev/sda',
  install_wwid: 'naa.1',
  workload_disks: ['/dev/sdb', '/dev/sdc'],
  disk_wwids: wwidsOf(disks, ['/dev/sda', '/dev/sdb', '/dev/sdc']),
  agreed_disks: {},
}

test('only a unique id identifies a disk', () => {
  expect(chosen.disk_wwids).toEqual({ '/dev/sda': 'naa.1', '/dev/sdb': 'naa.2' })
  expect(wwidsOf(disks, ['/dev/vda'])).toEqual({})
})

test('the disk selector uses the WWID only if Talos can match it', () => {
  expect(
    ['sda', 'sdb', 'sdc', 'vda', 'sde', 'sdz'].map((id) => selectorWwid(disks, `/dev/${id}`)),
  ).toEqual(['naa.1', null, null, null, null, null])
})

test('Talos is never installed on a disk that has taken the name of another disk', () => {
  const swapped = [
    { id: 'sdb', wwid: 'naa.1' },
    { id: 'sda', wwid: 'naa.2' },
  ]
  expect(installProblem(chosen, swapped)).toBeNull()
  expect(installProblem({ ...chosen, install_wwid: null }, swapped)).toContain(
    '/dev/sda is now /dev/sdb',
  )
  expect(installProblem({ ...chosen, disk_wwids: {} }, [{ id: 'sda', wwid: 'naa.9' }])).toBeNull()
})

test('a disk without a WWID is found by its serial, if no other disk has the same', () => {
  const virtual = {
    ...chosen,
    install_disk: '/dev/vda',
    install_wwid: null,
    agreed_disks: agreedOf([{ ...disk('vda', null), serial: 'V1' }], ['/dev/vda']),
  }
  const renamed = [
    { id: 'vda', serial: 'V2' },
    { id: 'vdb', serial: 'V1' },
  ]
  expect(installProblem(virtual, renamed)).toContain('/dev/vda is now /dev/vdb')
  expect(installProblem(virtual, [{ id: 'vda', serial: 'V1' }])).toBeNull()
  expect(installProblem(virtual, [...renamed, { id: 'vdc', serial: 'V1', size: 2 }])).toBeNull()
})

test('selected disks are wiped even if their names have changed; the disk that Talos runs from is never wiped', () => {
  const now = [
    { id: 'sda', wwid: 'naa.2' },
    { id: 'sdb', wwid: 'naa.1' },
    { id: 'sdc', wwid: 'naa.7' },
  ]
  expect(toWipe(chosen, now, '/dev/sdb')).toEqual({ wipe: ['/dev/sda', '/dev/sdc'], gone: [] })
  expect(toWipe(chosen, now, '/dev/sdc')).toEqual({ wipe: ['/dev/sda'], gone: ['/dev/sdc'] })
  expect(toWipe(chosen, [], undefined)).toEqual({ wipe: [], gone: ['/dev/sdb', '/dev/sdc'] })
})

test('a disk that nobody has chosen is not wiped because it has the path of a chosen one', () => {
  const asked = (now: readonly { id: string; serial?: string; wwid?: string; size?: number }[]) =>
    toWipe(
      {
        ...chosen,
        workload_disks: ['/dev/sdb'],
        disk_wwids: {},
        agreed_disks: agreedOf([{ ...disk('sdb', null), serial: 'A' }], ['/dev/sdb']),
      },
      now,
      '/dev/sda',
    )
  const none = { wipe: [], gone: ['/dev/sdb'] }
  expect(asked([{ id: 'sdb', serial: 'B' }])).toEqual(none)
  expect(asked([{ id: 'sdb' }])).toEqual(none)
  const twins = ['sdc', 'sdd'].map((id, at) => ({ id, serial: 'A', wwid: `naa.${at}` }))
  expect(asked([{ id: 'sdb', serial: 'B' }, ...twins])).toEqual(none)
  // Several paths to the chosen disk.
  const paths = twins.map((d) => ({ ...d, wwid: 'naa.5' }))
  expect(asked([{ id: 'sdb', serial: 'B' }, ...paths])).toEqual({ wipe: ['/dev/sdc'], gone: [] })
  expect(asked([...twins, { id: 'sdb', serial: 'A' }])).toEqual({ wipe: ['/dev/sdb'], gone: [] })

  // Chosen by its path, because two paths have its WWID and it has no serial.
  const byPath = {
    ...chosen,
    workload_disks: ['/dev/sdc'],
    disk_wwids: {},
    agreed_disks: agreedOf(disks, ['/dev/sdc']),
  }
  expect(toWipe(byPath, [{ id: 'sdc', wwid: 'naa.3' }], undefined).wipe).toEqual(['/dev/sdc'])
  expect(toWipe(byPath, [{ id: 'sdc', wwid: 'naa.9' }], undefined).wipe).toEqual([])
  expect(toWipe(byPath, [{ id: 'sdc', serial: 'B' }], undefined).wipe).toEqual([])
})

test('26 install-and-workload-disk-are-the-same-disk: another path to the disk that Talos runs from is never wiped', () => {
  const now = [
    { id: 'sda', wwid: 'naa.2' },
    { id: 'sdb', wwid: 'naa.1' },
    { id: 'sdd', wwid: 'naa.1' },
  ]
  const paths = { ...chosen, disk_wwids: {}, workload_disks: ['/dev/sda', '/dev/sdb'] }
  expect(toWipe(paths, now, '/dev/sdd')).toEqual({ wipe: ['/dev/sda'], gone: ['/dev/sdb'] })
})

describe('the check right before wiping', () => {
  const told = (id: string, content: string, more: Partial<Disk> = {}): Disk => ({
    id,
    size: 1e12,
    io_size: 512,
    pretty_size: '1 TB',
    type: 'SSD',
    model: 'PM9A3',
    serial: `S-${id}`,
    wwid: `naa.${id}`,
    transport: 'sata',
    readonly: false,
    content,
    ...more,
  })
  const planned = [told('sda', 'empty'), told('sdb', 'ext4 "data"')].map((d) => ({
    ...d,
    device: `/dev/${d.id}`,
    system: false,
  }))
  const agreed = {
    name: 'web-1',
    install_disk: '/dev/sda',
    install_wwid: 'naa.sda',
    workload_disks: ['/dev/sdb'],
    disk_wwids: wwidsOf(planned, ['/dev/sda', '/dev/sdb']),
    agreed_disks: agreedOf(planned, ['/dev/sda', '/dev/sdb']),
  }
  const first = { isInstalled: false, isAgain: false }
  const problem = (now: Disk[], when = first) => wipeProblem(agreed, now, when)

  test('empty disks and disks with the confirmed content are wiped, even if their names have changed', () => {
    expect(problem([told('sda', 'empty'), told('sdb', 'ext4 "data"')])).toBeNull()
    expect(problem([told('sda', 'empty'), told('sdb', 'empty')])).toBeNull()
    expect(problem([told('sda', 'wiped'), told('sdb', 'wiped')])).toBeNull()
    expect(
      problem([
        told('sda', 'ext4 "data"', { wwid: 'naa.sdb', serial: 'S-sdb' }),
        told('sdb', 'empty', { wwid: 'naa.sda', serial: 'S-sda' }),
      ]),
    ).toBeNull()
  })

  test('the twin of a chosen disk is another disk, although neither has a serial', () => {
    const half = (id: string, wwid: string, content = 'member of a Linux RAID "nas:0"') => ({
      ...told(id, content, { wwid, serial: '', type: 'HDD' }),
      device: `/dev/${id}`,
      system: false,
    })
    const halves = [half('sda', 'naa.1'), half('sdb', 'naa.2')]
    const mirror = {
      ...agreed,
      workload_disks: [],
      install_wwid: null,
      disk_wwids: wwidsOf(halves, ['/dev/sda']),
      agreed_disks: agreedOf(halves, ['/dev/sda']),
    }
    expect(wipeProblem(mirror, halves, first)).toBeNull()
    for (const content of [undefined, 'empty']) {
      const now = [half('sda', 'naa.2', content)]
      expect(wipeProblem(mirror, now, first)).toContain('but the disk that was confirmed')
    }
    // The other half was confirmed at a retry.
    const confirmed = { ...mirror, agreed_disks: agreedOf([half('sda', 'naa.2')], ['/dev/sda']) }
    expect(wipeProblem(confirmed, [half('sda', 'naa.2')], first)).toBeNull()
    // Chosen by an earlier version, which did not store what was confirmed.
    const old = { ...mirror, agreed_disks: {} }
    expect(wipeProblem(old, [half('sda', 'naa.2', 'empty')], first)).not.toBeNull()
    expect(wipeProblem(old, [half('sda', 'naa.1', 'empty')], first)).toBeNull()
  })

  test('a RAID may have another number after a restart', () => {
    const ofRaid = (array: string) =>
      told('sdb', `member of a Linux RAID "nas:0"${array}`, { serial: 'S-sdb' })
    const raid = { ...ofRaid(', in use by md127'), device: '/dev/sdb', system: false }
    const chosenRaid = {
      ...agreed,
      agreed_disks: agreedOf([planned[0]!, raid], ['/dev/sda', '/dev/sdb']),
    }
    for (const array of [', in use by md127', ', in use by md126', ''])
      expect(wipeProblem(chosenRaid, [told('sda', 'empty'), ofRaid(array)], first)).toBeNull()
    expect(
      wipeProblem(chosenRaid, [told('sda', 'empty'), told('sdb', 'xfs, in use by md127')], first),
    ).toContain('it holds xfs, in use by md127')
  })

  test('a disk with other content is not wiped', () => {
    expect(problem([told('sda', 'xfs "new"'), told('sdb', 'ext4 "data"')])).toBe(
      '/dev/sda of web-1 (PM9A3, serial S-sda, WWID naa.sda): it holds xfs "new", but it was empty when the wipe was confirmed. Nothing was wiped: retry and confirm the disk, empty it and retry, or replace the server',
    )
    expect(problem([told('sda', 'empty'), told('sdb', 'Ceph OSD')])).toContain(
      'it holds Ceph OSD, but it held ext4 "data" when the wipe was confirmed',
    )
    expect(problem([told('sda', ''), told('sdb', 'ext4 "data"')])).toContain(
      'its content is not known',
    )
  })

  test('nothing is wiped if a disk is missing or was replaced', () => {
    expect(problem([told('sda', 'empty')])).toBe(
      'web-1 no longer has /dev/sdb (PM9A3, serial S-sdb, WWID naa.sdb). Nothing was wiped: put the disk back and retry, or replace the server',
    )
    expect(
      problem([told('sda', 'empty', { serial: 'S-other' }), told('sdb', 'ext4 "data"')]),
    ).toContain('Nothing was wiped')
    const byPath = { ...agreed, disk_wwids: {}, install_wwid: null }
    expect(
      wipeProblem(
        byPath,
        [told('sda', 'empty', { serial: 'S-other', wwid: '' }), told('sdb', 'ext4 "data"')],
        first,
      ),
    ).toContain('S-other')
  })

  test("on a retry the installer's leftovers are wiped without confirmation, and workload disks are kept", () => {
    const again = { isInstalled: false, isAgain: true }
    expect(problem([told('sda', 'Talos'), told('sdb', 'Ceph OSD')], again)).toBeNull()
    expect(problem([told('sda', 'Talos'), told('sdb', 'ext4 "data"')])).toContain('it holds Talos')
    expect(problem([told('sda', 'xfs')], again)).toContain('it holds xfs')
    expect(
      problem([told('sda', 'Talos'), told('sdb', 'ext4 "data"')], {
        isInstalled: true,
        isAgain: false,
      }),
    ).toBeNull()
  })

  test('without a disk confirmation, Talos is installed only on an empty disk', () => {
    const old = { ...agreed, agreed_disks: {} }
    expect(wipeProblem(old, [told('sda', 'empty'), told('sdb', 'empty')], first)).toBeNull()
    expect(wipeProblem(old, [told('sda', 'xfs'), told('sdb', 'empty')], first)).toContain(
      'it holds xfs',
    )
  })
})
