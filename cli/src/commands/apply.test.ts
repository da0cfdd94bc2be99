import { writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { appliedMove } from '#contract/apply/applied.ts'
import { clusterCreate, clusterDelete } from '#contract/clusters/clusters.ts'
import { datacenterCreate, datacenterUpdate } from '#contract/datacenters.ts'
import { Problem } from '#contract/errors.ts'
import { subnetUpdate } from '#contract/network/subnets.ts'
import { patchMask, patchUpdate } from '#contract/patches.ts'
import { serverUpdate } from '#contract/servers/servers.ts'
import { id } from '../testing/things.ts'
import { withRack, rack, writes, datacenter, subnet } from '../testing/rack.ts'

describe('apply', () => {
  test('the first plan creates everything in order, and the second is empty', async () => {
    const { there, apply, diff } = await withRack()
    const first = await apply(rack)
    expect(first.exit).toBe(0)
    expect(first.out).toContain('6 to create, 2 to change, 0 to remove, 0 unchanged')
    expect(writes(there)).toEqual([
      'datacenterCreate',
      'joinTokenCreate',
      'serverUpdate',
      'serverUpdate',
      'subnetCreate',
      'imageCreate',
      'patchCreate',
      'clusterCreate',
    ])
    expect(there.servers.map((s) => s.name)).toEqual(['cp-1', 'w-1'])
    expect(there.applied.map((a) => `${a.kind} ${a.set}`)).toEqual(
      ['datacenter', 'join_token', 'subnet', 'image', 'patch', 'cluster'].map(
        (kind) => `${kind} default`,
      ),
    )
    const second = await apply(rack, '')
    expect(second).toMatchObject({
      exit: 0,
      out: '0 to create, 0 to change, 0 to remove, 8 unchanged\n',
    })
    expect((await diff(rack)).exit).toBe(0)
    expect(writes(there)).toHaveLength(8)
  })

  test('an export, applied to an empty installation, creates the same objects, and the next plan is empty', async () => {
    const furnished = await withRack()
    expect((await furnished.apply(rack)).exit).toBe(0)
    const exported = await furnished.cli.run('export')
    expect(exported).toMatchObject({ exit: 0, err: '' })
    const empty = await withRack()
    const first = await empty.apply(exported.out)
    expect({
      ...first,
      out: first.out.split('\n').filter((line) => /^(?:failed|not done)/.test(line)),
    }).toMatchObject({ exit: 0, out: [] })
    expect(first.out).toContain('6 to create, 2 to change')
    expect((await empty.apply(exported.out, '')).out).toBe(
      '0 to create, 0 to change, 0 to remove, 8 unchanged\n',
    )
    expect((await empty.cli.run('export')).out).toBe(exported.out)
  })

  test('only changed fields are sent, with the version that the plan has read', async () => {
    const { there, apply, diff } = await withRack()
    await apply(datacenter)
    const changed = datacenter.replace('tier: 3', 'tier: 4')
    expect(await diff(changed)).toMatchObject({
      exit: 1,
      out: '~ datacenter PL-POZ-1\n    tier: 3 → 4\n0 to create, 1 to change, 0 to remove, 0 unchanged\n',
    })
    expect((await apply(changed)).exit).toBe(0)
    const [call] = there.api.callsOf(datacenterUpdate)
    expect(call).toMatchObject({ body: { tier: 4 }, headers: { 'if-match': '"1"' } })
    expect((await apply(datacenter.replace('tier: 3\n', ''))).out).toContain('tier: 4 → none')
    expect(there.datacenters[0]!.tier).toBeNull()
  })

  test('the spelling of networks does not matter', async () => {
    const { there, apply } = await withRack()
    await apply(`${datacenter}---\n${subnet}`)
    expect(there.subnets[0]!.exclude).toEqual(['198.18.7.4-198.18.7.9'])
    expect(
      (
        await apply(
          `${datacenter}---\n${subnet.replace('198.18.7.9, 198.18.7.4-198.18.7.8', '198.18.7.4-198.18.7.9')}`,
          '',
        )
      ).out,
    ).toContain('2 unchanged')
  })

  test('servers that exchange their names are renamed by way of a temporary name', async () => {
    const { there, apply } = await withRack()
    const ran = await apply(
      `kind: server\nuuid: ${id(901)}\nname: server-2\n---\nkind: server\nuuid: ${id(902)}\nname: server-1\n`,
    )
    expect(ran.exit).toBe(0)
    expect(there.servers.map((s) => s.name)).toEqual(['server-2', 'server-1'])
    expect(there.api.callsOf(serverUpdate)).toHaveLength(3)
  })

  test('documents of servers that are not registered yet wait, and so does what needs these servers', async () => {
    const { there, apply } = await withRack([])
    const ran = await apply(rack)
    expect(ran.exit).toBe(0)
    expect(ran.out).toContain(
      `server cp-1 waits: no server with the system UUID ${id(901)} is registered yet`,
    )
    expect(ran.out).toContain('cluster web waits')
    expect(there.clusters).toEqual([])
    expect(there.subnets).toHaveLength(1)
  })

  test('a secret that cannot be compared is sent again, and the mask stands for the stored one', async () => {
    const { there, apply, diff } = await withRack()
    const secret = (value: string) =>
      `kind: patch\nserver: server-1\nname: vpn\nbody: |\n  key: ${value}\n  port: 1\n`
    expect(await apply(secret(patchMask))).toMatchObject({
      exit: 6,
      err: expect.stringContaining('Enter the secret itself') as string,
    })
    expect((await apply(secret('abc'))).exit).toBe(0)
    there.patches[0]!.body = `key: ${patchMask}\nport: 1\n`
    expect((await apply(secret(patchMask), '')).out).toContain('1 unchanged')
    expect((await diff(secret('abc'))).exit).toBe(0)
    expect((await apply(secret('abc'))).out).toContain(
      '? patch vpn of server-1 (its secrets cannot be compared, so they are sent again)',
    )
    expect(there.api.callsOf(patchUpdate).at(-1)!.body).toEqual({ body: 'key: abc\nport: 1\n' })
  })

  test('fields of a cluster that cannot change are refused with their lines, and nothing is changed', async () => {
    const { there, apply } = await withRack()
    await apply(rack)
    const before = writes(there).length
    const ran = await apply(
      rack.replace('name: web\n', 'name: web\nvlan_id: 7\n').replace('tier: 3', 'tier: 4'),
    )
    expect(ran).toMatchObject({ exit: 6, out: '' })
    expect(ran.err).toMatch(
      /racks\.yaml:\d+: vlan_id of a cluster cannot be changed after its creation: it is null, not 7\nNothing was changed\n/,
    )
    expect(writes(there)).toHaveLength(before)
  })
})

describe('a run that cannot finish', () => {
  test('each line says whether it was done, and the same command continues', async () => {
    const { there, cli, file, apply } = await withRack()
    const { api } = there
    let refused = true
    const text = `${datacenter}---\n${subnet}---\n${subnet.replace('edge-pool', 'other').replaceAll('198.18.7.', '198.18.8.')}`
    there.beforeSubnet = () => {
      if (refused) throw new Problem('subnet_overlap', 'Overlaps with the subnet x')
    }
    const ran = await apply(text)
    expect(ran.exit).toBe(6)
    expect(ran.out).toContain(
      `created   datacenter PL-POZ-1\nfailed    subnet edge-pool: Overlaps with the subnet x (${file}:6)\nnot done  subnet other\n`,
    )
    expect(ran.err).toBe(
      'Overlaps with the subnet x. 1 of 3 lines of the plan are done\nTo continue, run the same command again\n',
    )
    refused = false
    expect((await cli.run(`apply -f ${file} --yes`)).out).toContain(
      '2 to create, 0 to change, 0 to remove, 1 unchanged',
    )
    expect(api.callsOf(datacenterCreate)).toHaveLength(1)
  })

  test('an object that somebody changes after the plan was shown is not overwritten', async () => {
    const { there, cli, file, apply } = await withRack()
    await apply(datacenter)
    const ask = async () => {
      there.datacenters[0]!.version = 7
      return 'yes'
    }
    await writeFile(file, datacenter.replace('tier: 3', 'tier: 4'))
    const ran = await cli.run(`apply -f ${file}`, { ask })
    expect(ran).toMatchObject({
      exit: 6,
      err: expect.stringContaining('This object has changed. 0 of 1 line') as string,
    })
  })

  test('Steelyard that stops answering ends the run with the code for another try', async () => {
    const { there, apply } = await withRack()
    there.beforeSubnet = () => {
      throw new Problem(
        'unavailable',
        'Steelyard is stopping. Please try again in a moment.',
        undefined,
        3600,
      )
    }
    expect(await apply(`${datacenter}---\n${subnet}`)).toMatchObject({
      exit: 7,
      err: expect.stringContaining('1 of 2 lines') as string,
    })
  })

  test('Ctrl-C ends the run between two lines', async () => {
    const { there, cli, file } = await withRack()
    there.beforeSubnet = () => cli.interrupt.abort()
    await writeFile(
      file,
      `${datacenter}---\n${subnet}---\n${subnet.replace('edge-pool', 'other').replaceAll('198.18.7.', '198.18.8.')}`,
    )
    const ran = await cli.run(`apply -f ${file} --yes`)
    expect(ran).toMatchObject({
      exit: 130,
      out: expect.stringContaining(
        'created   subnet edge-pool\nnot done  subnet other\n',
      ) as string,
    })
  })

  test('without a terminal the plan is shown, and nothing is changed unless --yes is given', async () => {
    const { there, apply } = await withRack()
    expect(await apply(datacenter, '')).toMatchObject({
      exit: 2,
      out: expect.stringContaining('1 to create') as string,
      err: expect.stringContaining('--yes') as string,
    })
    expect(writes(there)).toEqual([])
  })

  test('an answer other than yes changes nothing', async () => {
    const { there, cli, file } = await withRack()
    await writeFile(file, datacenter)
    expect(await cli.run(`apply -f ${file}`, { ask: async () => 'y' })).toMatchObject({
      exit: 1,
      err: 'Nothing was done\n',
    })
    expect(writes(there)).toEqual([])
  })
})

describe('prune', () => {
  test('prune removes only what an earlier apply of the set has created', async () => {
    const { there, apply } = await withRack()
    await apply(rack)
    there.subnets.push({
      ...there.subnets[0]!,
      id: id(5000),
      name: 'by-hand',
      cidr: '198.18.9.0/26',
      clusters: [],
    })
    const kept = rack.split('---\n').filter((d) => !/kind: (?:subnet|patch|image)/.test(d))
    const rest = kept.join('---\n').replace('subnets: [edge-pool]\n', 'subnets: []\n')
    const ran = await apply(rest, '--prune --yes')
    expect(ran.out).toContain('    patch sysctls of w-1: 2 lines → none')
    expect(ran.out).toContain('- subnet edge-pool\n')
    expect(ran.exit).toBe(0)
    expect(there.subnets.map((s) => s.name)).toEqual(['by-hand'])
    expect([there.patches, there.images]).toEqual([[], []])
    expect((await apply(rest, '--prune')).out).toContain('0 to remove')
  })

  test('a cluster is removed only if it is named, and before what it uses', async () => {
    const { there, apply } = await withRack()
    await apply(rack)
    const without = datacenter
    const noted = await apply(`${without}---\n${subnet}`, '--prune --yes')
    expect(noted.out).toContain(
      'The cluster web is in no document. It is removed only with --prune-cluster web',
    )
    expect(there.clusters).toHaveLength(1)
    expect(await apply(without, '--prune --prune-cluster other --yes')).toMatchObject({
      exit: 2,
      err: expect.stringContaining('removes nothing') as string,
    })
    expect(await apply(without, '--prune-cluster web --yes')).toMatchObject({
      exit: 2,
      err: '--prune-cluster needs --prune\n',
    })
    const ran = await apply(without, '--prune --prune-cluster web --yes')
    expect(ran).toMatchObject({ exit: 0, err: 'Delete cluster web: done\n' })
    expect(ran.out).toContain('its servers are wiped: cp-1, w-1')
    const removed = writes(there).slice(-2)
    expect(removed).toEqual(['clusterDelete', 'subnetRemove'])
    expect(there.api.callsOf(clusterDelete)).toHaveLength(1)
  })

  test('an object that a document needs is not pruned', async () => {
    const { there, apply } = await withRack()
    await apply(`${datacenter}---\n${subnet}`)
    const ran = await apply(subnet, '--prune --yes')
    expect(ran).toMatchObject({
      exit: 6,
      err: expect.stringContaining(
        'datacenter PL-POZ-1 would be pruned, but this document needs it',
      ) as string,
    })
    expect(there.datacenters).toHaveLength(1)
  })

  test('sets do not prune each other, and a described object moves to the set that is applied', async () => {
    const { there, apply } = await withRack()
    await apply(datacenter, '--set rack-a --yes')
    const moved = await apply(`${datacenter}---\n${subnet}`, '--set rack-b --yes')
    expect(moved.out).toContain('1 object moves here from the set rack-a')
    expect(there.api.callsOf(appliedMove)).toHaveLength(1)
    const other = datacenter.replace('PL-POZ-1', 'PL-WAW-1')
    expect((await apply(other, '--set rack-a --prune --yes')).out).toContain('0 to remove')
    expect(there.datacenters.map((d) => d.code)).toEqual(['PL-POZ-1', 'PL-WAW-1'])
  })
})

test('with --json, the plan and its outcome are one object', async () => {
  const { cli, file, apply } = await withRack()
  const ran = await apply(datacenter, '--yes --json')
  expect(JSON.parse(ran.out)).toMatchObject({
    set: 'default',
    steps: [
      {
        does: 'create',
        kind: 'datacenter',
        name: 'PL-POZ-1',
        file,
        line: 1,
        result: 'done',
        error: null,
      },
    ],
    unchanged: 0,
  })
  expect(JSON.parse((await cli.run(`diff -f ${file} --json`)).out)).toMatchObject({
    steps: [],
    unchanged: 1,
  })
})

test('diff shows the lines of a patch that differ', async () => {
  const { apply, diff } = await withRack()
  const patch = (value: number) =>
    `kind: patch\nserver: server-1\nname: sysctls\nbody: |\n  machine:\n    sysctls:\n      a: "${value}"\n`
  await apply(patch(1))
  const { out } = await diff(patch(2))
  expect(out).toContain(
    '    body:\n        machine:\n          sysctls:\n      -     a: "1"\n      +     a: "2"\n',
  )
})

test('an object that is described by a document but made by hand is changed and never pruned', async () => {
  const { there, apply } = await withRack()
  await apply(`${datacenter}---\n${subnet}`)
  there.applied.length = 0
  expect(
    (await apply(`${datacenter}---\n${subnet.replace('gateway: 198.18.7.1\n', '')}`)).exit,
  ).toBe(0)
  expect(there.api.callsOf(subnetUpdate)[0]!.body).toEqual({ gateway: null })
  expect((await apply(datacenter, '--prune --yes')).out).toContain('0 to remove')
  expect(there.subnets).toHaveLength(1)
})

test('a cluster in a document is created with its choices', async () => {
  const { there, apply } = await withRack()
  await apply(
    rack.replace(
      '{server: w-1, role: worker}',
      '{server: w-1, role: worker, workload_disks: [nvme1n1]}',
    ),
  )
  expect(there.api.callsOf(clusterCreate)[0]!.body).toMatchObject({
    name: 'web',
    servers: [
      { node_id: id(1), role: 'control_plane' },
      { node_id: id(2), role: 'worker', workload_disks: ['/dev/nvme1n1'] },
    ],
  })
})
