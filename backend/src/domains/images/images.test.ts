import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import {
  extensionList,
  imageCreate,
  imageFactoryGet,
  imageGet,
  imageList,
  imageRegister,
  imageRemove,
  type NewImage,
} from '#contract/images.ts'
import { joinTokenCreate, joinTokenRevoke } from '#contract/join-tokens.ts'
import { emptySchematicId, schematicId } from '#talos/schematic/schematic.ts'
import type { Fields } from '../../log.ts'
import { startBackend } from '../../testing/backend.ts'
import { image, imageWorld } from './testing.ts'

const world = await imageWorld()
const { backend, simulated, lines, later, datacenter, token, create } = world
const { db } = backend.platform

test('the image factory is shown with its versions and whether it is simulated', async () => {
  const { answer } = await world.people.viewer.call(imageFactoryGet)
  expect(answer).toMatchObject({
    url: simulated.url,
    simulated: true,
    reachable: true,
    reason: null,
  })
  expect(answer!.versions[0]).toBe('v1.14.1')
})

test('an unreachable factory is shown with the reason and the versions that Steelyard knows', async () => {
  const other = await startBackend()
  const { answer } = await (await other.signIn()).call(imageFactoryGet)
  expect(answer).toMatchObject({
    url: 'http://127.0.0.1:9',
    reachable: false,
    versions: ['v1.14.1', 'v1.13.9', 'v1.12.11'],
  })
  expect(answer!.reason).toContain('The image factory at http://127.0.0.1:9 refuses connections')
})

test('extensions are listed for a version, searched by name and description, and paged', async () => {
  const list = async (query: object) =>
    (await world.people.viewer.call(extensionList, { query: { version: 'v1.13.9', ...query } }))
      .answer!
  const all = await list({ per_page: 1000 })
  expect(all.total).toBe(all.items.length)
  expect(all.total).toBeGreaterThan(40)
  const second = await list({ per_page: 10, page: 2 })
  expect(second.items).toEqual(all.items.slice(10, 20))
  expect(second.total).toBe(all.total)
  expect((await list({ q: 'GVISOR' })).items.map((e) => e.name)).toContain('siderolabs/gvisor')
  const byText = all.items.find((e) => e.description.length > 20)!
  expect(
    (await list({ q: byText.description.slice(3, 15), per_page: 1000 })).items.map((e) => e.name),
  ).toContain(byText.name)
  expect((await list({ sort: '-name', per_page: 1 })).items).toEqual(all.items.slice(-1))
  expect((await list({ q: '.*' })).total).toBe(0)
  const older = (
    await world.people.viewer.call(extensionList, { query: { version: '1.12.11', per_page: 1000 } })
  ).answer!
  expect(older.items.map((e) => e.name)).not.toContain('siderolabs/intel-npu')
  expect(all.items.map((e) => e.name)).toContain('siderolabs/intel-npu')
})

test.each([
  ['v1.11.6', 400, 'Talos v1.11.6 is not supported; choose 1.12, 1.13 or 1.14'],
  ['v1.13.99', 422, 'The image factory does not build Talos v1.13.99'],
])('a request for the extensions of Talos %s is refused', async (version, status, error) => {
  expect(await world.people.viewer.call(extensionList, { query: { version } })).toMatchObject({
    status,
    problem: { error },
  })
})

test.each([
  ['nothing', {}, emptySchematicId],
  [
    'kernel arguments',
    { kernel_args: ['noapic', 'nolapic'] },
    '9cba8e32753f91a16c1837ab8abf356af021706ef284aef07380780177d9a06c',
  ],
  [
    'extensions',
    {
      extensions: [
        'siderolabs/util-linux-tools',
        'siderolabs/iscsi-tools',
        'siderolabs/util-linux-tools',
      ],
    },
    '613e1592b2da41ae5e265e8789429f22e121aab91cb4deb6bc3c0b6262961245',
  ],
  [
    'one extension',
    { extensions: ['siderolabs/qemu-guest-agent'] },
    'ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515',
  ],
])(
  'an image with %s has the id that the public Image Factory documents, and is registered with the factory',
  async (_name, more, id) => {
    const { status, answer } = await create(more)
    expect(status).toBe(201)
    expect(answer!.schematic_id).toBe(id)
    expect(answer!.factory).toEqual({
      url: simulated.url,
      simulated: true,
      registered_at: new Date(backend.clock.now()).toISOString(),
      reason: null,
    })
    expect(simulated.schematic(id)!.text).toBe(answer!.schematic)
    expect(
      (await world.people.viewer.call(imageGet, { params: { id: answer!.id } })).answer,
    ).toEqual(answer)
  },
)

