// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest'
import {
  deviceName,
  devicePath,
  diskType,
  memoryLines,
  processorLines,
  shortModel,
  shortProduct,
  shortVendor,
  sumKnown,
  summaryOf,
} from './hardware.ts'
import { disk, memory } from '../../../lib/units.ts'
import { resourcesOf } from '../../../api/one-server.ts'

const GiB = 1024 ** 3

describe('the hardware summary', () => {
  it('processor models are shortened to their usual names', () => {
    expect(shortModel('AMD', 'AMD EPYC 9354 32-Core Processor')).toBe('AMD EPYC 9354')
    expect(shortModel('Intel', 'Intel(R) Xeon(R) Gold 6430 CPU @ 2.10GHz')).toBe(
      'Intel Xeon Gold 6430',
    )
    expect(shortModel('Intel', 'INTEL(R) XEON(R) SILVER 4510')).toBe('INTEL XEON SILVER 4510')
    expect(shortModel('ACME', undefined)).toBe('ACME')
    expect(shortModel(undefined, '')).toBe('Unknown')
  })

  it('network cards are shown by their product names', () => {
    expect([
      shortProduct('MT2892 Family [ConnectX-6 Dx]'),
      shortProduct('I350 Gigabit Network Connection'),
    ]).toEqual(['ConnectX-6 Dx', 'I350 Gigabit Network Connection'])
    expect(
      [
        'Mellanox Technologies',
        'Intel Corporation',
        'Broadcom Inc. and subsidiaries',
        'ACME, Inc.',
        'Red Hat, Inc.',
      ].map(shortVendor),
    ).toEqual(['Mellanox', 'Intel', 'Broadcom', 'ACME', 'Red Hat'])
  })

  it('equal processors are grouped, and their cores added', () => {
    const cpu = {
      product_name: 'AMD EPYC 9354 32-Core Processor',
      cpu_cores: 32,
      thread_count: 64,
      max_speed: 3250,
    }
    expect(
      processorLines([
        { id: '0', ...cpu },
        { id: '1', ...cpu },
      ]),
    ).toEqual([{ model: 'AMD EPYC 9354', units: 2, cores: 64, threads: 128, maxMhz: 3250 }])
  })

  it('an unknown value is never shown as 0', () => {
    expect(sumKnown([])).toBeNull()
    expect(sumKnown([1, undefined])).toBeNull()
    expect(processorLines([{ id: '0' }])).toEqual([
      { model: 'Unknown', units: 1, cores: null, threads: null, maxMhz: null },
    ])
    expect(summaryOf(resourcesOf({}))).toEqual({
      processors: null,
      memory: null,
      disks: null,
      links: null,
    })
  })

  it('empty memory slots are left out', () => {
    expect(
      memoryLines([
        { id: 'a', size: 64 * GiB, manufacturer: 'Samsung' },
        { id: 'b', size: 0 },
        { id: 'c', size: 64 * GiB, manufacturer: 'Samsung' },
      ]),
    ).toEqual([{ maker: 'Samsung', modules: 2, moduleBytes: 64 * GiB, totalBytes: 128 * GiB }])
  })

  it("the line under the server's name summarises the hardware", () => {
    const told = summaryOf(
      resourcesOf({
        memory: [
          { id: 'a', size: 32 * GiB },
          { id: 'b', size: 32 * GiB },
        ],
        disks: [
          { id: 'nvme0n1', size: 1.92e12, model: 'PM9A3' },
          { id: 'nvme1n1', size: 3.84e12, model: 'PM9A3' },
        ],
        interfaces: [
          { id: 'eno1', link_state: true, product: 'ConnectX-6 Dx' },
          { id: 'eno2', link_state: false },
        ],
      }),
    )
    expect(told.memory).toEqual({ text: memory(64 * GiB), more: `2 × ${memory(32 * GiB)}` })
    expect(told.disks).toEqual({ text: disk(5.76e12), more: '2 × PM9A3' })
    expect(told.links).toEqual({ text: '1 of 2 up', more: 'ConnectX-6 Dx' })
  })

  it('device names are converted to device paths and back', () => {
    expect([devicePath('nvme0n1'), devicePath('/dev/sda'), deviceName('/dev/sda')]).toEqual([
      '/dev/nvme0n1',
      '/dev/sda',
      'sda',
    ])
    expect([diskType('nvme'), diskType('ssd'), diskType(undefined)]).toEqual([
      'NVMe',
      'SSD',
      'Unknown',
    ])
  })
})
