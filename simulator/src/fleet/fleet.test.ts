import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { seeded } from '../random.ts'
import { dataFolder } from '../testing/fleet.ts'
import { hardwareOf, identityOf, MODEL_NAMES } from './hardware.ts'
import { planFleet } from './plan.ts'
import { parseScenario, readScenario } from './scenario.ts'

const plan = (scenario: unknown = {}): ReturnType<typeof planFleet> =>
  planFleet(parseScenario(scenario))

describe('fleet', () => {
  test('a fleet of twelve servers has two datacenters, one server without disks, one that fails its first install, and a slow one', () => {
    const plans = plan()
    expect(plans).toHaveLength(12)
    expect(new Set(plans.map(({ place }) => place.code))).toEqual(new Set(['PL-POZ-1', 'DE-FRA-1']))
    expect(plans.filter(({ missingDisks }) => missingDisks)).toHaveLength(1)
    expect(
      plans.filter(({ faults }) => faults.some(({ kind }) => kind === 'fail-install')),
    ).toHaveLength(1)
    expect(plans.filter(({ slowness }) => slowness > 1)).toHaveLength(1)
    expect(new Set(plans.map(({ talosVersion }) => talosVersion))).toEqual(
      new Set(['v1.14.1', 'v1.13.9']),
    )
    const healthy = plans.filter(
      ({ place, missingDisks, faults, talosVersion }) =>
        place.cityCode === 'POZ' &&
        !missingDisks &&
        faults.length === 0 &&
        talosVersion === 'v1.14.1',
    )
    expect(healthy.length).toBeGreaterThanOrEqual(5)
  })

  test('the same seed gives the same fleet', () => {
    expect(plan({ seed: 'a' })).toEqual(plan({ seed: 'a' }))
    expect(plan({ seed: 'a' }).map(({ model }) => model)).not.toEqual(
      plan({ seed: 'b' }).map(({ model }) => model),
    )
    expect(identityOf('a', 0, 'dell-r650')).toEqual(identityOf('a', 0, 'dell-r650'))
    expect(identityOf('a', 0, 'dell-r650')).not.toEqual(identityOf('a', 1, 'dell-r650'))
  })

  test('a fleet of thousands of servers has unique addresses and identities', () => {
    const plans = plan({ servers: 20_000 })
    expect(new Set(plans.map(({ address }) => address)).size).toBe(20_000)
    expect(new Set(plans.map(({ name }) => name)).size).toBe(20_000)
    expect(
      new Set(plans.slice(0, 5000).map(({ index, model }) => identityOf('s', index, model).uuid))
        .size,
    ).toBe(5000)
  })

  test('the scenario decides datacenter, Talos version, hardware and faults of each server', () => {
    const plans = plan({
      servers: 3,
      datacenters: ['FI-HEL-1'],
      talos: ['v1.12.3', 'v1.13.0'],
      special: {
        2: {
          hardware: 'dell-r760',
          talos: 'v1.13.5',
          slowness: 3,
          power: 'off',
          faults: [{ kind: 'hang' }],
        },
        3: { uuid: '00000000-0000-0000-0000-000000000000', serial: 'To Be Filled By O.E.M.' },
      },
    })
    expect(plans[2]!.identity).toEqual({
      uuid: '00000000-0000-0000-0000-000000000000',
      serial: 'To Be Filled By O.E.M.',
    })
    expect(plans.map(({ talosVersion }) => talosVersion)).toEqual(['v1.12.3', 'v1.13.5', 'v1.12.3'])
    expect(plans[1]).toMatchObject({
      name: 'hel-02',
      model: 'dell-r760',
      slowness: 3,
      power: 'off',
      faults: [{ kind: 'hang' }],
    })
  })
})