test('every download link is served by the factory, with and without secure boot, for both architectures', async () => {
  for (const secureboot of [false, true])
    for (const arch of ['amd64', 'arm64'] as const) {
      const { answer } = await create({
        arch,
        secureboot,
        format: 'raw',
        extensions: ['siderolabs/gvisor'],
      })
      const name = `metal-${arch}${secureboot ? '-secureboot' : ''}`
      const base = `${simulated.url}/image/${answer!.schematic_id}/v1.13.9`
      expect(answer!.links).toEqual([
        { format: 'iso', url: `${base}/${name}.iso` },
        { format: 'pxe', url: `${simulated.url}/pxe/${answer!.schematic_id}/v1.13.9/${name}` },
        { format: 'raw', url: `${base}/${name}.raw.xz` },
        { format: 'qcow2', url: `${base}/${name}.qcow2` },
      ])
      expect(answer!.url).toBe(`${base}/${name}.raw.xz`)
      for (const { url } of answer!.links)
        expect({ url, status: (await fetch(url)).status }).toEqual({ url, status: 200 })
      // Steelyard's script equals the factory's script, and contains the kernel command line of the
      // response.
      expect(answer!.pxe_script).toBe(await (await fetch(answer!.links[1]!.url)).text())
      expect(answer!.pxe_script).toContain(answer!.kernel_command_line)
      expect(answer!.kernel_command_line).toBe(
        await (await fetch(`${base}/cmdline-${name}`)).text(),
      )
      for (const [, file] of answer!.pxe_script.matchAll(/^(?:kernel|initrd) (\S+)/gm))
        expect({ file, status: (await fetch(file!)).status }).toEqual({ file, status: 200 })
    }
})

test('the schematic and the kernel command line contain the given arguments and the URL of the announcement', async () => {
  const place = await datacenter()
  const join = await token({ datacenter_id: place.id })
  const { answer } = await create({
    token_id: join.id,
    kernel_args: ['console=ttyS0,115200', '-selinux'],
    extensions: ['siderolabs/gvisor', 'siderolabs/amd-ucode'],
  })
  const announcement = `talos.config=https://steelyard.example.com/join/${join.token}?uuid=\${uuid}&serial=\${serial}&mac=\${mac}`
  expect(answer!.kernel_args).toEqual(['console=ttyS0,115200', '-selinux', announcement])
  expect(answer!.schematic_id).toBe(
    schematicId({ extraKernelArgs: answer!.kernel_args, officialExtensions: answer!.extensions }),
  )
  expect(answer!).toMatchObject({
    token: { id: join.id, name: join.name, status: 'usable' },
    datacenter: { id: place.id, code: place.code },
    warnings: ['The image factory is simulated: its files boot no real server'],
  })
  const line = answer!.kernel_command_line.split(' ')
  expect(line.filter((arg) => arg.startsWith('console='))).toEqual(['console=ttyS0,115200'])
  expect(line.filter((arg) => arg.includes('selinux'))).toEqual([])
  expect(line.at(-1)).toBe(announcement)
  // iPXE would expand unescaped variables.
  expect(answer!.pxe_script).not.toContain('${')
  expect(answer!.pxe_script).toContain(
    `/join/${join.token}?uuid=%24%7Buuid%7D&serial=%24%7Bserial%7D&mac=%24%7Bmac%7D\n`,
  )
})

