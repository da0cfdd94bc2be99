import { expect, test } from 'vitest'
import type { Extension } from '#contract/images.ts'
import { found, missing, shortName } from './extensions.ts'

const extension = (name: string, description: string): Extension => ({
  name: `siderolabs/${name}`,
  ref: '',
  author: 'Sidero Labs',
  description,
  tier: 'core',
})
const all = [
  extension('zfs', 'ZFS module'),
  extension('iscsi-tools', 'iSCSI initiator'),
  extension('gvisor', 'A sandbox, not for iSCSI'),
  extension('amd-ucode', 'Microcode'),
]

test('a search must match every typed word; matches in the name come before matches in the description', () => {
  const names = (typed: string) => found(all, typed).map((e) => shortName(e.name))
  expect(names('')).toEqual(['amd-ucode', 'gvisor', 'iscsi-tools', 'zfs'])
  expect(names('ISCSI')).toEqual(['iscsi-tools', 'gvisor'])
  expect(names('sandbox iscsi')).toEqual(['gvisor'])
  expect(names('nothing')).toEqual([])
})

test('extensions that the Talos version lacks are reported after its list has loaded', () => {
  expect(missing(['siderolabs/zfs', 'siderolabs/gone'], all)).toEqual(['siderolabs/gone'])
  expect(missing(['siderolabs/gone'], undefined)).toEqual([])
})
