/** Values that Talos accepts and that can't work or may not work when running, through the API. */
import { describe, expect, test } from 'vitest'
import { clusterCreate, clusterPreview } from '#contract/clusters/clusters.ts'
import { datacenterCreate } from '#contract/datacenters.ts'
import { patchCreate, patchPreview, patchRemove, patchUpdate } from '#contract/patches.ts'
import { serverConfig } from '#contract/servers/servers.ts'
import { sharedPatchPreview } from '#contract/shared-patches/shared-patches.ts'
import { emptySchematicId } from '#talos/schematic/schematic.ts'
import { startBackend } from '../../testing/backend.ts'
import { buildServer } from '../servers/testing.ts'

const backend = await startBackend()
const operator = await backend.signIn({ role: 'operator' })
const hardware = {
  processors: [],
  memory: [],
  disks: [{ id: 'nvme0n1', size: 1e12, content: 'empty' }],
  interfaces: [{ id: 'eth0', driver: 'mlx5_core' }],
  addresses: ['10.0.0.5'],
  links: [
    {
      name: 'eth0',
      up: true,
      physical: true,
      hardware_addr: 'b8:ce:f6:b2:db:c5',
      addresses: ['10.0.0.5/24'],
    },
  ],
  routes: [],
}
const build = () =>
  buildServer(backend, { address: '10.0.0.5', hardware: JSON.stringify(hardware), reachable: true })
const preview = async (id: string, body: string) =>
  (await operator.call(patchPreview, { params: { id }, body: { name: 'mine', body } })).answer!
const create = (id: string, body: string) =>
  operator.call(patchCreate, { params: { id }, body: { name: 'mine', body } })

test('09 files-without-op and 16 name-server-by-name: a preview refuses each value with its line, and nothing is saved', async () => {
  const id = await build()
  const body =
    'machine:\n  files:\n    - path: /etc/nfsmount.conf\n      permissions: 420\n      content: x\n  network:\n    nameservers:\n      - dns.example.org\n      - "8.8.8.8:53"\n'
  const { errors, verdict } = await preview(id, body)
  expect(errors.map(({ line, path }) => ({ line, path }))).toEqual([
    { line: 3, path: 'machine.files.0.op' },
    { line: 8, path: 'machine.network.nameservers.0' },
    { line: 9, path: 'machine.network.nameservers.1' },
  ])
  expect(verdict.kind).toBe('not_allowed')
  const refused = await create(id, body)
  expect(refused).toMatchObject({
    status: 422,
    problem: {
      code: 'invalid',
      error: expect.stringMatching(/^Line 3, column \d+: .*create, overwrite or append/) as string,
      fields: { body: expect.stringContaining('Line 8, column') as string },
    },
  })
  expect((await operator.call(serverConfig, { params: { id } })).text).not.toContain('nfsmount')
})

test('11 mac-in-capitals and 13 volume-on-a-disk-that-is-not-there: a preview warns with the line, and the patch can be saved', async () => {
  const id = await build()
  const body =
    'machine:\n  network:\n    interfaces:\n      - deviceSelector:\n          hardwareAddr: "B8:CE:F6:B2:DB:C5"\n        dhcp: true\n---\napiVersion: v1alpha1\nkind: VolumeConfig\nname: EPHEMERAL\nprovisioning:\n  diskSelector:\n    match: disk.dev_path == "/dev/vda"\n  maxSize: 40GiB\n'
  const { errors, warnings } = await preview(id, body)
  expect(errors).toEqual([])
  expect(warnings).toEqual([
    expect.objectContaining({
      check: null,
      line: 5,
      message: expect.stringContaining('write "b8:ce:f6:b2:db:c5"') as string,
    }),
    expect.objectContaining({
      line: 13,
      message: expect.stringContaining('It has /dev/nvme0n1') as string,
    }),
  ])
  expect((await create(id, body)).status).toBe(201)
})