test('the token is shown only to users who may create one, and is stored nowhere', async () => {
  const join = await token()
  const { answer } = await world.people.operator.call(
    imageCreate,
    { body: image({ token_id: join.id }) },
    { idempotencyKey: randomUUID() },
  )
  for (const field of ['schematic', 'pxe_script', 'kernel_command_line'] as const)
    expect(answer![field]).toContain(join.token)
  await simulated.fault({ kind: 'refuse', status: 400 })
  expect(
    (await world.people.operator.call(imageRegister, { params: { id: answer!.id } })).status,
  ).toBe(422)
  await simulated.fault(null)
  await backend.publish()

  for (const reader of [
    world.people.viewer.call(imageGet, { params: { id: answer!.id } }),
    world.people.viewer.call(imageList, {}),
    world.people.viewer.call(imageList, { query: { q: join.name } }),
  ]) {
    const { status, text } = await reader
    expect(status).toBe(200)
    expect(text).toContain('/join/…?uuid=')
    expect(text).not.toContain('sy-join-')
  }
  expect((await world.people.operator.call(imageList, { query: { q: join.name } })).text).toContain(
    join.token,
  )
  expect((await world.people.admin.call(auditList, { query: { per_page: 200 } })).text).toContain(
    'image.created',
  )
  const secret = join.token.slice('sy-join-'.length)
  const { rows: tables } = await sql<{
    name: string
  }>`select table_name as name from information_schema.tables where table_schema = current_schema()`.execute(
    db,
  )
  for (const { name } of tables) {
    const { rows } = await sql<{
      text: string
    }>`select t::text as text from ${sql.id(name)} as t`.execute(db)
    expect({ name, found: rows.filter((r) => r.text.includes(secret)) }).toEqual({
      name,
      found: [],
    })
  }
  expect(lines.join('')).not.toContain(secret)
})

test('images are found by their settings, and never by the text of a token', async () => {
  const join = await token()
  await create({ token_id: join.id, kernel_args: ['needle=1'], extensions: ['siderolabs/zfs'] })
  const found = async (q: string) =>
    (await world.people.operator.call(imageList, { query: { q } })).answer!.total
  expect(await found('needle=1')).toBe(1)
  expect(await found('LABS/ZFS')).toBe(1)
  expect(await found(join.name)).toBe(1)
  expect(await found(world.people.operator.email)).toBeGreaterThan(0)
  expect(await found(join.token)).toBe(0)
  expect(await found('%needle')).toBe(0)
})

test('the list of images is sorted newest first, or by version number', async () => {
  const own = await startBackend({ environment: { IMAGE_FACTORY_URL: simulated.url } })
  const user = await own.signIn()
  for (const version of ['1.12.9', 'v1.13.9', 'v1.12.11']) {
    own.clock.advance(1000)
    expect((await user.call(imageCreate, { body: image({ talos_version: version }) })).status).toBe(
      201,
    )
  }
  const versions = async (query: object) =>
    (await user.call(imageList, { query })).answer!.items.map((i) => i.talos_version)
  expect(await versions({})).toEqual(['v1.12.11', 'v1.13.9', 'v1.12.9'])
  expect(await versions({ sort: 'created_at' })).toEqual(['v1.12.9', 'v1.13.9', 'v1.12.11'])
  expect(await versions({ sort: 'talos_version' })).toEqual(['v1.12.9', 'v1.12.11', 'v1.13.9'])
  expect(await versions({ sort: '-talos_version', per_page: 2, page: 2 })).toEqual(['v1.12.9'])
})

