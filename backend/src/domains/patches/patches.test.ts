import { describe, expect, test } from 'vitest'
import { auditList } from '#contract/audit.ts'
import {
  type NewPatch,
  patchCreate,
  patchGet,
  patchList,
  patchPreview,
  patchRemove,
  patchSchema,
  patchUpdate,
} from '#contract/patches.ts'
import { serverConfig, serverGet, serverRemove } from '#contract/servers/servers.ts'
import { masked } from '#talos/config/mask.ts'
import { startBackend } from '../../testing/backend.ts'
import { buildServer } from '../servers/testing.ts'

const backend = await startBackend()
const operator = await backend.signIn({ role: 'operator' })
const hardware = {
  processors: [],
  memory: [],
  disks: [
    { id: 'nvme1n1', size: 2e12 },
    { id: 'nvme0n1', size: 1e12 },
    { id: 'sda', size: 2e9 },
  ],
  interfaces: [],
  addresses: ['10.0.0.5'],
  links: [
    { name: 'eth0', up: true, physical: true, hardware_addr: null, addresses: ['10.0.0.5/24'] },
    { name: 'eth1', up: true, physical: true, hardware_addr: null, addresses: [] },
  ],
  routes: [],
}
const build = () =>
  buildServer(backend, { address: '10.0.0.5', hardware: JSON.stringify(hardware), reachable: true })
const create = (id: string, patch: Partial<NewPatch> & { body: string }) =>
  operator.call(patchCreate, { params: { id }, body: { name: 'tuning', ...patch } })
const sysctl = (value: string) => `machine:\n  sysctls:\n    vm.swappiness: "${value}" # less\n`

test('the two layers that Steelyard writes come first and are read-only', async () => {
  const id = await build()
  const { items } = (await operator.call(patchList, { params: { id } })).answer!
  expect(items.map((p) => [p.patch_id, p.weight, p.read_only])).toEqual([
    ['static-system', -999, true],
    ['default-node', -888, true],
  ])
  expect(items[0]!.body).toContain('hostname: test-')
  expect(items[0]!.body).toContain('auto: off')
  // The smallest disk that is large enough for Talos.
  expect(items[0]!.body).toContain('disk: /dev/nvme0n1')
  for (const patchId of ['static-system', 'default-node']) {
    expect((await operator.call(patchGet, { params: { id, patchId } })).answer).toMatchObject({
      patch_id: patchId,
    })
    const params = { id, patchId }
    expect(await operator.call(patchUpdate, { params, body: { weight: 1 } })).toMatchObject({
      status: 409,
      problem: { code: 'patch_read_only', error: 'Steelyard writes this layer itself' },
    })
    expect((await operator.call(patchRemove, { params })).status).toBe(409)
  }
})

test('a patch can be created, changed and removed, and the server shows how many patches it has', async () => {
  const id = await build()
  const made = await create(id, { body: sysctl('10'), labels: { team: 'storage' } })
  expect(made).toMatchObject({
    status: 201,
    answer: {
      name: 'tuning',
      weight: 500,
      labels: { team: 'storage' },
      read_only: false,
      version: 1,
      created_by: operator.email,
      body: sysctl('10'),
    },
  })
  const params = { id, patchId: made.answer!.patch_id }
  const changed = await operator.call(
    patchUpdate,
    { params, body: { weight: 10, body: sysctl('20') } },
    { ifMatch: 1 },
  )
  expect(changed.answer).toMatchObject({ weight: 10, version: 2, body: sysctl('20') })
  expect(
    await operator.call(patchUpdate, { params, body: { weight: 11 } }, { ifMatch: 1 }),
  ).toMatchObject({ status: 412, problem: { code: 'stale' } })
  expect((await create(id, { body: sysctl('1') })).problem).toMatchObject({
    code: 'name_taken',
    error: 'Patch name already exists. Please choose a different name.',
  })
  expect((await operator.call(serverConfig, { params: { id } })).text).toContain(
    'vm.swappiness: "20"',
  )
  expect((await operator.call(patchRemove, { params })).status).toBe(204)
  expect((await operator.call(patchGet, { params })).status).toBe(404)
  expect((await operator.call(patchList, { params: { id } })).answer!.total).toBe(2)
})