test('19 vip-on-a-free-server: a patch for a control plane can be saved on a server without a role', async () => {
  const id = await build()
  const body =
    'machine:\n  features:\n    kubernetesTalosAPIAccess:\n      enabled: true\n      allowedRoles: [os:reader]\n      allowedKubernetesNamespaces: [kube-system]\n  network:\n    interfaces:\n      - interface: eth0\n        dhcp: true\n        vip: {ip: 10.0.0.45}\n'
  const { errors, warnings, diff, verdict } = await preview(id, body)
  expect(errors).toEqual([])
  expect(verdict.kind).toBe('at_install')
  expect(warnings.map(({ message }) => message)).toEqual([
    expect.stringMatching(/kubernetesTalosAPIAccess.*only if the server becomes a control plane/),
    expect.stringMatching(/virtual address.*only if the server becomes a control plane/),
  ])
  // Both sides are of the same role.
  expect(diff.before).toContain('type: controlplane')
  expect((await create(id, body)).status).toBe(201)
  expect((await operator.call(serverConfig, { params: { id } })).text).toContain('10.0.0.45')
})

test('an address that another server of the datacenter has is refused', async () => {
  const admin = await backend.signIn()
  const datacenter = (
    await admin.call(datacenterCreate, {
      body: { country_code: 'PL', city_code: 'POZ', city_name: 'Poznań' },
    })
  ).answer!
  const datacenter_id = datacenter.id
  const id = await buildServer(backend, { address: '10.0.0.6', datacenter_id })
  // Reported, not dialled.
  await buildServer(backend, {
    address: '10.0.0.7',
    datacenter_id,
    hardware: JSON.stringify(hardware),
  })
  const body = (address: string) =>
    `apiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\naddresses:\n  - address: ${address}/24\n`
  for (const address of ['10.0.0.5', '10.0.0.7'])
    expect((await preview(id, body(address))).errors).toEqual([
      expect.objectContaining({
        line: 5,
        message: expect.stringContaining(`${address} is the address of server test-`) as string,
      }),
    ])
  expect((await preview(id, body('10.0.0.6'))).errors).toEqual([])
})

test('a refused change of a patch changes nothing, and other changes of it are possible', async () => {
  const id = await build()
  const made = await create(id, 'machine:\n  time:\n    servers: [time.example.org]\n')
  const params = { id, patchId: made.answer!.patch_id }
  const bad = 'machine:\n  time:\n    servers: ["time.example.org "]\n'
  expect((await operator.call(patchUpdate, { params, body: { body: bad } })).status).toBe(422)
  expect((await operator.call(patchUpdate, { params, body: { weight: 7 } })).status).toBe(200)
  expect((await operator.call(patchRemove, { params })).status).toBe(204)
})

test.each([
  [
    '31 pass-vlan-and-hostname-rules',
    'apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: edge01\n---\nmachine:\n  network:\n    hostname: edge01\n',
    [/HostnameConfig: the host name is the server’s name/, /machine\.network\.hostname/],
  ],
  [
    '32 pass-json-patch',
    '- op: replace\n  path: /cluster/clusterName\n  value: test\n',
    [/JSON patches are not possible.*Write a strategic merge patch/],
  ],
])('%s: stays refused with the reason', async (_name, body, reasons) => {
  const { errors } = await preview(await build(), body)
  expect(errors.map(({ message }) => message)).toEqual(
    reasons.map((reason) => expect.stringMatching(reason) as string),
  )
})

test.each([
  ['a VLAN without its parent', 'kind: VLANConfig\nname: enp1s0f0.100\nvlanID: 100'],
  ['a host entry without names', 'kind: StaticHostConfig\nname: 10.0.0.3'],
  ['a VRF without a table', 'kind: VRFConfig\nname: vrf0\nlinks: [eno1]'],
])('20 problem-without-a-line, its kin: %s has the line of its document', async (_name, text) => {
  const body = `machine:\n  sysctls: {vm.max_map_count: "1"}\n---\napiVersion: v1alpha1\n${text}\n`
  const { errors } = await preview(await build(), body)
  expect(errors.length).toBeGreaterThan(0)
  for (const error of errors) expect([4, 5, 6, 7]).toContain(error.line)
})

