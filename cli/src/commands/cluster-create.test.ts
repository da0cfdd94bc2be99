import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  clusterCreate,
  clusterGet,
  clusterList,
  clusterPreview,
  clusterServerReplace,
} from '#contract/clusters/clusters.ts'
import { datacenterList } from '#contract/datacenters.ts'
import { canWipe } from '#contract/disks/wipe.ts'
import { Problem } from '#contract/errors.ts'
import { operationGet } from '#contract/operations.ts'
import { serverGet, serverList } from '#contract/servers/servers.ts'
import { aCluster, anOperation, aServer, aStep, id, pageOf } from '../testing/things.ts'
import { signedIn, poznan } from '../testing/signed-in.ts'

describe('cluster create', () => {
  async function ready() {
    const { api, cli } = await signedIn()
    const servers = ['cp-1', 'cp-2', 'cp-3', 'w-1'].map((name, i) =>
      aServer({ id: id(i + 1), name }),
    )
    api.on(serverList, ({ query }) => pageOf(servers.filter((s) => s.name.includes(query.q ?? ''))))
    api.on(datacenterList, () => pageOf([poznan]))
    api.on(clusterCreate, ({ body }) => ({
      cluster: aCluster({ name: body.name, status: 'pending' }),
      operation: anOperation(),
    }))
    return { api, cli }
  }

  test('cluster create resolves names to ids and calls the API', async () => {
    const { api, cli } = await ready()
    const ran = await cli.run(
      'cluster create web --datacenter pl-poz-1 --control-plane cp-1,cp-2,cp-3 --worker w-1 --install-disk w-1=nvme0n1 --workload-disk w-1=/dev/sda,w-1=sdb --vlan-id 12 --endpoint 10.0.4.9 --virtual-ip',
    )
    expect(ran).toMatchObject({
      exit: 0,
      out: 'Cluster web is pending\n',
      err: `Watch it: steelyard operation watch ${id(70)}\n`,
    })
    expect(api.callsOf(clusterCreate)[0]!.body).toEqual({
      name: 'web',
      datacenter_id: id(50),
      vlan_id: 12,
      endpoint: '10.0.4.9',
      virtual_ip: true,
      servers: [
        { node_id: id(1), role: 'control_plane' },
        { node_id: id(2), role: 'control_plane' },
        { node_id: id(3), role: 'control_plane' },
        {
          node_id: id(4),
          role: 'worker',
          install_disk: 'nvme0n1',
          workload_disks: ['/dev/sda', 'sdb'],
        },
      ],
    })
  })

  test('a cluster gets its labels, window, image, subnets and snapshots when it is created', async () => {
    const { api, cli } = await ready()
    const ran = await cli.run(
      `cluster create web --datacenter PL-POZ-1 --control-plane cp-1 --label shop=edge --subnet ${id(20)} --extension siderolabs/gvisor --no-kernel-args --window-day sat,sun --window-from 02:30 --window-minutes 240 --snapshot-store ${id(30)} --snapshot-every 6 --snapshot-keep 0`,
    )
    expect(ran.exit).toBe(0)
    expect(api.callsOf(clusterCreate)[0]!.body).toMatchObject({
      labels: { shop: 'edge' },
      subnet_ids: [id(20)],
      extensions: ['siderolabs/gvisor'],
      kernel_args: [],
      maintenance_window: { days: ['sat', 'sun'], from: '02:30', minutes: 240, time_zone: 'UTC' },
      snapshots: { store_id: id(30), every_hours: 6, keep_count: null },
    })
  })

  test.each([
    ['--control-plane cp-1 --window-day sat', 'Invalid window'],
    ['--control-plane cp-1 --snapshot-every 6', 'A schedule of snapshots needs --snapshot-store'],
    ['--template shop --extension siderolabs/gvisor', '--extension is decided by the template'],
    ['--control-plane cp-1,cp-2', 'Choose an odd number of control planes'],
    ['--control-plane cp-1 --worker cp-1', 'cp-1 is named twice'],
    ['--control-plane cp-1 --install-disk cp-2=/dev/sda', 'cp-2 is none of the servers'],
    ['--control-plane cp-1 --install-disk /dev/sda', 'takes SERVER=VALUE'],
    ['--control-plane cp-1 --install-disk cp-1=/dev/sda,cp-1=/dev/sdb', 'given twice'],
    [
      '--control-plane cp-1 --install-disk cp-1=../sda',
      'A disk is given by its id or its device path, such as nvme0n1 or /dev/nvme0n1',
    ],
    ['--control-plane cp-1 --vlan-id 4095', 'VLAN ID must be between 1 and 4094'],
    ['--control-plane cp-1 --pod-cidr 10.244.0.1/16', 'Pod CIDR must be a network'],
  ])(
    'cluster create refuses the options "%s" without sending a request',
    async (options, message) => {
      const { api, cli } = await ready()
      expect(await cli.run(`cluster create web --datacenter PL-POZ-1 ${options}`)).toMatchObject({
        exit: 2,
        err: expect.stringContaining(message) as string,
      })
      expect(api.callsOf(clusterCreate)).toHaveLength(0)
    },
  )

  test('cluster create wipes a disk that is not empty only if the user names that disk', async () => {
    const { api, cli } = await ready()
    const disk = {
      id: 'sda',
      size: 480e9,
      model: 'PM9A3',
      serial: 'S1',
      wwid: 'naa.1',
      content: '2 partitions: 1 vfat, 2 ext4',
    }
    api.on(serverGet, () =>
      aServer({
        id: id(1),
        name: 'cp-1',
        resources: {
          node_addresses: [],
          processors: [],
          memory: [],
          interfaces: [],
          disks: [disk],
        },
      }),
    )
    api.on(clusterCreate, ({ body }) => {
      if (
        !canWipe(
          [{ server: 'cp-1', disks: [disk], devices: ['/dev/sda'], kept: null }],
          body.confirmed_disks,
        ).ok
      )
        throw new Problem('disk_not_confirmed', '/dev/sda holds 2 partitions')
      return { cluster: aCluster({ name: body.name, status: 'pending' }), operation: anOperation() }
    })
    const line = 'cluster create web --datacenter PL-POZ-1 --control-plane cp-1'
    const silent = await cli.run(line)
    expect(silent).toMatchObject({
      exit: 6,
      err: expect.stringContaining("Confirm the disk: --confirm-disk 'SERIAL=CONTENT'") as string,
    })
    expect(api.callsOf(clusterCreate)).toHaveLength(1)

    expect((await cli.run(line, { ask: () => Promise.resolve('S2') })).err).toContain(
      'Nothing was done',
    )
    expect(api.callsOf(clusterCreate)).toHaveLength(2)

    const typed = await cli.run(line, { ask: () => Promise.resolve('S1') })
    expect(typed).toMatchObject({ exit: 0 })
    expect(api.callsOf(clusterCreate)[3]!.body).toMatchObject({
      confirmed_disks: [{ wwid: 'naa.1', serial: 'S1', content: disk.content }],
    })

    const argv = [...line.split(' '), '--confirm-disk', `S1=${disk.content}`]
    expect(await cli.run(argv)).toMatchObject({ exit: 0 })
    expect((await cli.run([...line.split(' '), '--confirm-disk', 'S1=xfs'])).exit).toBe(6)
  })

  test('cluster create reads patches from files, for all servers or for one', async () => {
    const { api, cli } = await ready()
    const [all, own, bad] = ['edge-net.yaml', 'cp-only.yml', 'Not A Name.yaml'].map((name) =>
      join(cli.folder, name),
    ) as [string, string, string]
    const body = 'machine:\n  sysctls:\n    vm.swappiness: "1"\n'
    for (const file of [all, own, bad]) await writeFile(file, body)
    const line = [
      'cluster',
      'create',
      'web',
      '--datacenter',
      'PL-POZ-1',
      '--control-plane',
      'cp-1',
      '--worker',
      'w-1',
    ]
    expect(await cli.run([...line, '--patch', all, '--patch', `cp-1=${own}`])).toMatchObject({
      exit: 0,
    })
    const sent = api.callsOf(clusterCreate)[0]!.body as { servers: { patch?: object }[] }
    expect(sent.servers.map((s) => s.patch)).toEqual([
      { name: 'cp-only', weight: 500, labels: {}, body },
      { name: 'edge-net', weight: 500, labels: {}, body },
    ])
    // As the help says: comma-separated, or repeated.
    for (const several of [
      ['--patch', `cp-1=${own},w-1=${all}`],
      ['--patch', `cp-1=${own}`, '--patch', `w-1=${all}`],
      ['--patch', `${all},cp-1=${own}`],
    ]) {
      expect(await cli.run([...line, ...several])).toMatchObject({ exit: 0 })
      expect(api.callsOf(clusterCreate).pop()!.body).toEqual(sent)
      api.calls.pop()
    }
    expect(await cli.run([...line, '--patch', bad])).toMatchObject({
      exit: 2,
      err: expect.stringContaining('Patch name can only contain') as string,
    })
    expect(await cli.run([...line, '--patch', all, '--patch', own])).toMatchObject({
      exit: 2,
      err: expect.stringContaining('--patch is given twice') as string,
    })
    expect(await cli.run([...line, '--patch', join(cli.folder, 'gone.yaml')])).toMatchObject({
      exit: 1,
      err: expect.stringContaining('cannot be read') as string,
    })
    expect(api.callsOf(clusterCreate)).toHaveLength(1)
  })

  test('if a disk is not empty, `cluster replace` asks the user to type its name', async () => {
    const { api, cli } = await ready()
    const disk = {
      id: 'sda',
      size: 480e9,
      model: 'PM9A3',
      serial: 'S1',
      wwid: 'naa.1',
      content: 'ZFS member "tank"',
    }
    api.on(serverList, () => pageOf([aServer({ id: id(2), name: 'spare' })]))
    api.on(serverGet, () =>
      aServer({
        id: id(2),
        name: 'spare',
        resources: {
          node_addresses: [],
          processors: [],
          memory: [],
          interfaces: [],
          disks: [disk],
        },
      }),
    )
    api.on(clusterList, () => pageOf([aCluster({ id: id(3), name: 'web' })]))
    api.on(clusterGet, () =>
      aCluster({
        id: id(3),
        name: 'web',
        status: 'failed',
        servers: [{ node_id: id(1), name: 'cp-1', role: 'control_plane' }],
      }),
    )
    api.on(clusterServerReplace, ({ body }) => {
      const verdict = canWipe(
        [{ server: 'spare', disks: [disk], devices: ['/dev/sda'], kept: null }],
        body.confirmed_disks,
      )
      if (!verdict.ok) throw new Problem('disk_not_confirmed', verdict.reason)
      return { operation: anOperation() }
    })
    expect(await cli.run('cluster replace web cp-1')).toMatchObject({
      exit: 2,
      err: expect.stringContaining('--by is missing') as string,
    })
    const line = 'cluster replace web cp-1 --by spare'
    expect(await cli.run(line)).toMatchObject({
      exit: 6,
      err: expect.stringContaining('it holds ZFS member "tank"') as string,
    })
    expect((await cli.run(line, { ask: () => Promise.resolve('S1') })).out).toBe(
      'spare takes the place of cp-1 in web\n',
    )
    const argv = [...line.split(' '), '--confirm-disk', `naa.1=${disk.content}`]
    expect(await cli.run(argv)).toMatchObject({ exit: 0 })
    expect(api.callsOf(clusterServerReplace).at(-1)).toMatchObject({
      params: { id: id(3), node_id: id(1) },
      body: { node_id: id(2), confirmed_disks: [{ wwid: 'naa.1', content: disk.content }] },
    })
    expect((await cli.run([...line.split(' '), '--confirm-disk', 'naa.1=empty'])).exit).toBe(6)
  })

  test('cluster create --wait shows the steps, and exits with the result of the operation', async () => {
    const { api, cli } = await ready()
    api.on(operationGet, () =>
      anOperation({
        status: 'failed',
        reason: 'cp-1 does not answer',
        steps: [aStep({ status: 'failed', attempt: 3, reason: 'no answer' })],
      }),
    )
    api.on(clusterGet, () => aCluster({ status: 'failed', reason: 'cp-1 does not answer' }))
    const ran = await cli.run(
      'cluster create web --datacenter PL-POZ-1 --control-plane cp-1 --wait --json',
    )
    expect(ran.exit).toBe(1)
    expect(JSON.parse(ran.out)).toMatchObject({
      cluster: { status: 'failed' },
      operation: { status: 'failed' },
    })
    expect(ran.err).toContain('failed (attempt 3)  Apply: no answer')
    expect(ran.err).toContain(
      'With one control plane, the cluster is down while that server is down.',
    )
  })

  test('cluster create --dry-run shows what would be done', async () => {
    const { api, cli } = await ready()
    api.on(clusterPreview, () => ({
      servers: [{ node_id: id(1), name: 'cp-1', config: '', warnings: ['One disk only'] }],
      losses: [],
      checks: [{ check: 'endpoint', ok: false, message: 'The address is in use' }],
      steps: [{ key: 'secrets', title: 'Make the secrets', node_id: null }],
    }))
    const ran = await cli.run(
      'cluster create web --datacenter PL-POZ-1 --control-plane cp-1 --dry-run',
    )
    expect(ran).toMatchObject({
      exit: 1,
      out: 'CHECK     OK  MESSAGE\nendpoint  no  The address is in use\nWarning, cp-1: One disk only\n\nSTEPS\nMake the secrets\n',
    })
    expect(api.callsOf(clusterCreate)).toHaveLength(0)
  })
})
