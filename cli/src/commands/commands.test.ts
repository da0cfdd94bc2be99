import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { clusterKubeconfig, clusterList } from '#contract/clusters/clusters.ts'
import { datacenterList } from '#contract/datacenters.ts'
import { patchGet, patchList } from '#contract/patches.ts'
import { serverConfirm, serverGet, serverList, serverUpdate } from '#contract/servers/servers.ts'
import { userList } from '#contract/users.ts'
import { aCluster, aServer, id, pageOf } from '../testing/things.ts'
import { signedIn, poznan } from '../testing/signed-in.ts'

const at = '2026-11-20T08:00:00.000Z'

describe('lists', () => {
  test('lists are printed as tables, or with --json as the response of the API', async () => {
    const { api, cli } = await signedIn()
    const page = {
      ...pageOf([
        aServer(),
        aServer({ id: id(2), name: 'x', hardware: { ...aServer().hardware, disk_bytes: null } }),
      ]),
      total: 7,
    }
    api.on(serverList, () => page)
    const people = await cli.run(
      'server list --status maintenance --type worker --search otter --per-page 2',
    )
    expect(people.out.split('\n')).toEqual([
      expect.stringMatching(
        /^NAME +STATUS +STAGE +TYPE +DATACENTER +CLUSTER +CORES +MEMORY +DISK +LAST CONTACT$/,
      ),
      expect.stringMatching(
        /^brave-otter-042 +Maintenance +maintenance +unknown +PL-POZ-1 +- +32 +64 GiB +960 GB +\d+ \w+ ago$/,
      ),
      expect.stringMatching(/^x +Maintenance .* \? +\d+ \w+ ago$/),
      '2 of 7 (page 1)',
      '',
    ])
    expect(api.callsOf(serverList)[0]!.query).toEqual({
      status: 'maintenance',
      nodeType: 'worker',
      q: 'otter',
      per_page: '2',
    })
    expect(JSON.parse((await cli.run('server list --json')).out)).toEqual(page)
    expect((await cli.run('server list --columns name,maker,disks')).out.split('\n')[0]).toBe(
      'NAME             MAKER         DISK',
    )
    expect(await cli.run('server list --columns colour')).toMatchObject({
      exit: 2,
      err: expect.stringContaining('--columns is one of name, status, cluster') as string,
    })
  })

  test("the list of servers shows a server's problem, and the field that the search matched", async () => {
    const { api, cli } = await signedIn()
    const silent = aServer({
      finding: {
        id: id(7),
        kind: 'server_unreachable',
        severity: 'down',
        since: at,
        reason: 'No answer since 13:41 UTC; connection refused.',
      },
    })
    const dead = aServer({
      id: id(2),
      name: 'x',
      status: 'ready',
      finding: {
        id: id(8),
        kind: 'server_not_ready',
        severity: 'degraded',
        since: at,
        reason: 'Kubelet stopped posting node status.',
      },
    })
    api.on(serverList, () =>
      pageOf([
        silent,
        dead,
        aServer({ id: id(3), name: 'y', matched: { what: 'mac', value: 'b8:ce:f6:aa:7a:46' } }),
      ]),
    )
    const { out } = await cli.run('server list --search b8cef6aa7a46')
    expect(out).toMatch(/^NAME +FOUND BY +STATUS .* LAST CONTACT +FINDING$/m)
    expect(out).toMatch(
      /^brave-otter-042 +- +Unreachable .* No answer since 13:41 UTC; connection refused\.$/m,
    )
    expect(out).toMatch(/^x +- +Node NotReady .* Kubelet stopped posting node status\.$/m)
    expect(out).toMatch(/^y +MAC b8:ce:f6:aa:7a:46 +Maintenance .* -$/m)
    api.on(serverGet, () => dead)
    const shown = await cli.run(`server show ${id(2)}`)
    expect(shown.out).toMatch(
      /^Finding +Node NotReady since [\d: -]+: Kubelet stopped posting node status\.$/m,
    )
  })

  test('clusters, datacenters and users are listed as tables', async () => {
    const { api, cli } = await signedIn()
    api.on(clusterList, () => pageOf([aCluster()]))
    api.on(datacenterList, () => pageOf([poznan]))
    const ways = { has_password: true, has_provider: false, has_second_factor: false }
    const user = {
      id: id(9),
      email: 'a@example.com',
      name: 'A',
      role: 'admin',
      created_at: at,
      last_sign_in_at: null,
      disabled_at: null,
      ...ways,
    } as const
    api.on(userList, () => pageOf([{ ...user, version: 1 }]))
    expect((await cli.run('cluster list')).out).toMatch(
      /^web +Ready +PL-POZ-1 +1 +0 +1\.36\.3 +1\.13\.0/m,
    )
    expect((await cli.run('datacenter list')).out).toMatch(
      /^PL-POZ-1 +Poznań +PL +3 +2 +0 +0 +64 +64$/m,
    )
    expect((await cli.run('user list')).out).toMatch(/^a@example\.com +A +admin +active +No +- /m)
  })
})