test.each<[string, Partial<NewImage>, number, string, string]>([
  [
    'a version that Steelyard has no clusters of',
    { talos_version: '1.11.6' },
    422,
    'talos_version',
    'Talos 1.11.6 is not supported; choose 1.12, 1.13 or 1.14',
  ],
  [
    'a version that the factory does not build',
    { talos_version: 'v1.13.99' },
    422,
    'talos_version',
    'The image factory does not build Talos v1.13.99',
  ],
  [
    'an unknown extension',
    { extensions: ['siderolabs/gvisor', 'siderolabs/nothing'] },
    422,
    'extensions',
    'The image factory has no extension siderolabs/nothing for Talos v1.13.9',
  ],
  [
    'an extension of a newer version',
    { talos_version: 'v1.12.11', extensions: ['siderolabs/intel-npu'] },
    422,
    'extensions',
    'The image factory has no extension siderolabs/intel-npu for Talos v1.12.11',
  ],
  [
    'an extension by its old name',
    { extensions: ['siderolabs/i915-ucode'] },
    422,
    'extensions',
    'siderolabs/i915-ucode is called siderolabs/i915 now',
  ],
  [
    'an argument that is Steelyard’s',
    { kernel_args: ['talos.config=https://evil.example.com'] },
    422,
    'kernel_args.0',
    'This argument is set by Steelyard: it is how a server announces itself',
  ],
  [
    'the same in quotes, which the kernel takes away',
    { kernel_args: ['"talos.config=https://evil.example.com"'] },
    422,
    'kernel_args.0',
    'This argument is set by Steelyard: it is how a server announces itself',
  ],
  [
    'a wipe at each boot',
    { kernel_args: ['talos.experimental.wipe=system:EPHEMERAL,STATE'] },
    422,
    'kernel_args.0',
    'With talos.experimental.wipe the server wipes its disk at each boot. For one wipe choose “Reset Talos installation” in the boot menu',
  ],
  [
    'a stop at each boot',
    { kernel_args: ['"talos.halt_if_installed=1"'] },
    422,
    'kernel_args.0',
    'With talos.halt_if_installed the server stops at each boot after its installation',
  ],
  [
    'a VLAN id that is out of range',
    { kernel_args: ['vlan=eth0.4095:eth0'] },
    422,
    'kernel_args.0',
    'A VLAN is written as vlan=eth0.100:eth0, with an id from 1 to 4094',
  ],
  [
    'a longer line than Linux reads',
    { kernel_args: ['a', 'b', 'c'].map((a) => `${a}=${'x'.repeat(700)}`) },
    422,
    'kernel_args',
    'The kernel command line would have 2304 characters; at most 1960 fit',
  ],
])(
  'an image with %s is refused, and nothing is stored',
  async (_name, more, status, field, error) => {
    const before = (await world.people.operator.call(imageList, {})).answer!.total
    const given = simulated.counters.schematics
    expect(await create(more)).toMatchObject({
      status,
      problem: { error, fields: { [field]: error } },
    })
    expect((await world.people.operator.call(imageList, {})).answer!.total).toBe(before)
    expect(simulated.counters.schematics).toBe(given)
  },
)

test('the datacenter of an image must match the datacenter of its token', async () => {
  const [here, there] = [await datacenter(), await datacenter()]
  const [free, bound] = [await token(), await token({ datacenter_id: here.id })]
  expect((await create({ token_id: bound.id })).answer!.datacenter).toEqual({
    id: here.id,
    code: here.code,
  })
  expect((await create({ token_id: bound.id, datacenter_id: here.id })).status).toBe(201)
  expect((await create({ datacenter_id: there.id })).answer!).toMatchObject({
    datacenter: { code: there.code },
    token: null,
  })
  expect((await create({ token_id: bound.id, datacenter_id: there.id })).problem).toMatchObject({
    code: 'invalid',
    fields: {
      datacenter_id: `The join token ${bound.name} puts servers in ${here.code}, not in ${there.code}: choose another token`,
    },
  })
  expect((await create({ token_id: free.id, datacenter_id: here.id })).problem!.error).toBe(
    `The join token ${free.name} puts servers in no datacenter, not in ${here.code}: choose another token`,
  )
  expect(await create({ token_id: randomUUID() })).toMatchObject({
    status: 404,
    problem: { error: 'There is no such join token' },
  })
  expect(await create({ datacenter_id: randomUUID() })).toMatchObject({
    status: 404,
    problem: { error: 'There is no such datacenter' },
  })
})