test.each<[string, string, RegExp]>([
  ['bad YAML', 'machine: [', /^Line \d+, column \d+: /],
  [
    'an alias bomb',
    `a: &a ["x","x"]\nb: &b [*a,*a]\nc: [*b,*b]\n`,
    /Line 1, column \d+: .*anchor/i,
  ],
  ['an unknown field', 'machine:\n  sysctlz:\n    a: "1"\n', /Line 2, column \d+: .*sysctlz/],
  ['the machine type', 'machine:\n  type: controlplane\n', /Line 2, column \d+: .*machine\.type/],
  [
    'the install disk',
    'machine:\n  install:\n    disk: /dev/sdb\n',
    /Line 3, column \d+: .*machine\.install\.disk/,
  ],
  [
    'the host name',
    'apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: mine\n',
    /HostnameConfig/,
  ],
  ['the machine token', 'machine:\n  token: abc\n', /Line 2, column \d+: .*machine\.token/],
  [
    'the endpoint',
    'cluster:\n  controlPlane:\n    endpoint: https://evil:6443\n',
    /cluster\.controlPlane/,
  ],
  [
    'a JSON patch',
    '- op: add\n  path: /machine/time\n  value: {}\n',
    /JSON patches are not possible/,
  ],
  ['no content', '# only a comment\n', /The patch is empty/],
])(
  'a patch with %s is refused with the reason and the line, and nothing is saved',
  async (_what, body, sentence) => {
    const id = await build()
    const refused = await create(id, { body })
    expect(refused).toMatchObject({
      status: 422,
      problem: {
        code: 'invalid',
        error: expect.stringMatching(sentence) as string,
        fields: { body: expect.stringMatching(sentence) as string },
      },
    })
    const preview = (await operator.call(patchPreview, { params: { id }, body: { body } })).answer!
    expect(preview.errors.length).toBeGreaterThan(0)
    expect(preview.verdict.kind).toBe('not_allowed')
    expect((await operator.call(patchList, { params: { id } })).answer!.total).toBe(2)
  },
)

test('without If-Match the last concurrent write wins; a write without a change keeps the version', async () => {
  const id = await build()
  const params = {
    id,
    patchId: (await create(id, { body: sysctl('10'), weight: 7, labels: { a: 'b' } })).answer!
      .patch_id,
  }
  const saved = await Promise.all(
    [1, 2, 3, 4, 5].map((weight) =>
      operator.call(patchUpdate, { params, body: { weight, body: sysctl(String(weight)) } }),
    ),
  )
  expect(saved.map((s) => s.status)).toEqual([200, 200, 200, 200, 200])
  const { answer } = await operator.call(patchGet, { params })
  const last = saved.find((s) => s.answer!.version === 6)!.answer!
  expect(answer).toMatchObject({ version: 6, weight: last.weight, body: last.body })
  expect(answer!.body).toBe(sysctl(String(answer!.weight)))
  for (const body of [
    {},
    { weight: answer!.weight },
    { labels: { a: 'b' }, body: answer!.body, name: 'tuning' },
  ])
    expect((await operator.call(patchUpdate, { params, body })).answer).toMatchObject({
      version: 6,
    })
})

test('the API itself checks names, weights, labels and size', async () => {
  const id = await build()
  const body = sysctl('1')
  expect((await create(id, { name: 'Tuning', body })).problem!.fields).toEqual({
    name: 'Patch name can only contain lowercase letters, numbers, and hyphens, and cannot start or end with a hyphen',
  })
  expect((await create(id, { weight: 1000, body })).problem!.fields).toEqual({
    weight: 'Weight must be between 0 and 999',
  })
  expect((await create(id, { labels: { 'Not A Key': 'x' }, body })).status).toBe(422)
  expect((await create(id, { body: `# ${'x'.repeat(1024 * 1024)}` })).status).toBe(422)
})

test('the preview of a stored patch shows the difference from the configuration without that patch', async () => {
  const id = await build()
  const body = sysctl('10')
  const made = await create(id, { name: 'swap', body })
  const { answer } = await operator.call(patchPreview, {
    params: { id },
    body: { patch_id: made.answer!.patch_id, body },
  })
  expect(answer!.diff.before).not.toContain('vm.swappiness')
  expect(answer!.diff.after).toContain('vm.swappiness: "10"')
})