describe('one object', () => {
  test('an object is found by name or id', async () => {
    const { api, cli } = await signedIn()
    api.on(serverList, ({ query }) =>
      pageOf([aServer({ id: id(2), name: `${query.q}-2` }), aServer({ name: 'brave-otter-042' })]),
    )
    api.on(serverGet, ({ params }) =>
      aServer({ id: params.id, talos: { ...aServer().talos, reason: 'evil\u001b[2J\nname' } }),
    )
    const shown = await cli.run('server show brave-otter-042')
    expect(api.callsOf(serverGet)[0]!.params).toEqual({ id: id(1) })
    expect(shown.out).toContain('Reason              evil\ufffd[2J name\n')
    expect(shown.out).toMatch(/^CPU-0 +EPYC 9354P +32 +64 +3\.8$/m)
    await cli.run(`server show ${id(7)}`)
    expect(api.callsOf(serverGet)[1]!.params).toEqual({ id: id(7) })
    expect(await cli.run('server show brave-otter')).toMatchObject({
      exit: 5,
      err: 'There is no server brave-otter\n',
    })
  })

  test('server rename sends only the name', async () => {
    const { api, cli } = await signedIn()
    api.on(serverUpdate, ({ params, body }) => aServer({ id: params.id, name: body.name! }))
    expect(await cli.run(`server rename ${id(1)} rack-3`)).toMatchObject({
      exit: 0,
      out: 'The server is called rack-3 now\n',
    })
    expect(api.callsOf(serverUpdate)[0]!.body).toEqual({ name: 'rack-3' })
  })

  test('patches are listed in the order of merging and shown by name', async () => {
    const { api, cli } = await signedIn()
    const patch = {
      patch_id: 'static-system',
      node_id: id(1),
      name: 'static-system',
      weight: -999,
      labels: {},
      body: 'machine:\n  type: worker\u001b\n',
      read_only: true,
      version: 1,
      created_at: null,
      updated_at: null,
      created_by: null,
    }
    api.on(patchList, () =>
      pageOf([
        patch,
        {
          ...patch,
          patch_id: id(3),
          name: 'sysctls',
          weight: 500,
          labels: { team: 'infra' },
          read_only: false,
        },
      ]),
    )
    api.on(patchGet, ({ params }) => ({ ...patch, patch_id: params.patchId }))
    expect((await cli.run(`patch list ${id(1)}`)).out).toMatch(
      /^static-system +-999 .*Steelyard\nsysctls +500 .*team=infra/m,
    )
    expect((await cli.run(`patch show ${id(1)} sysctls`)).out).toContain(
      '\nmachine:\n  type: worker\ufffd\n',
    )
    expect(api.callsOf(patchGet)[0]!.params).toEqual({ id: id(1), patchId: id(3) })
    expect((await cli.run(`patch show ${id(1)} other`)).exit).toBe(5)
  })
})