test("a join token that has ended can't be used for a new image, and earlier images show that their token has ended", async () => {
  const [revoked, expiring] = [await token(), await token({ lifetime_hours: 1 })]
  const made = (await create({ token_id: revoked.id })).answer!
  await world.people.operator.call(joinTokenRevoke, { params: { id: revoked.id } })
  expect(await create({ token_id: revoked.id })).toMatchObject({
    status: 409,
    problem: { code: 'conflict', error: 'The join token was revoked' },
  })
  expect(
    await world.people.operator.call(imageRegister, { params: { id: made.id } }),
  ).toMatchObject({
    status: 409,
    problem: { error: 'The join token was revoked' },
  })
  // The token's new status is also sent to a client that has cached this version of the image.
  const { answer } = await world.people.operator.call(
    imageGet,
    { params: { id: made.id } },
    { headers: { 'if-none-match': `"${made.version}"` } },
  )
  expect(answer!.token!.status).toBe('revoked')
  expect(answer!.warnings[0]).toBe(
    'The join token was revoked: new servers that boot this image are not listed',
  )
  await later(2 * 3600_000)
  expect((await create({ token_id: expiring.id })).problem).toMatchObject({
    error: 'The join token has expired',
  })
})

test('an image warns if its servers could not reach the address in its announcement URL', async () => {
  const other = await startBackend({
    beside: backend,
    environment: { IMAGE_FACTORY_URL: simulated.url },
  })
  const user = await other.signIn()
  const join = (await user.call(joinTokenCreate, { body: { name: 'loopback' } })).answer!
  const made = (await user.call(imageCreate, { body: image({ token_id: join.id }) })).answer!
  expect(made.warnings[0]).toBe(
    'Servers cannot reach http://127.0.0.1:0: set STEELYARD_PUBLIC_URL, then prepare the image again',
  )
  expect(
    (await user.call(imageCreate, { body: image() })).answer!.warnings.filter((w) =>
      w.includes('reach'),
    ),
  ).toEqual([])
  // The image is requested after Steelyard's address has changed.
  const seen =
    (await world.people.admin.call(imageGet, { params: { id: made.id } })).answer ??
    (await (await backend.signIn()).call(imageGet, { params: { id: made.id } })).answer
  expect(seen!.warnings).toContain(
    'Servers announce themselves at http://127.0.0.1:0, but Steelyard is at https://steelyard.example.com now',
  )
})

test('a repeated call creates one image; two separate calls create two images of one schematic', async () => {
  const body = image({ kernel_args: ['twice=1'] })
  const calls = Array.from({ length: 5 }, () =>
    world.people.operator.call(imageCreate, { body }, { idempotencyKey: 'once' }),
  )
  expect(new Set((await Promise.all(calls)).map((c) => c.text)).size).toBe(1)
  const both = await Promise.all([
    world.people.operator.call(imageCreate, { body }),
    world.people.operator.call(imageCreate, { body }),
  ])
  expect(new Set(both.map((b) => b.answer!.schematic_id)).size).toBe(1)
  expect(
    (await world.people.operator.call(imageList, { query: { q: 'twice=1' } })).answer!.total,
  ).toBe(3)
  const params = { id: both[0].answer!.id }
  const registered = await Promise.all(
    Array.from({ length: 4 }, () => world.people.operator.call(imageRegister, { params })),
  )
  expect(registered.map((r) => r.status)).toEqual([200, 200, 200, 200])
  expect((await world.people.operator.call(imageGet, { params })).answer!.version).toBe(5)
})

test('removing an image with a stale If-Match returns 412, and registering a removed image returns 404', async () => {
  const made = (await world.people.operator.call(imageCreate, { body: image() })).answer!
  const params = { id: made.id }
  await world.people.operator.call(imageRegister, { params })
  expect(
    (await world.people.operator.call(imageRemove, { params }, { ifMatch: made.version })).status,
  ).toBe(412)
  expect((await world.people.viewer.call(imageRemove, { params })).status).toBe(403)
  expect(
    (await world.people.operator.call(imageRemove, { params }, { ifMatch: made.version + 1 }))
      .status,
  ).toBe(204)
  for (const operation of [imageRemove, imageRegister, imageGet])
    expect((await world.people.operator.call(operation, { params })).status).toBe(404)
})

test('failures of the image factory are not logged as errors of Steelyard', () => {
  const faults = lines
    .map((line) => JSON.parse(line) as Fields & { level: string })
    .filter((line) => line.level === 'error')
  expect(faults).toEqual([])
})