test('the preview shows the merged configuration as a diff, with the patch that each line comes from, and without secrets', async () => {
  const id = await build()
  await create(id, { name: 'first', weight: 1, body: sysctl('10') })
  const { answer } = await operator.call(patchPreview, {
    params: { id },
    body: {
      name: 'second',
      weight: 2,
      body: 'machine:\n  sysctls:\n    vm.swappiness: "30"\n    vm.max_map_count: "262144"\n',
    },
  })
  expect(answer!.errors).toEqual([])
  expect(answer!.verdict).toEqual({ kind: 'at_install', reason: 'Applied at install' })
  expect(answer!.diff.before).toContain('vm.swappiness: "10"')
  const lines = answer!.diff.after.split('\n')
  const sourceOf = (text: string) =>
    answer!.sources.find((s) => s.line === lines.findIndex((l) => l.includes(text)) + 1)?.layer
  expect(sourceOf('vm.swappiness: "30"')).toBe('second')
  expect(sourceOf('vm.max_map_count')).toBe('second')
  expect(sourceOf('hostname: ')).toBe('static-system')
  expect(answer!.diff.after).toContain('<set when it joins>')
  expect(answer!.diff.after).not.toContain('set-when-it-joins')
  const order = (await operator.call(patchList, { params: { id } })).answer!.items.map(
    (p) => p.name,
  )
  expect(order).toEqual(['static-system', 'default-node', 'first'])
})

test('if Talos would refuse the merged configuration, the patch is refused with the reason', async () => {
  const id = await build()
  const body = 'apiVersion: v1alpha1\nkind: VLANConfig\nname: storage\nvlanID: 20\n'
  const { answer } = await operator.call(patchPreview, { params: { id }, body: { body } })
  expect(answer!.errors).toMatchObject([{ message: expect.stringContaining('parent') as string }])
  expect(answer!.verdict.kind).toBe('not_allowed')
  expect(await create(id, { body })).toMatchObject({
    status: 422,
    problem: { error: expect.stringContaining('parent') as string },
  })
})

test('secrets in a patch are sealed, shown masked, and kept when the masked text is saved', async () => {
  const id = await build()
  const secret = 'a registry password that nobody may read'
  const made = await create(id, {
    body: `apiVersion: v1alpha1\nkind: RegistryAuthConfig\nname: registry.local\nusername: puller\npassword: ${secret}\n`,
  })
  expect(made.text).not.toContain(secret)
  expect(made.answer!.body).toContain(`password: ${masked}`)
  const params = { id, patchId: made.answer!.patch_id }
  for (const text of [
    (await operator.call(patchList, { params: { id } })).text,
    (await operator.call(patchGet, { params })).text,
    (await operator.call(serverConfig, { params: { id } })).text,
    (
      await operator.call(patchPreview, {
        params: { id },
        body: { patch_id: params.patchId, body: made.answer!.body },
      })
    ).text,
  ])
    expect(text).not.toContain(secret)
  const saved = await operator.call(patchUpdate, {
    params,
    body: { body: made.answer!.body.replace('puller', 'reader') },
  })
  expect(saved.answer!.body).toContain('username: reader')
  const stored = await backend.platform.db
    .selectFrom('patch')
    .select('body_sealed')
    .where('id', '=', params.patchId)
    .executeTakeFirstOrThrow()
  expect(Buffer.from(stored.body_sealed).includes(Buffer.from(secret))).toBe(false)
  const opened = await backend.platform.vault.open(backend.platform.db, {
    table: 'patch',
    column: 'body_sealed',
    owner: id,
    sealed: stored.body_sealed,
  })
  expect(opened.toString()).toContain(secret)
  await backend.publish()
  const admin = await backend.signIn()
  expect((await admin.call(auditList, { query: { per_page: 200 } })).text).not.toContain(secret)
})

