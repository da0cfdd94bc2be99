import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { clusterCreate } from '#contract/clusters/clusters.ts'
import { Problem } from '#contract/errors.ts'
import { templateCreate, templatePlan } from '#contract/templates/templates.ts'
import { numberedServer } from '../../testing/installation.ts'
import { datacenter, withRack, writes } from '../../testing/rack.ts'

const shop =
  'kind: template\nname: shop\ncontrol_planes:\n  count: 1\n  needs: {cores: 16, disks: [{count: 1, type: NVME}]}\nlabels: {shop: "yes"}\n'
const ten =
  'kind: clusters\ntemplate: shop\ndatacenter: PL-POZ-1\nnames: [shop-01, shop-02, shop-03, shop-04, shop-05, shop-06, shop-07, shop-08, shop-09, shop-10]\n'

/** Free servers with a disk each, in a datacenter that exists. */
async function withServers(count: number) {
  const servers = Array.from({ length: count }, (_, i) => {
    const server = numberedServer(i + 1)
    return {
      ...server,
      name: `s-${String(i + 1).padStart(2, '0')}`,
      cluster: null,
      operation_id: null,
      eligibility: [],
      hardware: { ...server.hardware, cores: 16, memory_bytes: 64 * 1024 ** 3 },
      talos: { ...server.talos, installed: null },
      resources: {
        ...server.resources,
        disks: [
          {
            id: 'nvme0n1',
            type: 'NVME',
            transport: 'nvme',
            model: 'PM9A3',
            serial: `D-${i + 1}`,
            size: 960e9,
            content: 'empty',
          },
        ],
      },
    }
  })
  const rack = await withRack(servers)
  await rack.apply(datacenter)
  return rack
}

describe('apply of a template', () => {
  test('makes ten clusters from one file, shows each server with its disk, and a second run changes nothing', async () => {
    const { there, apply } = await withServers(12)
    const first = await apply(`${shop}---\n${ten}`)
    expect(first.err).toBe('')
    expect(first.exit).toBe(0)
    expect(first.out).toContain('+ cluster shop-01 (1 server from the template shop)\n')
    expect(first.out).toMatch(
      /s-01, control plane: 16 cores, at least 16; 1 disk \(NVME\), at least 1; its rack is not known\n +Talos on \/dev\/nvme0n1 \(PM9A3, serial D-1, .*\): the smallest empty disk\. It is wiped; it holds empty/,
    )
    expect(first.out).toContain('Labels: shop=yes\n')
    expect(first.out).toContain('Not chosen, 2 servers: suitable, not needed\n')
    expect(there.clusters.map((c) => c.name)).toEqual(
      Array.from({ length: 10 }, (_, i) => `shop-${String(i + 1).padStart(2, '0')}`),
    )
    const asked = there.api.callsOf(clusterCreate).map(({ body }) => body)
    expect(asked[9]).toMatchObject({
      servers: [{ node_id: there.servers[9]!.id, install_disk: '/dev/nvme0n1' }],
      confirmed_disks: [{ serial: 'D-10', content: 'empty' }],
      labels: { shop: 'yes' },
    })
    expect(there.applied.filter((a) => a.kind === 'cluster')).toHaveLength(10)
    const before = writes(there).length
    const second = await apply(`${shop}---\n${ten}`, '')
    expect(second.out).toBe('0 to create, 0 to change, 0 to remove, 11 unchanged\n')
    expect(writes(there)).toHaveLength(before)
  })

  test('refuses too few servers, a template that is missing and one whose versions are gone, and changes nothing', async () => {
    const { there, apply } = await withServers(4)
    const before = writes(there).filter((call) => call !== 'templatePlan').length
    expect((await apply(`${shop}---\n${ten}`)).err).toContain(
      'Too few servers for 10 control planes: 4 servers suit',
    )
    expect((await apply(ten)).err).toContain(
      'There is no template shop, and no document describes it',
    )
    const gone = `${shop}talos_version: v1.2.3\n`
    expect((await apply(`${gone}---\n${ten}`)).err).toContain("can't be had any more")
    expect((await apply(`${shop}---\n${ten}endpoints: {other: 10.0.0.9}\n`)).err).toContain(
      'other is none of the names',
    )
    expect(writes(there).filter((call) => call !== 'templatePlan')).toHaveLength(before)
  })

  test('a changed template is saved and leaves its clusters, and pruning removes it', async () => {
    const { there, apply } = await withServers(2)
    const one = ten.replace(/names: .*/, 'names: [shop-01]')
    await apply(`${shop}---\n${one}`)
    const changed = await apply(`${shop.replace('cores: 16', 'cores: 8')}---\n${one}`)
    expect(changed.out).toContain('~ template shop\n')
    expect(changed.out).toContain('0 to create, 1 to change, 0 to remove, 1 unchanged')
    expect(there.api.callsOf(clusterCreate)).toHaveLength(1)
    const pruned = await apply(datacenter, '--prune --prune-cluster shop-01 --yes')
    expect(pruned.out).toContain('- template shop\n')
    expect(pruned.exit).toBe(0)
  })
})

