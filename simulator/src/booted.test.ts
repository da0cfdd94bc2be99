import { X509Certificate } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import { gzipSync } from 'node:zlib'
import { connect } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { readCertificate } from '#talos/client/connect.ts'
import { readStatus } from '#talos/client/inventory.ts'
import { resources } from '#talos/client/resources.ts'
import { ask } from './control/ask.ts'
import { populate } from './machine/acquire.ts'
import type { Machine } from './machine/machine.ts'
import {
  cluster,
  dataFolder,
  fleet,
  openMaintenance,
  openSecure,
  rack,
  until,
} from './testing/fleet.ts'

const LINE = 'talos.platform=metal console=tty0'

interface Door {
  url: string
  /** Requests in order, with their source address. */
  calls: { from: string; path: string }[]
  answer: (request: IncomingMessage, response: ServerResponse) => void
}

/** A server to which machines announce themselves. */
const door = async (answer: Door['answer']): Promise<Door> => {
  const made: Door = { url: '', calls: [], answer }
  const server = createServer((request, response) => {
    made.calls.push({ from: request.socket.remoteAddress ?? '', path: request.url ?? '' })
    made.answer(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  made.url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
  return made
}

const named = (hostname: string): string =>
  `apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: ${hostname}\n`
const STABLE = 'apiVersion: v1alpha1\nkind: HostnameConfig\nauto: stable\n'
const says =
  (text: string | Buffer, status = 200): Door['answer'] =>
  (_, response) =>
    void response.writeHead(status).end(text)
const announcing = ({ url }: Door): string =>
  `${LINE} talos.config=${url}/join/token?uuid=\${uuid}&serial=\${SERIAL}&mac=\${mac}`
const inMaintenance = async (...machines: Machine[]): Promise<void> => {
  await until('maintenance', () =>
    machines.every((machine) => machine.stage.stage === 'maintenance'),
  )
}

test('URL variables are expanded as Talos does', () => {
  const known = { uuid: 'U-1', serial: 'S 1/2', mac: 'aa:bb:cc:dd:ee:ff', hostname: '', code: '' }
  const cases = {
    'http://h/a?uuid=${uuid}&serial=${serial}&mac=${mac}':
      'http://h/a?mac=aa%3Abb%3Acc%3Add%3Aee%3Aff&serial=S+1%2F2&uuid=U-1',
    'http://h/a?z=1&u=%24%7BUuid%7D-${UUID}': 'http://h/a?u=U-1-U-1&z=1',
    'http://h/${uuid}?b=2&a=1': 'http://h/${uuid}?b=2&a=1',
    'http://h/a?uuid=&b=2': 'http://h/a?b=2&uuid=U-1',
    'http://h/a?uuid': 'http://h/a?uuid=U-1',
    "http://h/a?x=!'()*~&s=${serial}": 'http://h/a?s=S+1%2F2&x=%21%27%28%29%2A~',
    'http://h/a?bad=%zz&a;b=1&u=${uuid}': 'http://h/a?u=U-1',
  }
  expect(
    Object.fromEntries(Object.keys(cases).map((source) => [source, populate(source, known).url])),
  ).toEqual(cases)
  expect(populate('http://h/a?n=${hostname}&u=${uuid}', known)).toEqual({
    url: 'http://h/a?n=%24%7Bhostname%7D&u=U-1',
    missing: ['hostname'],
  })
})

test('machines announce themselves from their own addresses, and wait in maintenance with the host name that the server returns', async () => {
  const open = await door(says(named('sy-1234')))
  const simulator = await fleet({ scenario: rack(1) })
  const machines = await simulator.boot({ kernel_command_line: announcing(open), count: 4 })
  expect(new Set(machines.map(({ disk }) => disk.identity.uuid)).size).toBe(4)
  expect(new Set(machines.map(({ plan }) => plan.address.split('.')[2]))).toEqual(
    new Set([String(Number(simulator.servers[0]!.plan.address.split('.')[2]) + 1)]),
  )
  await inMaintenance(...machines)
  expect(open.calls.map(({ from }) => from).toSorted()).toEqual(
    machines.map(({ plan }) => plan.address).toSorted(),
  )
  const [machine] = machines
  const { uuid, serial } = machine!.disk.identity
  expect(open.calls.find(({ from }) => from === machine!.plan.address)?.path).toBe(
    `/join/token?mac=${encodeURIComponent(machine!.managementLink.mac)}&serial=${serial}&uuid=${uuid}`,
  )
  expect(await readStatus(await openMaintenance(machine!))).toMatchObject({
    hostname: 'sy-1234',
    stage: 'maintenance',
  })
  expect(await namesOf(machine!)).toContain('DNS:sy-1234')
  expect(await ask(simulator.control, 'GET', `/servers/${uuid}`)).toMatchObject({
    hostname: 'sy-1234',
    booted: true,
    stage: 'maintenance',
  })
})

const namesOf = async ({ plan }: Machine): Promise<string> => {
  const socket = connect({
    host: plan.address,
    port: 50_000,
    rejectUnauthorized: false,
    ALPNProtocols: ['h2'],
  })
  await once(socket, 'secureConnect')
  const certificate = new X509Certificate(socket.getPeerX509Certificate()!.raw)
  socket.destroy()
  return certificate.subjectAltName ?? ''
}

test('a machine retries until it gets a valid document, and enters maintenance only after that', async () => {
  const open = await door(says('wait', 503))
  const simulator = await fleet({ scenario: rack(1) })
  const [machine] = await simulator.boot({ kernel_command_line: announcing(open) })
  for (const answer of [
    says('no', 404),
    says('', 200),
    says('', 204),
    says('# nothing\n'),
    says('kind: Nonsense\n'),
    says('apiVersion: v1alpha1\nkind: HostnameConfig\n'),
  ]) {
    const before = open.calls.length
    open.answer = answer
    await until('two more calls', () => open.calls.length >= before + 2)
    expect([machine!.stage.stage, machine!.mode]).toEqual(['booting', 'off'])
  }
  expect(machine!.journal.kernelLines.since(0).join('\n')).toMatch(
    /status code 404, body "no"[\s\S]*config not found/,
  )
  await expect(readCertificate({ host: machine!.plan.address })).rejects.toMatchObject({
    kind: 'unreachable',
  })
  open.answer = says(gzipSync(STABLE))
  await inMaintenance(machine!)
  expect(machine!.hostname).toMatch(/^talos-[0-9a-z]{3}-[0-9a-z]{3}$/)
})

test('a machine without a configuration URL enters maintenance at once', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const [one] = await simulator.boot({ kernel_command_line: LINE })
  const [other] = await simulator.boot({ kernel_command_line: `${LINE} talos.config=none` })
  const [called] = await simulator.boot({ kernel_command_line: `${LINE} talos.hostname=rack-7` })
  await inMaintenance(one!, other!, called!)
  expect(called!.hostname).toBe('rack-7')
  const boot = (body: object): Promise<unknown> => ask(simulator.control, 'POST', '/boot', body)
  await expect(boot({ kernel_command_line: 'talos.config=http://h/' })).rejects.toThrow(
    'talos.platform=metal',
  )
  await expect(boot({ kernel_command_line: LINE, count: 0 })).rejects.toThrow('count')
  await expect(boot({ kernel_command_line: LINE, datacenter: 'XX-XXX-1' })).rejects.toThrow(
    'datacenter',
  )
  const last = Number(simulator.servers[0]!.plan.address.split('.')[2])
  await expect(boot({ kernel_command_line: LINE, count: (255 - last) * 250 })).rejects.toThrow(
    /count|no room/,
  )
})

test('a rebooted machine announces itself again from its current address', async () => {
  const open = await door(says(STABLE))
  const dataDir = dataFolder()
  const simulator = await fleet({ scenario: rack(1), dataDir })
  const [machine] = await simulator.boot({
    kernel_command_line: announcing(open),
    datacenter: 'PL-POZ-1',
  })
  const { address, name } = machine!.plan
  expect(address.split('.')[2]).toBe(simulator.servers[0]!.plan.address.split('.')[2])
  await inMaintenance(machine!)
  await ask(simulator.control, 'POST', `/servers/${name}/power-off`)
  await ask(simulator.control, 'POST', `/servers/${name}/power-on`)
  await until('it announced itself again', () => open.calls.length === 2)
  await inMaintenance(machine!)
  const { nextAddress } = (await ask(simulator.control, 'POST', `/servers/${name}/move`)) as {
    nextAddress: string
  }
  expect([machine!.plan.address, nextAddress === address]).toEqual([address, false])
  await expect(
    ask(simulator.control, 'POST', `/servers/${name}/move`, {
      address: simulator.servers[0]!.plan.address,
    }),
  ).rejects.toThrow('is taken')
  await expect(
    ask(simulator.control, 'POST', `/servers/${name}/move`, { address: '10.0.0.1' }),
  ).rejects.toThrow('127.20.0.0/16')
  machine!.lifecycle.request({ kind: 'reboot' })
  await until('it announced itself from there', () => open.calls.at(-1)?.from === nextAddress)
  await inMaintenance(machine!)
  expect((await readCertificate({ host: nextAddress })).fingerprint).not.toBe('')
  await expect(readCertificate({ host: address })).rejects.toMatchObject({ kind: 'unreachable' })
  await simulator.stop()
  // Now the scenario has three servers. One gets the machine's first address, but none may get the
  // machine's current address.
  const again = await fleet({ scenario: rack(3), dataDir })
  const found = again.server(name)
  await until('it announced itself after the restart', () => open.calls.length === 4)
  expect(
    again.servers.map(({ plan }) => plan.address).filter((own) => own === found.plan.address),
  ).toHaveLength(1)
  expect(found.disk.identity).toEqual(machine!.disk.identity)
  await inMaintenance(found)
  await ask(again.control, 'DELETE', `/servers/${name}`)
  await expect(ask(again.control, 'GET', `/servers/${name}`)).rejects.toThrow(
    'There is no simulated server',
  )
  await expect(ask(again.control, 'DELETE', '/servers/poz-01')).rejects.toThrow(
    'belongs to the scenario',
  )
})

test.each(['v1.13.9', 'v1.14.1'])(
  "a machine of Talos %s with a configuration on its disk doesn't fetch one until the disk is wiped",
  async (talos) => {
    const open = await door(says(STABLE))
    const simulator = await fleet({ scenario: rack(1) })
    const made = await fetch(`${simulator.factory.url}/schematics`, {
      method: 'POST',
      body: JSON.stringify({
        customization: { extraKernelArgs: [announcing(open).split(' ').at(-1)] },
      }),
    })
    const { id } = (await made.json()) as { id: string }
    const [machine] = await simulator.boot({
      talos,
      kernel_command_line: announcing(open),
    })
    expect(machine!.schematic).toBe(id)
    await inMaintenance(machine!)
    const { bundle } = await cluster({ servers: [machine!] }, 1, 0)
    // Since Talos 1.14 the installation ends with a reboot that is requested as well.
    const { reboots } = machine!.disk.state.counters
    machine!.lifecycle.request({ kind: 'reboot' })
    await until(
      'it is up again',
      () =>
        machine!.disk.state.counters.reboots === reboots + 1 && machine!.stage.stage === 'running',
    )
    expect(open.calls).toHaveLength(1)
    const client = await openSecure(machine!, bundle)
    await client.reset({
      graceful: false,
      reboot: true,
      mode: 'system_disk',
      systemPartitions: ['STATE', 'EPHEMERAL'],
    })
    await until('it asks again', () => open.calls.length === 2)
    await inMaintenance(machine!)
    expect(machine!.bootedFromDisk).toBe(true)
  },
)

test('simulated machines can announce false or shared identities, or never answer', async () => {
  const open = await door(says(STABLE))
  const simulator = await fleet({ scenario: rack(1) })
  const other = '11111111-2222-4333-8444-555555555555'
  const kernel_command_line = announcing(open)
  const [liar] = await simulator.boot({
    kernel_command_line,
    announce: { uuid: other, serial: 'X', mac: '00:00:00:00:00:00' },
  })
  await inMaintenance(liar!)
  expect(open.calls.at(-1)?.path).toBe(
    `/join/token?mac=00%3A00%3A00%3A00%3A00%3A00&serial=X&uuid=${other}`,
  )
  expect(liar!.disk.identity.uuid).not.toBe(other)
  const twins = await simulator.boot({
    kernel_command_line,
    count: 2,
    uuid: simulator.servers[0]!.disk.identity.uuid,
  })
  await inMaintenance(...twins)
  expect(new Set(twins.map(({ disk }) => disk.identity.uuid))).toEqual(
    new Set([simulator.servers[0]!.disk.identity.uuid]),
  )
  expect(new Set(twins.map(({ disk }) => disk.identity.serial)).size).toBe(2)
  const [mute] = await simulator.boot({
    kernel_command_line,
    faults: [{ kind: 'refuse', port: 'apid' }],
  })
  await inMaintenance(mute!)
  await expect(readCertificate({ host: mute!.plan.address })).rejects.toMatchObject({
    kind: 'unreachable',
  })
})

test('a machine gets the newest image whose kernel arguments are all in its command line', async () => {
  const simulator = await fleet({ scenario: rack(1) })
  const post = async (customization: object): Promise<string> =>
    (
      (await (
        await fetch(`${simulator.factory.url}/schematics`, {
          method: 'POST',
          body: JSON.stringify({ customization }),
        })
      ).json()) as { id: string }
    ).id
  await post({
    extraKernelArgs: ['panic=10'],
    systemExtensions: { officialExtensions: ['siderolabs/zfs'] },
  })
  const newest = await post({
    extraKernelArgs: ['panic=10'],
    systemExtensions: { officialExtensions: ['siderolabs/gvisor', 'siderolabs/lldpd'] },
  })
  await post({ extraKernelArgs: ['panic=10', 'quiet'] })
  const [machine] = await simulator.boot({ kernel_command_line: `${LINE} panic=10` })
  await inMaintenance(machine!)
  expect(machine!.schematic).toBe(newest)
  const client = await openMaintenance(machine!)
  expect(await readStatus(client)).toMatchObject({ schematic: newest })
  const { items } = await client.list(resources.extension)
  expect(items.map(({ spec }) => spec.metadata?.name)).toEqual([
    'gvisor',
    'lldpd',
    'schematic',
    'modules.dep',
  ])
})

test('two hundred machines can boot concurrently', async () => {
  const open = await door(says(STABLE))
  const simulator = await fleet({ scenario: rack(1) })
  const machines = await simulator.boot({ kernel_command_line: announcing(open), count: 200 })
  await inMaintenance(...machines)
  expect(new Set(open.calls.map(({ from }) => from)).size).toBe(200)
})
