import { expect, test } from 'vitest'
import { clusterDelete, clusterGet, clusterList } from '#contract/clusters/clusters.ts'
import { datacenterList } from '#contract/datacenters.ts'
import { type Image, imageCreate, imageFactoryGet } from '#contract/images.ts'
import {
  type JoinToken,
  joinTokenCreate,
  joinTokenList,
  joinTokenRevoke,
} from '#contract/join-tokens.ts'
import { serverCommands, serverGet, serverRemove, serverReset } from '#contract/servers/servers.ts'
import { startApi } from '../testing/api.ts'
import { startCli } from '../testing/cli.ts'
import { aCluster, aDatacenter, anOperation, aServer, id, pageOf } from '../testing/things.ts'

const at = '2026-11-20T08:00:00.000Z'
const aToken = (more: Partial<JoinToken> = {}): JoinToken => ({
  id: id(40),
  name: 'rack-3',
  status: 'usable',
  datacenter: { id: id(50), code: 'PL-POZ-1' },
  max_uses: 10,
  uses: 3,
  expires_at: null,
  revoked_at: null,
  last_used_at: null,
  created_by: 'a@example.com',
  created_at: at,
  version: 1,
  ...more,
})
const anImage = (more: Partial<Image> = {}): Image => ({
  id: id(60),
  talos_version: 'v1.13.9',
  arch: 'amd64',
  secureboot: false,
  extensions: ['siderolabs/gvisor'],
  kernel_args: [],
  format: 'iso',
  datacenter: null,
  token: null,
  schematic_id: 'ab'.repeat(32),
  schematic: 'customization: {}\n',
  factory: { url: 'https://factory.example', simulated: false, registered_at: at, reason: null },
  url: 'https://factory.example/image/x.iso',
  links: [{ format: 'iso', url: 'https://factory.example/image/x.iso' }],
  pxe_script: '#!ipxe\nboot\n',
  kernel_command_line: 'talos.platform=metal',
  early: null,
  warnings: [],
  created_by: null,
  created_at: at,
  version: 1,
  ...more,
})

async function signedIn() {
  const api = await startApi()
  const cli = await startCli(api)
  api.on(datacenterList, () => pageOf([aDatacenter()]))
  api.on(serverGet, () => aServer({ cluster: { id: id(20), name: 'web' } }))
  return { api, cli }
}

test('a token is printed once when it is created and never listed', async () => {
  const { api, cli } = await signedIn()
  api.on(joinTokenList, () =>
    pageOf([aToken(), aToken({ id: id(41), name: 'old', status: 'used_up', max_uses: null })]),
  )
  api.on(joinTokenCreate, ({ body }) => ({
    ...aToken({ name: body.name }),
    token: 'sy-join-x',
    kernel_argument: 'talos.config=…',
  }))
  expect((await cli.run('token list')).out).toMatch(
    /^rack-3 +usable +PL-POZ-1 +3 of 10 +never +-\nold +used up +PL-POZ-1 +3 +never/m,
  )
  expect(
    (await cli.run('token create rack-3 --no-expiry --uses 10 --datacenter PL-POZ-1')).out,
  ).toContain('Token            sy-join-x\n')
  await cli.run('token create rack-4 --lifetime-hours 24')
  expect(api.callsOf(joinTokenCreate).map((c) => c.body)).toEqual([
    { name: 'rack-3', lifetime_hours: null, max_uses: 10, datacenter_id: id(50) },
    { name: 'rack-4', lifetime_hours: 24 },
  ])
  expect(await cli.run('token create rack-5 --no-expiry --lifetime-hours 3')).toMatchObject({
    exit: 2,
  })
})

test('if a usable token has the name of a revoked one, revoking by name revokes the usable token', async () => {
  const { api, cli } = await signedIn()
  api.on(joinTokenList, () => pageOf([aToken({ status: 'revoked' }), aToken({ id: id(41) })]))
  api.on(joinTokenRevoke, () => undefined)
  expect(await cli.run('token revoke rack-3')).toMatchObject({
    exit: 0,
    out: 'rack-3 is revoked\n',
  })
  expect(api.callsOf(joinTokenRevoke)[0]!.params).toEqual({ id: id(41) })
})