describe('server confirm', () => {
  const unconfirmed = aServer({
    identity: { ...aServer().identity, state: 'unconfirmed', fingerprint: 'abc=' },
  })

  test('server confirm sends the identity that was shown, after the user has answered yes', async () => {
    const { api, cli } = await signedIn()
    api.on(serverGet, () => unconfirmed)
    api.on(serverConfirm, () => aServer())
    expect(await cli.run(`server confirm ${id(1)}`, { ask: async () => 'no' })).toMatchObject({
      exit: 1,
      err: expect.stringContaining('Fingerprint  abc=') as string,
    })
    expect(await cli.run(`server confirm ${id(1)}`)).toMatchObject({ exit: 2 })
    expect(api.callsOf(serverConfirm)).toHaveLength(0)
    expect(await cli.run(`server confirm ${id(1)}`, { ask: async () => 'yes' })).toMatchObject({
      exit: 0,
      out: 'brave-otter-042 is confirmed\n',
    })
    expect(api.callsOf(serverConfirm)[0]!.body).toEqual({ uuid: id(90), serial: 'S-1' })
  })

  test('server confirm asks which hardware is meant if other hardware has answered', async () => {
    const { api, cli } = await signedIn()
    const seen = { uuid: id(91), serial: 'S-2' }
    api.on(serverGet, () =>
      aServer({ identity: { ...aServer().identity, state: 'changed', seen } }),
    )
    api.on(serverConfirm, () => aServer())
    const confirm = (answer?: string) =>
      cli.run(`server confirm ${id(1)}`, answer === undefined ? {} : { ask: async () => answer })
    expect(await confirm('yes')).toMatchObject({
      exit: 1,
      err: expect.stringMatching(/S-1[^]*Other hardware has answered[^]*S-2/) as string,
    })
    expect(await confirm()).toMatchObject({
      exit: 2,
      err: expect.stringContaining('--uuid and --serial') as string,
    })
    expect(api.callsOf(serverConfirm)).toHaveLength(0)
    expect(await confirm('known')).toMatchObject({ exit: 0 })
    expect(await confirm('other')).toMatchObject({ exit: 0 })
    expect(api.callsOf(serverConfirm).map(({ body }) => body)).toEqual([
      { uuid: id(90), serial: 'S-1' },
      seen,
    ])
  })

  test('server confirm accepts the identity as options, and refuses a server that is confirmed already', async () => {
    const { api, cli } = await signedIn()
    api.on(serverGet, () => aServer())
    api.on(serverConfirm, () => aServer())
    expect(await cli.run(`server confirm ${id(1)} --uuid U --serial S`)).toMatchObject({ exit: 0 })
    expect(api.callsOf(serverConfirm)[0]!.body).toEqual({ uuid: 'U', serial: 'S' })
    expect(await cli.run(`server confirm ${id(1)} --uuid U`)).toMatchObject({ exit: 2 })
    expect(await cli.run(`server confirm ${id(1)}`, { ask: async () => 'yes' })).toMatchObject({
      exit: 6,
      err: 'The hardware is confirmed already\n',
    })
  })
})

describe('credentials', () => {
  test('credentials are printed, or written to a file that only the user can read', async () => {
    const { api, cli } = await signedIn()
    api.on(clusterKubeconfig, () => 'apiVersion: v1\n')
    expect(await cli.run(`cluster kubeconfig ${id(20)}`)).toEqual({
      exit: 0,
      out: 'apiVersion: v1\n',
      err: '',
    })
    const file = join(cli.folder, 'kubeconfig')
    expect((await cli.run(`cluster kubeconfig ${id(20)} --output ${file}`)).exit).toBe(0)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await cli.run(`cluster kubeconfig ${id(20)} --output ${file}`)).toMatchObject({
      exit: 6,
      err: `${file} exists\nReplace it with --force\n`,
    })
    await writeFile(join(cli.folder, 'open'), 'old', { mode: 0o644 })
    expect(
      (await cli.run(`cluster kubeconfig ${id(20)} --force --output ${join(cli.folder, 'open')}`))
        .exit,
    ).toBe(0)
    expect((await stat(join(cli.folder, 'open'))).mode & 0o777).toBe(0o600)
    expect(await readFile(join(cli.folder, 'open'), 'utf8')).toBe('apiVersion: v1\n')
  })
})