describe('a patch after which Steelyard would no longer reach the server', () => {
  const body =
    'apiVersion: v1alpha1\nkind: LinkConfig\nname: eth1\naddresses:\n  - address: 10.9.0.5/24\n'
  const keep = '---\napiVersion: v1alpha1\nkind: DHCPv4Config\nname: eth0\n'
  const nameOf = async (id: string) =>
    (await operator.call(serverGet, { params: { id } })).answer!.name

  test('is refused and changes nothing, unless its loss is confirmed by the name of the server', async () => {
    const id = await build()
    const name = await nameOf(id)
    const refused = {
      status: 409,
      problem: {
        code: 'loss_not_confirmed',
        error: expect.stringContaining(
          `Steelyard would lose ${name}: the configuration of eth1 stops DHCP on eth0`,
        ) as string,
        fields: { confirmed_loss: name },
      },
    }
    expect(await create(id, { body })).toMatchObject(refused)
    for (const confirmed_loss of [[], ['another'], [id]])
      expect(
        await operator.call(patchCreate, {
          params: { id },
          body: { name: 'tuning', body, confirmed_loss },
        }),
      ).toMatchObject(refused)
    expect((await operator.call(patchList, { params: { id } })).answer!.items).toHaveLength(2)
    const confirmed = { name: 'tuning', body, confirmed_loss: [name] }
    expect((await operator.call(patchCreate, { params: { id }, body: confirmed })).status).toBe(201)
    // A later patch isn't to blame for it.
    expect((await create(id, { name: 'other', body: sysctl('10') })).status).toBe(201)
  })

  test('is refused when it is changed or when the patch that keeps the address is removed', async () => {
    const id = await build()
    const name = await nameOf(id)
    const made = await create(id, { body: `${body}${keep}` })
    expect(made.status).toBe(201)
    const params = { id, patchId: made.answer!.patch_id }
    expect(await operator.call(patchUpdate, { params, body: { body } })).toMatchObject({
      problem: { code: 'loss_not_confirmed' },
    })
    const kept = (await create(id, { name: 'keep', body: keep.slice(4) })).answer!
    expect((await operator.call(patchUpdate, { params, body: { body } })).status).toBe(200)
    const removal = { id, patchId: kept.patch_id }
    expect(await operator.call(patchRemove, { params: removal })).toMatchObject({
      problem: { code: 'loss_not_confirmed' },
    })
    expect(
      (await operator.call(patchRemove, { params: removal, query: { confirmed_loss: name } }))
        .status,
    ).toBe(204)
  })

  test('in the old form is seen as well, and its harmless counterpart is saved', async () => {
    const id = await build()
    const old = (text: string) => `machine:\n  network:\n    interfaces:\n      - ${text}\n`
    for (const text of [
      '{interface: eth0, ignore: true}',
      '{interface: bond0, bond: {mode: active-backup, interfaces: [eth0, eth1]}}',
      '{interface: eth0, vlans: [{vlanId: 25}]}',
    ])
      expect(await create(id, { body: old(text) })).toMatchObject({
        problem: { code: 'loss_not_confirmed' },
      })
    expect((await create(id, { body: old('{interface: eth1, ignore: true}') })).status).toBe(201)
  })

  test('is a firewall without a rule for Steelyard (case 07)', async () => {
    const id = await build()
    const wall = (ports: string) =>
      `apiVersion: v1alpha1\nkind: NetworkDefaultActionConfig\ningress: block\n---\napiVersion: v1alpha1\nkind: NetworkRuleConfig\nname: in\nportSelector: {ports: [${ports}], protocol: tcp}\ningress: [{subnet: 0.0.0.0/0}]\n`
    expect(await create(id, { body: wall('10250') })).toMatchObject({
      problem: {
        code: 'loss_not_confirmed',
        error: expect.stringContaining('in on port 50000') as string,
      },
    })
    expect((await create(id, { body: wall('50000') })).status).toBe(201)
  })
})

test('a preview warns of a server that would be lost, and of links that the server does not have', async () => {
  const id = await build()
  const preview = async (body: string) =>
    (await operator.call(patchPreview, { params: { id }, body: { body } })).answer!
  const vlan = 'apiVersion: v1alpha1\nkind: VLANConfig\nname: eth7.210\nvlanID: 210\nparent: eth7\n'
  const lost = (why: string) => ({
    check: 'management_address',
    link: 'eth0',
    line: null,
    message: expect.stringContaining(why) as string,
  })
  const answer = await preview(`${vlan}addresses:\n  - address: 10.20.14.37/22\n`)
  expect(answer.errors).toEqual([])
  expect(answer.warnings).toEqual([
    lost('the configuration of eth7.210 stops DHCP on eth0, the link'),
    {
      check: null,
      link: 'eth7',
      line: 5,
      message: expect.stringMatching(/^test-.* has no link eth7: it has eth0, eth1$/) as string,
    },
  ])
  expect(
    (
      await preview(
        `${vlan.replaceAll('eth7', 'eth1')}---\napiVersion: v1alpha1\nkind: DHCPv4Config\nname: eth0\n`,
      )
    ).warnings,
  ).toEqual([])
  // The configuration itself creates this link.
  const bond =
    'apiVersion: v1alpha1\nkind: BondConfig\nname: bond0\nlinks: [eth0, eth1, eth9]\nbondMode: 802.3ad\nmiimon: 100\n'
  expect((await preview(`${bond}---\n${vlan.replaceAll('eth7', 'bond0')}`)).warnings).toMatchObject(
    [lost('becomes a part of bond0'), { check: null, link: 'eth9', line: 4 }],
  )
  expect(
    (
      await preview(
        'machine:\n  network:\n    interfaces:\n      - interface: eth8\n        dhcp: true\n',
      )
    ).warnings,
  ).toMatchObject([{ link: 'eth8', line: 4 }])
})