test('image create sends its options, and does not split a kernel argument at commas', async () => {
  const { api, cli } = await signedIn()
  api.on(joinTokenList, () => pageOf([aToken()]))
  api.on(imageFactoryGet, () => ({
    url: 'https://factory.example',
    simulated: false,
    reachable: true,
    reason: null,
    versions: ['v1.13.9', 'v1.12.11'],
  }))
  api.on(imageCreate, () => anImage())
  const ran = await cli.run(
    'image create --extension siderolabs/gvisor,siderolabs/zfs --kernel-arg console=ttyS0,115200 --kernel-arg=-quiet --token rack-3',
  )
  expect(ran).toMatchObject({
    exit: 0,
    out: expect.stringContaining(
      'ISO                  https://factory.example/image/x.iso\n',
    ) as string,
  })
  expect(api.callsOf(imageCreate)[0]!.body).toEqual({
    talos_version: 'v1.13.9',
    secureboot: false,
    extensions: ['siderolabs/gvisor', 'siderolabs/zfs'],
    kernel_args: ['console=ttyS0,115200', '-quiet'],
    token_id: id(40),
  })
})

test('image create fails if the image is not registered with the factory yet', async () => {
  const { api, cli } = await signedIn()
  api.on(imageCreate, () =>
    anImage({
      factory: {
        url: 'https://factory.example',
        simulated: false,
        registered_at: null,
        reason: 'It did not answer',
      },
      warnings: ['Mind'],
    }),
  )
  const ran = await cli.run('image create --talos-version v1.13.9')
  expect(ran).toMatchObject({ exit: 1 })
  expect(ran.out).toContain('Registered           no: It did not answer\n')
  expect(ran.out).toContain('Warning: Mind\n')
})

test('a reset asks for the name of the server and sends which disks to keep', async () => {
  const { api, cli } = await signedIn()
  api.on(serverReset, () => ({ operation: anOperation({ kind: 'serverReset' }) }))
  expect(await cli.run(`server reset ${id(1)}`)).toMatchObject({ exit: 2 })
  expect(await cli.run(`server reset ${id(1)}`, { ask: async () => 'yes' })).toMatchObject({
    exit: 1,
    err: 'Nothing was done\n',
  })
  expect(api.callsOf(serverReset)).toHaveLength(0)
  const questions: string[] = []
  const ask = async (question: string) => {
    questions.push(question)
    return 'brave-otter-042'
  }
  expect((await cli.run(`server reset ${id(1)} --keep-workload-disks`, { ask })).exit).toBe(0)
  expect(questions).toEqual([
    'This wipes the system disk of brave-otter-042. Type brave-otter-042 to continue: ',
  ])
  expect(api.callsOf(serverReset)[0]!.body).toEqual({ keep_workload_disks: true })
})

test('a forced removal asks for confirmation, a reboot does not', async () => {
  const { api, cli } = await signedIn()
  const target = { kind: 'server', id: id(1), name: 'brave-otter-042' } as const
  api.on(serverRemove, () => ({
    operation: anOperation({ kind: 'serverRemove', target, status: 'done' }),
  }))
  api.on(serverCommands.serverReboot, () => ({
    operation: anOperation({ kind: 'serverReboot', target }),
  }))
  expect(await cli.run(`server remove ${id(1)}`)).toMatchObject({
    exit: 0,
    out: 'brave-otter-042 is removed\n',
  })
  expect(await cli.run(`server remove ${id(1)} --force`)).toMatchObject({ exit: 2 })
  expect((await cli.run(`server remove ${id(1)} --force --yes`)).exit).toBe(0)
  expect(api.callsOf(serverRemove).map((c) => c.query)).toEqual([{}, { force: 'true' }])
  expect(await cli.run(`server reboot ${id(1)}`)).toMatchObject({
    exit: 0,
    out: 'brave-otter-042 is being rebooted\n',
  })
})

test('deleting a cluster asks for its name', async () => {
  const { api, cli } = await signedIn()
  api.on(clusterList, () => pageOf([aCluster()]))
  api.on(clusterGet, () => aCluster())
  api.on(clusterDelete, () => ({ operation: anOperation({ kind: 'clusterDelete' }) }))
  expect(await cli.run('cluster delete web', { ask: async () => 'no' })).toMatchObject({ exit: 1 })
  expect(api.callsOf(clusterDelete)).toHaveLength(0)
  expect(await cli.run('cluster delete web', { ask: async () => 'web' })).toMatchObject({
    exit: 0,
    out: 'Cluster web is being deleted\n',
  })
  expect((await cli.run('cluster delete web --force --yes')).exit).toBe(0)
  expect(api.callsOf(clusterDelete).map((c) => c.query)).toEqual([{}, { force: 'true' }])
})