describe('hardware', () => {
  test('26 install-and-workload-disk-are-the-same-disk: a shelf has two paths to each hard disk', () => {
    const { disks, links } = hardwareOf('seed', 0, 'jbod-60')
    expect(disks).toHaveLength(62)
    expect(links).toHaveLength(50)
    expect(disks.at(-1)!.name).toBe('sdbj')
    expect(new Set(disks.map(({ name }) => name)).size).toBe(62)
    expect(new Set(disks.map(({ wwid, serial }) => `${wwid} ${serial}`)).size).toBe(32)
    expect(new Set(links.map(({ name }) => name)).size).toBe(50)
  })

  test.each(MODEL_NAMES)('the hardware of %s is complete and consistent', (model) => {
    const hardware = hardwareOf('seed', 3, model)
    expect(hardware.sockets.length).toBeGreaterThan(0)
    expect(hardware.memory.some(({ module }) => module !== null)).toBe(true)
    expect(hardware.disks.length).toBeGreaterThan(0)
    expect(hardware.links[0]!.up).toBe(true)
    const unique = (items: unknown[]): boolean => new Set(items).size === items.length
    expect(unique(hardware.disks.map(({ name }) => name))).toBe(true)
    expect(unique(hardware.disks.map(({ wwid }) => wwid))).toBe(true)
    expect(unique(hardware.disks.map(({ serial }) => serial))).toBe(true)
    expect(unique(hardware.links.map(({ mac }) => mac))).toBe(true)
    expect(unique(hardware.memory.map(({ locator, bank }) => `${locator} ${bank}`))).toBe(true)
    for (const { mac } of hardware.links) expect(mac).toMatch(/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/)
    for (const { wwid } of hardware.disks)
      expect(wwid).toMatch(/^(eui\.[0-9a-f]{32}|naa\.[0-9a-f]{16})$/)
  })

  test('the hardware models cover both vendors, both memory generations, both kinds of disks, and 25 and 100 GbE', () => {
    const all = MODEL_NAMES.map((model) => hardwareOf('seed', 0, model))
    const processors = all
      .flatMap(({ sockets }) => sockets.map(({ processor }) => processor.product))
      .join()
    expect(processors).toContain('EPYC')
    expect(processors).toContain('Xeon')
    expect(new Set(all.flatMap(({ disks }) => disks.map(({ transport }) => transport)))).toEqual(
      new Set(['nvme', 'sata']),
    )
    const speeds = new Set(all.flatMap(({ links }) => links.map(({ nic }) => nic.speedMegabits)))
    expect(speeds).toContain(25_000)
    expect(speeds).toContain(100_000)
    const memory = new Set(all.flatMap(({ memory }) => memory.map(({ module }) => module?.speed)))
    expect(memory).toContain(3200)
    expect(memory).toContain(4800)
  })
})

describe('scenario', () => {
  test.each([
    ['an unknown field', { nope: 1 }],
    ['too many servers', { servers: 1e6 }],
    ['an unknown datacenter', { datacenters: ['XX-YYY-1'] }],
    ['a Talos that is not simulated', { talos: ['v1.9.0'] }],
    ['an unknown fault', { special: { 1: { faults: [{ kind: 'explode' }] } } }],
    ['an invalid server number', { special: { first: {} } }],
    ['a speed of zero', { speed: 0 }],
  ])('a scenario with %s is refused', (_, scenario) => {
    expect(() => parseScenario(scenario)).toThrow('The scenario is wrong')
  })

  test('a scenario is read from YAML and from JSON', () => {
    const folder = dataFolder()
    writeFileSync(join(folder, 'a.yaml'), 'servers: 3\nspecial:\n  2:\n    missing_disks: true\n')
    writeFileSync(
      join(folder, 'b.json'),
      '{"servers": 3, "special": {"2": {"missing_disks": true}}}',
    )
    writeFileSync(join(folder, 'c.yaml'), 'servers: [')
    expect(readScenario(join(folder, 'a.yaml'))).toEqual(readScenario(join(folder, 'b.json')))
    expect(() => readScenario(join(folder, 'c.yaml'))).toThrow('is no YAML')
    expect(() => readScenario(join(folder, 'none.yaml'))).toThrow("Can't read")
  })
})

test('random numbers are evenly distributed and repeatable', () => {
  const random = seeded('x')
  const counts = [0, 0, 0, 0]
  for (let index = 0; index < 4000; index++) counts[random.int(0, 3)]!++
  for (const count of counts) expect(count).toBeGreaterThan(800)
  expect(seeded('x').hex(8)).toBe(seeded('x').hex(8))
})