test('case 20: a problem of the merged configuration has the line and column of the patch', async () => {
  const id = await build()
  const body =
    'machine:\n  sysctls:\n    a.b: "1"\n  nodeLabels:\n    team: x\n    invalid label: randomvalue\n'
  const { answer } = await operator.call(patchPreview, { params: { id }, body: { body } })
  expect(answer!.errors).toMatchObject([{ line: 6, column: 5 }])
  expect(answer!.verdict).toMatchObject({
    kind: 'not_allowed',
    reason: expect.stringMatching(/^Line 6, column 5: /) as string,
  })
  expect((await create(id, { body })).problem!.error).toContain('line 6')
})

test('a problem that another patch causes names that patch and its line', async () => {
  const id = await build()
  await create(id, {
    name: 'second',
    weight: 600,
    body: 'machine:\n  kubelet:\n    image: a/b:c\n',
  })
  const body = 'machine:\n  nodeLabels:\n    bad label: x\n'
  const { answer } = await operator.call(patchPreview, { params: { id }, body: { body } })
  expect(answer!.errors).toMatchObject([{ line: 3, column: 5 }])
})

test('a patch for a role that a free server does not have yet can be previewed and saved', async () => {
  const id = await build()
  const body =
    'machine:\n  features:\n    kubernetesTalosAPIAccess:\n      enabled: true\n      allowedRoles: [os:reader]\n      allowedKubernetesNamespaces: [kube-system]\n'
  const { answer } = await operator.call(patchPreview, { params: { id }, body: { body } })
  expect(answer).toMatchObject({ errors: [], verdict: { kind: 'at_install' } })
  expect((await create(id, { name: 'for-control-planes', body })).status).toBe(201)
  expect((await operator.call(serverConfig, { params: { id } })).text).toContain('os:reader')
  // A patch that suits no role is still refused.
  expect(
    (await create(id, { name: 'for-none', body: `${body}  nodeLabels:\n    a b: c\n` })).status,
  ).toBe(422)
})

test('case 30: a patch with a manifest of 700 KiB is saved, and one of more than 1 MiB is refused', async () => {
  const id = await build()
  const manifest = (lines: number) =>
    `cluster:\n  inlineManifests:\n    - name: cilium\n      contents: |\n${`        # ${'x'.repeat(68)}\n`.repeat(lines)}`
  const { answer } = await operator.call(patchPreview, {
    params: { id },
    body: { body: manifest(9_000) },
  })
  expect(answer!.errors).toEqual([])
  expect((await create(id, { name: 'cilium', body: manifest(9_000) })).status).toBe(201)
  expect((await create(id, { name: 'larger', body: manifest(14_000) })).problem).toMatchObject({
    code: 'invalid',
    fields: { body: 'A patch is at most 1 MiB' },
  })
})

test('the schema includes the Talos versions to which it applies, and the limits', async () => {
  const { answer } = await operator.call(patchSchema)
  expect(answer!.versions).toEqual(['v1.12.11', 'v1.13.9', 'v1.14.1'])
  expect(answer!.limits).toMatchObject({ bodyBytes: 1_048_576 })
  expect(answer!.schema).toMatchObject({ $schema: 'https://json-schema.org/draft/2020-12/schema' })
})

test('patches of an unknown or removed server are not found', async () => {
  const id = '00000000-0000-4000-8000-000000000000'
  expect((await operator.call(patchList, { params: { id } })).status).toBe(404)
  expect((await create(id, { body: sysctl('1') })).status).toBe(404)
  expect(
    (await operator.call(patchGet, { params: { id: await build(), patchId: 'nothing' } })).status,
  ).toBe(404)
  const removed = await build()
  const { name } = (await operator.call(serverRemove, { params: { id: removed } })).answer!
    .operation.target
  expect((await operator.call(patchList, { params: { id: removed } })).problem).toMatchObject({
    code: 'not_found',
    error: `Server ${name} was removed`,
  })
})
