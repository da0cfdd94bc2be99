import { expect, test } from 'vitest'
import { processorMs } from '../../../../../tools/testing/processor-time.ts'
import { matchOf, needlesOf, searchable } from './search.ts'

const row = {
  name: 'solid-field-133',
  id: '5a0e4c1e-6f3c-4b7a-9b58-4d4ac3a5d001',
  uuid: '9f0c11aa-0000-4000-8000-000000000001',
  serial: 'S514359X3B21907',
  address: 'fd00::12',
  cluster_name: 'poz-render-01',
  manufacturer: 'Supermicro',
  product: 'AS -1115CS-TNR',
  hardware: {
    addresses: ['10.20.14.37', 'fd00::12'],
    processors: [{ id: 'cpu0', product_name: 'AMD EPYC  9354P 32-Core Processor' }],
    memory: [],
    disks: [
      {
        id: 'nvme0n1',
        model: 'SAMSUNG MZQL21T9HCJR-00A07',
        wwid: 'eui.36344630524001020025384500000a41',
      },
      { id: 'sda', model: 'ST18000NM000J', wwid: 'naa.5000c500a1b2c3d4' },
    ],
    interfaces: [
      {
        id: 'enp1s0',
        hardware_addr: 'b8:ce:f6:aa:7a:46',
        vendor: 'Mellanox Technologies',
        product: 'MT2892',
      },
    ],
    links: [
      {
        name: 'bond0',
        up: true,
        physical: false,
        hardware_addr: 'b8:ce:f6:aa:7a:47',
        addresses: [],
      },
    ],
    routes: [],
  },
}
const found = (q: string) => {
  const needles = needlesOf(q)
  return needles.some((needle) => searchable(row).text.includes(needle))
    ? (matchOf(searchable(row), needles) ?? 'its name')
    : null
}

test.each([
  'b8:ce:f6:aa:7a:46',
  'B8-CE-F6-AA-7A-46',
  'b8ce.f6aa.7a46',
  'b8cef6aa7a46',
  'B8CEF6-AA7A46',
  'f6:aa:7a:46',
  'b8cef6aa7a4',
  ' b8:ce:f6:aa ',
])('a MAC address written %s finds its server', (q) => {
  expect(found(q)).toEqual({ what: 'mac', value: 'b8:ce:f6:aa:7a:46' })
})

test('a server is found by the MAC address of its bond', () => {
  expect(found('b8cef6aa7a47')).toEqual({ what: 'mac', value: 'b8:ce:f6:aa:7a:47' })
})

test.each(['b8:ce:f6:aa:7a:48', 'b:8ce:f6', 'c:ef:6a', 'b8-cef6-aa', '8cef6aa7a46b'])(
  'the MAC address %s, unknown or wrongly grouped, finds nothing',
  (q) => {
    expect(found(q)).toBeNull()
  },
)

test.each([
  ['naa.5000c500a1b2c3d4', 'naa.5000c500a1b2c3d4'],
  ['0x5000c500a1b2c3d4', 'naa.5000c500a1b2c3d4'],
  ['wwn-0x5000C500A1B2C3D4', 'naa.5000c500a1b2c3d4'],
  ['nvme-eui.36344630524001020025384500000a41', 'eui.36344630524001020025384500000a41'],
])('a WWID written %s finds its server', (q, value) => {
  expect(found(q)).toEqual({ what: 'wwid', value })
})

test('part of a model name finds a server by its machine, disk, processor or network card', () => {
  expect(found('1115cs')).toEqual({ what: 'model', value: 'Supermicro AS -1115CS-TNR' })
  expect(found('samsung mzql')).toEqual({ what: 'model', value: 'SAMSUNG MZQL21T9HCJR-00A07' })
  expect(found('EPYC 9354p')).toEqual({ what: 'model', value: 'AMD EPYC 9354P 32-Core Processor' })
  expect(found('mellanox')).toEqual({ what: 'model', value: 'Mellanox Technologies MT2892' })
})

test("a search result names the field that matched, unless the server's name matched", () => {
  expect(found('FIELD')).toBe('its name')
  expect(found('render')).toEqual({ what: 'cluster', value: 'poz-render-01' })
  expect(found('fd00:0::12')).toEqual({ what: 'address', value: 'fd00::12' })
  expect(found('s514359')).toEqual({ what: 'serial', value: 'S514359X3B21907' })
  expect(found('nothing')).toBeNull()
})

test('the time that a search takes grows linearly with the length of its text', async () => {
  const tookMs = await processorMs(() =>
    ['a', ':', '0x', 'b8:', ' '].forEach((part) => needlesOf(part.repeat(100_000))),
  )
  expect(tookMs).toBeLessThan(500)
})
