/**
 * A creation on a slow registry, in real time: the image of etcd is pulled for 20 s, and for three
 * minutes in a long run. Each Bootstrap call would begin the pull again, so one call must do, also
 * when Steelyard is killed with −9 in the middle.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { operationGet } from '#contract/operations.ts'
import { longTests } from '../../tools/testing/length.ts'
import { create, ended, findings, openSite, patiently, type Site, signIn } from './testing/world.ts'

const pullMs = longTests ? 180_000 : 20_000
const speed = 20
const fault = { kind: 'slow-pull', image: '/etcd:', ms: pullMs * speed }

let site: Site
beforeAll(
  async () =>
    void (site = await openSite({
      servers: 2,
      seed: 'slow-pull',
      speed,
      special: { 1: { faults: [fault] }, 2: {} },
    })),
)
afterAll(() => site.stop())

test(
  'a creation that is killed while the image of etcd is pulled makes one Bootstrap call and says what is pulled',
  { timeout: pullMs + 180_000 },
  async () => {
    const program = await site.start()
    const call = await signIn(program.url)
    const nodes = await site.take(call, 2)
    const { cluster, operation } = await create(call, site, 'slow', nodes)
    const reason = async (caller: typeof call) =>
      (await patiently(() => caller(operationGet, { params: { id: operation.id } }))).steps.find(
        (s) => s.key === 'bootstrap',
      )!.reason ?? ''
    const until = async (caller: typeof call) => {
      for (let said = ''; !said.includes('is being pulled'); said = await reason(caller))
        await pause(50)
    }
    await until(call)
    await program.kill()
    const next = await signIn((await site.start()).url)
    await until(next)
    // The newest Talos names the tag of etcd without the v.
    expect(await reason(next)).toMatch(
      new RegExp(
        `etcd's image registry\\.k8s\\.io/etcd:v?3\\.\\d+\\.\\d+ is being pulled on ${nodes[0]!.name}`,
      ),
    )
    expect(
      await findings(
        next,
        site,
        cluster.id,
        nodes,
        await ended(next, operation.id, pullMs + 90_000),
      ),
    ).toEqual([])
    const { clusters } = await site.simulator.counters()
    expect(
      clusters
        .filter(({ name }) => name === 'slow')
        .map(({ bootstrapCalls, etcdMade }) => ({ bootstrapCalls, etcdMade })),
    ).toEqual([{ bootstrapCalls: 1, etcdMade: 1 }])
  },
)
