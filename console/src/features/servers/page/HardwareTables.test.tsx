// @vitest-environment happy-dom
import { cleanup, render } from '@testing-library/react'
import { afterEach, expect, test } from 'vitest'
import { resourcesOf } from '../../../api/one-server.ts'
import { Disks, DisksPicture } from './HardwareTables.tsx'

afterEach(cleanup)

const shown = (resources: object) => {
  const { container } = render(
    <>
      <Disks resources={resourcesOf(resources)} />
      <DisksPicture resources={resourcesOf(resources)} />
    </>,
  )
  const texts = [...container.querySelectorAll('p')].map((one) => one.textContent)
  cleanup()
  return texts
}

test('disks of unknown hardware are shown as unknown, and a machine without disks says so', () => {
  expect(shown({})).toEqual(['Unknown', 'Unknown'])
  expect(shown({ interfaces: [{ id: 'eno1' }] })).toEqual([
    'No disks were found.',
    'No disks were found.',
  ])
})

test('a WWID is shortened to its first 16 and last 10 characters, and copied whole', () => {
  const wwid = 'eui.36344730545000030025384700000001'
  const { getByTitle } = render(
    <Disks resources={resourcesOf({ disks: [{ id: 'nvme0n1', wwid }] })} />,
  )
  expect(getByTitle(wwid).textContent).toContain('eui.363447305450…4700000001')
})
