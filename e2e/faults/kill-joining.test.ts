import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { joinTokenArrivals, joinTokenCreate, joinTokenGet } from '#contract/join-tokens.ts'
import { serverList } from '#contract/servers/servers.ts'
import { longTests } from '../../tools/testing/length.ts'
import type { Caller } from '../../tools/api-client.ts'
import { freePort } from '../../tools/processes.ts'
import { openSite, patiently, signIn } from './testing/world.ts'

const count = longTests ? 60 : 8
/** Numbers of joined servers at which the program is killed. */
const killedAt = longTests ? [0, 1, 20] : [4]
const site = await openSite({ servers: 1, seed: 'kill-joining', speed: 20 })
afterAll(() => site.stop())

test(
  'servers that boot while the program is repeatedly killed with −9 all join, and none joins twice',
  { timeout: 400_000 },
  async () => {
    // The kernel command line of the machines names the port, so the program must use the same port
    // after each restart.
    const settings = { PORT: String(await freePort()) }
    let program = await site.start(settings)
    let call: Caller = await signIn(program.url)
    const { id, kernel_argument } = await call(joinTokenCreate, {
      body: { name: 'kill', max_uses: count, datacenter_id: site.datacenterId },
    })
    const joined = async () => {
      const { items } = await patiently(() =>
        call(joinTokenArrivals, { params: { id }, query: { per_page: 1000 } }),
      )
      return items.filter((a) => a.result === 'joined').length
    }
    // An arrival that was in work at two kills in a row waits a minute before it is tried again.
    const until = async (least: number) => {
      for (const end = Date.now() + 200_000; ;) {
        const now = await joined()
        if (now >= least) return
        if (Date.now() > end) throw new Error(`${now} of ${least} have joined within 200 s`)
        await pause(50)
      }
    }
    const { servers: booted } = await site.simulator.ask<{ servers: { uuid: string }[] }>(
      'POST',
      '/boot',
      {
        kernel_command_line: `talos.platform=metal ${kernel_argument}`,
        count,
      },
    )
    // Kill while announcements arrive, while machines are dialled, and after many machines have
    // joined.
    for (const least of killedAt) {
      await until(least)
      await program.kill()
      program = await site.start(settings)
      call = await signIn(program.url)
    }
    await until(count)
    const { items } = await call(serverList, { query: { per_page: 1000 } })
    const uuids = items.flatMap((s) => s.identity.uuid ?? [])
    expect(uuids.toSorted()).toEqual(booted.map((s) => s.uuid).toSorted())
    expect(new Set(items.map((s) => s.name)).size).toBe(count)
    expect(
      items.every(
        (s) => s.identity.state === 'confirmed' && s.datacenter?.id === site.datacenterId,
      ),
    ).toBe(true)
    expect(await call(joinTokenGet, { params: { id } })).toMatchObject({
      uses: count,
      status: 'used_up',
    })
  },
)
