import { expect, test } from 'vitest'
import { addFault, clearFaults } from './machine/trouble.ts'
import { seeded } from './random.ts'
import { cluster, dataFolder, fleet, openSecure, rack, until } from './testing/fleet.ts'
import { renewSecured } from './wire/apid.ts'

const SEEDS = ['falcon', 'heron', 'kestrel']
const STEPS = 25

test.each(SEEDS)('a cluster recovers after random faults (seed %s)', async (seed) => {
  const random = seeded(seed)
  const dataDir = dataFolder()
  const said: string[] = []
  const options = {
    scenario: rack(5),
    dataDir,
    speed: 200,
    say: (line: string) => void said.push(line),
  }
  let simulator = await fleet(options)
  const { bundle } = await cluster(simulator, 3, 2)
  for (let step = 0; step < STEPS; step++) {
    const machine = random.pick(
      simulator.servers as [
        (typeof simulator.servers)[number],
        ...(typeof simulator.servers)[number][],
      ],
    )
    const act = random.int(0, 7)
    if (act <= 1) await machine.lifecycle.powerOff()
    else if (act <= 3) machine.lifecycle.powerOn()
    else if (act === 4)
      await addFault(machine, {
        kind: random.pick(['refuse', 'hang', 'garbage']),
        for_ms: random.int(1, 5000),
      })
    else if (act === 5) machine.lifecycle.request({ kind: 'reboot' })
    else if (act === 6)
      await addFault(machine, {
        kind: 'vanish',
        stage: random.pick(['booting', 'rebooting', 'running']),
      })
    else {
      await simulator.stop()
      simulator = await fleet(options)
    }
    await simulator.clock.sleep(random.int(0, 3000))
  }
  for (const machine of simulator.servers) {
    await clearFaults(machine)
    machine.lifecycle.powerOn()
  }
  await until(
    'everything runs',
    () => simulator.servers.every(({ stage }) => stage.stage === 'running' && stage.ready),
    30_000,
  )
  const members = await (await openSecure(simulator.servers[0]!, bundle)).etcdMembers()
  expect(members.map(({ learner }) => learner)).toEqual([false, false, false])
  expect(simulator.world.etcd.all).toHaveLength(1)
  expect(simulator.servers.map(({ disk }) => disk.state.counters.bootstraps)).toEqual([
    1, 0, 0, 0, 0,
  ])
  expect(said).toEqual([])
})

test('a certificate that arrives after the machine lost power is discarded', async () => {
  const simulator = await fleet({ scenario: rack(1), dataDir: dataFolder(), speed: 200 })
  await cluster(simulator, 1, 0)
  const machine = simulator.servers[0]!
  const renewing = renewSecured(machine)
  machine.goDark()
  await renewing
  expect(machine.identity).toBeNull()
})