test.each([
  [
    'talos#7977: an argument of the kubelet with a letter less',
    'machine: {kubelet: {extraArgs: {rotate-server-certificate: "true"}}}',
    /has no argument rotate-server-certificate.*Did you mean rotate-server-certificates/,
  ],
  [
    'a kernel argument that wipes at each boot',
    'machine: {install: {grubUseUKICmdline: false, extraKernelArgs: [talos.experimental.wipe=system]}}',
    /wipes its disk at each boot/,
  ],
  [
    'talos#9550: containerd’s part with a table twice',
    'machine: {files: [{path: /etc/cri/conf.d/20-customization.part, op: create, content: "[a]\\n[a]\\n"}]}',
    /line 2, column 2: trying to redefine an already defined table/,
  ],
  [
    'a virtual address that the server has by DHCP',
    'machine: {network: {interfaces: [{interface: eth0, dhcp: true, vip: {ip: 10.0.0.5}}]}}',
    /has it already, perhaps by DHCP/,
  ],
])('%s is refused by the preview, and nothing is saved', async (_name, body, reason) => {
  const id = await build()
  const { errors, verdict } = await preview(id, body)
  expect(errors.map(({ message, line }) => ({ message, line }))).toEqual([
    { message: expect.stringMatching(reason) as string, line: 1 },
  ])
  expect(verdict.kind).toBe('not_allowed')
  expect(await create(id, body)).toMatchObject({ status: 422, problem: { code: 'invalid' } })
})