describe('template commands', () => {
  test('a template is saved from a file and like a cluster, shown as the file that save reads, and deleted', async () => {
    const { cli, there } = await withServers(2)
    const file = join(cli.folder, 'shop.yaml')
    await writeFile(file, shop)
    expect(await cli.run(`template save shop --file ${file}`)).toMatchObject({
      exit: 0,
      out: expect.stringMatching(/^shop is saved, revision 1\. /) as string,
    })
    const shown = await cli.run('template show shop')
    await writeFile(file, shown.out)
    expect((await cli.run(`template save shop --file ${file}`)).out).toContain('revision 2')
    expect((await cli.run('template show shop')).out).toBe(shown.out)
    expect((await cli.run('export --kind template')).out).toBe(shown.out)
    expect((await cli.run('template list')).out).toMatch(/^NAME .*\nshop +1 \+ 0 +newest/)
    there.api.calls.splice(0)
    expect((await cli.run('template save shop')).err).toContain('Give either --file or --like')
    await writeFile(file, datacenter)
    expect((await cli.run(`template save x --file ${file}`)).err).toContain(
      'must contain one document of the kind template',
    )
    expect(there.api.callsOf(templateCreate)).toEqual([])
    expect((await cli.run('template delete shop --yes')).exit).toBe(0)
    expect((await cli.run('template show shop')).err).toContain('There is no template shop')
  })
})

describe('cluster create from a template', () => {
  const made = async (servers = 6) => {
    const rack = await withServers(servers)
    const file = join(rack.cli.folder, 'shop.yaml')
    await writeFile(file, shop)
    await rack.cli.run(`template save shop --file ${file}`)
    return rack
  }

  test('shows the plan and asks first; what is created belongs to no set of files', async () => {
    const { cli, there } = await made()
    const line =
      'cluster create shop-01 --also shop-02 --template shop --datacenter pl-poz-1 --workers 1'
    expect(await cli.run(line)).toMatchObject({
      exit: 2,
      err: expect.stringContaining('Confirm with --yes') as string,
    })
    expect((await cli.run(`${line} --dry-run`)).out).toContain('s-03, worker: ')
    expect(there.api.callsOf(clusterCreate)).toEqual([])
    expect(await cli.run(`${line} --yes`)).toMatchObject({ exit: 0 })
    expect(there.clusters.map((c) => [c.name, c.servers.length])).toEqual([
      ['shop-01', 2],
      ['shop-02', 2],
    ])
    expect(there.applied.filter((a) => a.kind === 'cluster')).toEqual([])
    expect((await cli.run(`${line} --yes`)).err).toContain('There is a cluster shop-01 already')
  })

  test('a disk that changed since the plan refuses the creation, and nothing else is made', async () => {
    const { cli, there } = await made()
    there.api.on(clusterCreate, () => {
      throw new Problem(
        'disk_not_confirmed',
        'It was confirmed as "empty", which has changed since',
      )
    })
    const ran = await cli.run(
      'cluster create shop-01 --also shop-02 --template shop --datacenter PL-POZ-1 --yes',
    )
    expect(ran.err).toContain('which has changed since')
    expect(ran.exit).not.toBe(0)
    expect(there.clusters).toEqual([])
  })

  test('like another cluster, in its datacenter, and what is not taken over is said', async () => {
    const { cli, there } = await made()
    await cli.run('cluster create web --template shop --datacenter PL-POZ-1 --yes')
    const ran = await cli.run('cluster create web-2 --like web --control-planes 3 --yes')
    expect(ran.err).toContain('Not taken over: The patch keys of the workers holds a secret')
    expect(there.clusters.find((c) => c.name === 'web-2')!.servers).toHaveLength(3)
    expect(there.api.callsOf(templatePlan).at(-1)!.body).toMatchObject({
      control_planes: 3,
      template: { name: 'web' },
    })
  })

  test.each([
    ['--template shop --like web', 'Give either --template or --like'],
    ['--template shop --control-plane s-01', '--control-plane is decided by the template'],
    ['--template shop --vlan-id 7', '--vlan-id is decided by the template'],
    ['--control-planes 3 --control-plane s-01', 'need --template or --like'],
    ['--template shop --also b --endpoint 10.0.0.9', '--endpoint belongs to one cluster'],
    ['--template nothing', 'There is no template nothing'],
  ])('refuses %s', async (options, sentence) => {
    const { cli, there } = await made(1)
    const ran = await cli.run(`cluster create a --datacenter PL-POZ-1 --yes ${options}`)
    expect(ran.err).toContain(sentence)
    expect(there.api.callsOf(clusterCreate)).toEqual([])
  })
})