describe('each entry holds a patch against the same rules', async () => {
  const admin = await backend.signIn()
  const { id: datacenter_id } = (
    await admin.call(datacenterCreate, {
      body: { country_code: 'PL', city_code: 'GDN', city_name: 'Gdańsk' },
    })
  ).answer!
  await buildServer(backend, { address: '10.0.0.9', datacenter_id, name: 'has-the-address' })
  const addressed = (address: string): string =>
    `apiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\naddresses: [{address: ${address}/24}]\n`
  const patched = await buildServer(backend, {
    address: '10.0.0.8',
    datacenter_id,
    name: 'has-the-patch',
  })
  await create(patched, addressed('10.77.0.5'))
  const made = () =>
    buildServer(backend, {
      address: '10.0.0.5',
      datacenter_id,
      schematic: emptySchematicId,
      hardware: JSON.stringify(hardware),
      reachable: true,
    })
  const creationOf = (node_id: string, body: string) => ({
    name: 'entries',
    talos_version: 'v1.13.9',
    kubernetes_version: '1.36.3',
    datacenter_id,
    servers: [{ node_id, role: 'control_plane' as const, patch: { name: 'mine', body } }],
  })

  /** What each way of giving a server a patch says about it. */
  const entries = {
    preview: async (body: string) => {
      const { errors, warnings } = await preview(await made(), body)
      return [...errors, ...warnings].map(({ message }) => message)
    },
    'saving a patch': async (body: string) => {
      const { problem } = await create(await made(), body)
      return [problem?.error ?? '', problem?.fields?.['body'] ?? '']
    },
    'changing a patch': async (body: string) => {
      const id = await made()
      const saved = await create(id, 'machine: {time: {servers: [time.example.org]}}\n')
      const params = { id, patchId: saved.answer!.patch_id }
      const { problem } = await operator.call(patchUpdate, { params, body: { body } })
      return [problem?.error ?? '', problem?.fields?.['body'] ?? '']
    },
    'previewing a creation': async (body: string) => {
      const called = await operator.call(clusterPreview, { body: creationOf(await made(), body) })
      return [
        ...called.answer!.checks.filter(({ ok }) => !ok).map(({ message }) => message),
        ...called.answer!.servers.flatMap(({ warnings }) => warnings),
      ]
    },
    'previewing a shared patch': async (body: string) => {
      const node_ids = [await made()]
      const { answer } = await admin.call(sharedPatchPreview, {
        body: {
          name: 'mine',
          body,
          targets: { labels: [], cluster_ids: [], roles: [], node_ids },
        },
      })
      return [
        ...answer!.refused.map(({ reason }) => reason),
        ...answer!.groups.flatMap(({ warnings }) => warnings),
        ...answer!.losses.map(({ reason }) => reason),
      ]
    },
    creation: async (body: string) => {
      const { problem } = await operator.call(clusterCreate, {
        body: creationOf(await made(), body),
      })
      return [problem?.error ?? '', ...Object.values(problem?.fields ?? {})]
    },
  } satisfies Record<string, (body: string) => Promise<string[]>>

  const refused: Readonly<Record<string, readonly [body: string, says: RegExp]>> = {
    'a value that is refused when running': [
      'cluster: {apiServer: {extraArgs: {service-node-port-range: "30000-70000"}}}',
      /goes beyond port 65535/,
    ],
    'an argument with a value of another type': [
      'cluster: {etcd: {extraArgs: {quota-backend-bytes: 8GB}}}',
      /quota-backend-bytes must be a whole number/,
    ],
    'an address that another server has': [
      'apiVersion: v1alpha1\nkind: Layer2VIPConfig\nname: 10.0.0.9\nlink: eth0\n',
      /10\.0\.0\.9 is the address of server has-the-address/,
    ],
    'a cut': [
      'machine: {network: {interfaces: [{interface: eth0, ignore: true}]}}',
      /Steelyard would lose/,
    ],
    'a broken certificate': [
      `machine: {registries: {config: {a.example.org: {tls: {ca: ${Buffer.from('-----BEGIN CERTIFICATE-----\nMAMC\n').toString('base64')}}}}}}`,
      /The authority of a\.example\.org has no line/,
    ],
  }
  test.each(
    Object.entries(entries).flatMap(([entry, ask]) =>
      Object.entries(refused).map(([what, [body, says]]) => ({ entry, ask, what, body, says })),
    ),
  )('$entry: $what is told', async ({ ask, body, says }) => {
    expect((await ask(`${body}\n`)).join('\n')).toMatch(says)
  })

  const warned: Readonly<Record<string, readonly [body: string, says: RegExp]>> = {
    'a selector that matches no link': [
      'machine: {network: {interfaces: [{deviceSelector: {hardwareAddr: "de:ad:*"}, mtu: 1500}]}}',
      /matches no link/,
    ],
    'a volume beside EPHEMERAL': [
      'apiVersion: v1alpha1\nkind: UserVolumeConfig\nname: data\nprovisioning: {diskSelector: {match: system_disk}, minSize: 1GiB}\n',
      /which EPHEMERAL fills/,
    ],
    '57 one-address-for-two-servers': [
      addressed('10.77.0.5'),
      /10\.77\.0\.5 is also the address that patches give has-the-patch/,
    ],
    '60 a module without its extension': [
      'machine: {kernel: {modules: [{name: zfs}]}}',
      /no extension with the module zfs/,
    ],
    '62 a key of a TPM': [
      'apiVersion: v1alpha1\nkind: VolumeConfig\nname: STATE\nencryption: {provider: luks2, keys: [{slot: 0, tpm: {}}]}\n',
      /has a TPM 2\.0 is not known/,
    ],
    '65 a name server in the cluster': [
      'apiVersion: v1alpha1\nkind: ResolverConfig\nnameservers: [{address: 10.96.0.10}]\n',
      /service network of the cluster/,
    ],
  }
  test('one address for the servers of one request is warned about', async () => {
    const body = addressed('10.88.0.5')
    const [one, other] = [await made(), await made()]
    const { answer } = await admin.call(sharedPatchPreview, {
      body: {
        name: 'mine',
        body,
        targets: { labels: [], cluster_ids: [], roles: [], node_ids: [one, other] },
      },
    })
    expect(answer!.groups.flatMap(({ warnings }) => warnings)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(
          /10\.88\.0\.5 is also the address that patches give .*\{\{address\}\}/,
        ),
      ]),
    )
    const both = creationOf(one, body)
    const servers = [one, other].map((node_id) => ({ ...both.servers[0]!, node_id }))
    const created = await operator.call(clusterPreview, { body: { ...both, servers } })
    expect(created.answer!.servers.flatMap(({ warnings }) => warnings).join('\n')).toMatch(
      /10\.88\.0\.5 is also the address that patches give/,
    )
  })

  test.each(
    (['preview', 'previewing a creation', 'previewing a shared patch'] as const).flatMap((entry) =>
      Object.entries(warned).map(([what, [body, says]]) => ({ entry, what, body, says })),
    ),
  )('$entry: $what is warned about', async ({ entry, body, says }) => {
    expect((await entries[entry](`${body}\n`)).join('\n')).toMatch(says)
  })
})
