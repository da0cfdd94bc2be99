import * as z from 'zod/mini'
import { describe, expect, test } from 'vitest'
import { allOperations } from '../all.ts'
import { computeUnits } from '../capacity.ts'
import { canHaveControlPlanes, NewCluster } from '../clusters/clusters.ts'
import { errors } from '../errors.ts'
import { nameOf } from '../names.ts'
import { permits, scopesOf } from '../permissions.ts'
import {
  canBecome,
  canCommandServer,
  canControlServer,
  canForceRemoveServer,
  canJoinCluster,
  canKeepInstalled,
  canRemoveServer,
  canRenameServer,
  canResetServer,
  Resources,
  serverList,
  serverStatuses,
} from './servers.ts'
import { authorize } from '../sessions.ts'

const messageOf = (schema: z.core.$ZodType, value: unknown) =>
  z.safeParse(schema, value).error?.issues[0]?.message

test.each([
  ['', 'Server name must be at least 1 character'],
  ['a'.repeat(26), 'Server name must be no more than 25 characters'],
  [
    '-a',
    'Server name can only contain lowercase letters, numbers, and hyphens, and cannot start or end with a hyphen',
  ],
  [
    'a-',
    'Server name can only contain lowercase letters, numbers, and hyphens, and cannot start or end with a hyphen',
  ],
  [
    'a--b',
    'Server name can only contain lowercase letters, numbers, and hyphens, and cannot start or end with a hyphen',
  ],
  [
    'A',
    'Server name can only contain lowercase letters, numbers, and hyphens, and cannot start or end with a hyphen',
  ],
  [
    'żółw',
    'Server name can only contain lowercase letters, numbers, and hyphens, and cannot start or end with a hyphen',
  ],
])('the name %j is refused with the specified sentence', (name, sentence) =>
  expect(messageOf(nameOf('Server'), name)).toBe(sentence),
)

test('a name is trimmed before validation', () =>
  expect(z.parse(nameOf('Server'), ' calm-heron-204 ')).toBe('calm-heron-204'))

test('a server can be controlled only after it runs its cluster’s configuration', () => {
  const cluster = { id: '0198c0de-0000-7000-8000-000000000001', name: 'web' }
  expect(canControlServer({ status: 'ready', cluster })).toEqual({ ok: true })
  expect(canControlServer({ status: 'maintenance', cluster })).toEqual({
    ok: false,
    reason: 'The server does not run the configuration of web yet',
    kind: 'for_now',
  })
  expect(canControlServer({ status: 'maintenance', cluster: null })).toEqual({
    ok: false,
    reason: 'Talos allows this only once the server is in a cluster',
  })
})

test('a command can be sent only to a server that answers', () => {
  const cluster = { id: '0198c0de-0000-7000-8000-000000000001', name: 'web' }
  const judge = (reachable: boolean | null) =>
    canCommandServer({ name: 'calm-heron-204', status: 'ready', cluster, talos: { reachable } })
  expect([judge(true), judge(null)]).toEqual([{ ok: true }, { ok: true }])
  expect(judge(false)).toEqual({
    ok: false,
    reason:
      'calm-heron-204 does not answer, so no command reaches it: switch it off and on at its place',
    kind: 'for_now',
  })
})

test("a server in a cluster can't be renamed", () => {
  expect(canRenameServer({ status: 'ready', cluster: { id: 'x', name: 'c' } })).toEqual({
    ok: false,
    reason: 'The name is fixed while the server is in a cluster',
  })
  expect(canRenameServer({ status: 'maintenance', cluster: null }).ok).toBe(true)
})

describe('leaving a cluster', () => {
  const [one, two, three] = ['1', '2', '3'].map((n) => ({
    node_id: `id-${n}`,
    name: `web-${n}`,
    role: 'control_plane' as const,
  }))
  const worker = { node_id: 'id-4', name: 'web-4', role: 'worker' as const }
  const cluster = {
    name: 'prod',
    status: 'ready' as const,
    servers: [one!, two!, three!, worker],
    endpoint: 'https://[fd00::1]:6443',
    virtual_ip: false,
  }
  const server = {
    id: 'id-2',
    name: 'web-2',
    status: 'ready' as const,
    cluster: { id: 'c', name: 'prod' },
    operation_id: null,
    nodeAddresses: ['10.0.0.2', 'fd00::2'],
    talos: { reachable: true as boolean | null },
  }
  const dark = { ...server, talos: { reachable: false } }

  test('a server that answers is reset; a server that doesn’t is removed by force', () => {
    expect(canResetServer(server, cluster).ok).toBe(true)
    expect(canForceRemoveServer(server, cluster)).toEqual({
      ok: false,
      reason: 'web-2 answers: reset it instead',
    })
    expect(canResetServer(dark, cluster)).toMatchObject({
      ok: false,
      reason: expect.stringContaining('remove it by force'),
    })
    expect(canForceRemoveServer(dark, cluster).ok).toBe(true)
    // While an operation runs on the server, a reset is refused. Removal by force is allowed,
    // because it ends the operation.
    expect(canResetServer({ ...server, operation_id: 'o' })).toMatchObject({
      ok: false,
      reason: 'An operation on the server has not ended',
    })
    expect(canForceRemoveServer({ ...dark, operation_id: 'o' }).ok).toBe(true)
  })

  test('a control plane can’t leave if it is the only one, or if the endpoint is its own address', () => {
    const alone = { ...cluster, servers: [two!, worker] }
    for (const verdict of [canResetServer(server, alone), canForceRemoveServer(dark, alone)])
      expect(verdict).toEqual({
        ok: false,
        reason: 'web-2 is the only control plane of prod: delete the cluster instead',
      })
    const endpoint = { ...server, nodeAddresses: ['10.0.0.1', 'fd00::1'] }
    expect(canResetServer(endpoint, cluster)).toMatchObject({
      ok: false,
      reason: expect.stringContaining('https://[fd00::1]:6443'),
    })
    expect(canResetServer(endpoint, { ...cluster, virtual_ip: true }).ok).toBe(true)
    // Allowed, because the endpoint is the address of a server that no longer answers, so the
    // endpoint is lost already.
    expect(canForceRemoveServer({ ...endpoint, talos: { reachable: false } }, cluster).ok).toBe(
      true,
    )
  })

  test.each(['pending', 'installing', 'failed', 'deleting'] as const)(
    "a server can't leave a cluster that is %s",
    (status) => {
      expect(canResetServer(server, { ...cluster, status }).ok).toBe(false)
      expect(canForceRemoveServer(dark, { ...cluster, status }).ok).toBe(false)
    },
  )

  test("a server without a cluster can't leave one", () => {
    const free = { ...server, status: 'maintenance' as const, cluster: null }
    expect(canResetServer(free)).toEqual({
      ok: false,
      reason: 'Talos allows this only once the server is in a cluster',
    })
    expect(canForceRemoveServer(free)).toEqual(canRemoveServer(free))
    expect(canRemoveServer(server)).toEqual({
      ok: false,
      reason: 'Take the server out of the cluster prod first',
    })
    expect(canResetServer({ ...server, status: 'deleted' }).ok).toBe(false)
  })

  test("a server that has not joined can't be reset by itself", () => {
    const failed = { ...server, status: 'maintenance' as const }
    expect(canResetServer(failed, cluster)).toEqual({
      ok: false,
      reason: 'The server does not run the configuration of prod yet',
      kind: 'for_now',
    })
    expect(canRemoveServer(failed).ok).toBe(false)
    expect(canForceRemoveServer(failed, cluster).ok).toBe(false)
    expect(canForceRemoveServer({ ...failed, talos: { reachable: false } }, cluster).ok).toBe(true)
  })
})

test('exactly four changes of the status of a server are allowed', () => {
  const allowed = serverStatuses.flatMap((from) =>
    serverStatuses.filter((to) => canBecome(from, to).ok).map((to) => `${from} → ${to}`),
  )
  expect(allowed.toSorted()).toEqual([
    'maintenance → deleted',
    'maintenance → ready',
    'ready → deleted',
    'ready → maintenance',
  ])
})

test.each([
  [0, false],
  [1, true],
  [2, false],
  [3, true],
  [4, false],
  [7, true],
  [9, false],
])('%i control planes are allowed: %s', (count, ok) =>
  expect(canHaveControlPlanes(count).ok).toBe(ok),
)

test('the compute units of unknown hardware are unknown, not 0', () => {
  const gib = 1024 ** 3
  expect(computeUnits({ processors: [], memory: [], disks: [] })).toBeNull()
  expect(
    computeUnits({ processors: [{ cpu_cores: 32 }], memory: [{ size: undefined }], disks: [] }),
  ).toBeNull()
  expect(
    computeUnits({
      processors: [{ cpu_cores: 32 }, { cpu_cores: 32 }],
      memory: [{ size: 127 * gib }],
      disks: [],
    }),
  ).toBe(31)
})

test('the scopes of a viewer allow reading everything but secrets, and no writing', () => {
  expect(scopesOf.viewer.filter((s) => !s.endsWith(':read') || s === 'secrets:read')).toEqual([])
  expect(permits(scopesOf.viewer, 'servers:write')).toEqual({
    ok: false,
    reason: 'Your role does not include servers:write',
  })
  expect(scopesOf.operator).not.toContain('users:manage')
})

test('every API call has a unique name and path, and declared errors', () => {
  const names = allOperations.map((o) => o.name)
  const places = allOperations.map((o) => `${o.method} ${o.path.replaceAll(/\{\w+\}/g, '{}')}`)
  expect(new Set(names).size).toBe(names.length)
  expect(new Set(places).size).toBe(places.length)
  for (const o of allOperations) for (const code of o.errors) expect(errors).toHaveProperty(code)
})

test('the server list defaults to page 1 of 1000 and refuses unknown filters', () => {
  expect(z.parse(serverList.query, {})).toEqual({ page: 1, per_page: 1000 })
  expect(z.safeParse(serverList.query, { colour: 'red' }).success).toBe(false)
  expect(z.safeParse(serverList.query, { status: 'broken' }).success).toBe(false)
})

test('the filters of the server list have the specified values', () => {
  const accepted = (filter: 'status' | 'nodeType', values: readonly string[]) =>
    values.filter((value) => z.safeParse(serverList.query, { [filter]: value }).success)
  expect(accepted('status', ['ready', 'maintenance', 'deleted', 'unknown', ''])).toEqual([
    'ready',
    'maintenance',
    'deleted',
  ])
  expect(accepted('nodeType', ['unknown', 'control_plane', 'worker', 'ready', ''])).toEqual([
    'unknown',
    'control_plane',
    'worker',
  ])
})

test('resources default to empty lists', () => {
  expect(z.parse(Resources, {})).toEqual({
    node_addresses: [],
    processors: [],
    memory: [],
    disks: [],
    interfaces: [],
  })
})

test('resources have the specified fields, all optional but the id', () => {
  const whole = {
    node_addresses: ['10.0.0.1'],
    processors: [
      {
        id: '0',
        socket: 'P0',
        manufacturer: 'AMD',
        product_name: 'EPYC',
        cpu_cores: 32,
        thread_count: 64,
        max_speed: 3250,
      },
    ],
    memory: [{ id: 'a', size: 1, manufacturer: 'Samsung', device_locator: 'A1' }],
    disks: [
      {
        id: 'sda',
        size: 1,
        io_size: 512,
        pretty_size: '1 B',
        type: 'ssd',
        model: 'M',
        wwid: 'naa.1',
      },
    ],
    interfaces: [
      {
        id: 'eno1',
        link_state: true,
        driver: 'ice',
        product: 'E810',
        vendor: 'Intel',
        hardware_addr: '02:00:00:00:00:01',
      },
    ],
  }
  expect(z.parse(Resources, whole)).toEqual(whole)
  for (const list of ['processors', 'memory', 'disks', 'interfaces'] as const) {
    expect(z.parse(Resources, { [list]: [{ id: 'x' }] })[list]).toEqual([{ id: 'x' }])
    expect(z.safeParse(Resources, { [list]: [{}] }).success).toBe(false)
  }
  expect(z.safeParse(Resources, { interfaces: [{ id: 'x', link_state: 'up' }] }).success).toBe(
    false,
  )
})

test('an email is trimmed and lower-cased, and a password is kept as entered', () => {
  expect(
    z.parse(authorize.body, { email: ' Ada@Example.org ', password: '  two spaces  ' }),
  ).toEqual({ email: 'ada@example.org', password: '  two spaces  ' })
})

test('a cluster needs CIDRs without host bits, and an address or DNS name as endpoint', () => {
  const cluster = {
    name: 'c',
    datacenter_id: crypto.randomUUID(),
    servers: [{ node_id: crypto.randomUUID(), role: 'control_plane' }],
  }
  expect(z.safeParse(NewCluster, cluster).success).toBe(true)
  expect(messageOf(NewCluster, { ...cluster, pod_cidr: '10.244.0.1/16' })).toContain('Pod CIDR')
  for (const endpoint of [
    '10.0.0.10',
    'https://10.0.0.10:6443',
    'api.example.org',
    '2001:db8::1',
    'https://[2001:db8::1]:6443',
  ])
    expect(messageOf(NewCluster, { ...cluster, endpoint })).toBeUndefined()
  for (const endpoint of ['', 'a b', 'http://x', 'x_y'])
    expect(messageOf(NewCluster, { ...cluster, endpoint })).toBe(
      'Enter an IP address or a DNS name',
    )
  expect(messageOf(NewCluster, { ...cluster, endpoint: '10.0.0.10:70' })).toContain(
    'Leave the port out',
  )
})

test('a server joins clusters of its own Talos minor or an older one', () => {
  const s = {
    status: 'maintenance',
    eligibility: [{ check: 'free', ok: true, reason: null }],
    talos: { version: 'v1.12.11', installed: null },
  } as const
  expect(canJoinCluster({ ...s, eligibility: [...s.eligibility] })).toEqual({ ok: true })
  expect(canJoinCluster({ ...s, eligibility: [...s.eligibility] }, 'v1.12.3')).toEqual({ ok: true })
  expect(canJoinCluster({ ...s, eligibility: [...s.eligibility] }, 'v1.13.9')).toEqual({
    ok: false,
    reason:
      "Talos v1.12.11 runs here, which is older than the cluster's v1.13.9: boot a newer image",
  })
  expect(
    canJoinCluster(
      { ...s, eligibility: [...s.eligibility], talos: { version: 'v1.13.1', installed: null } },
      'v1.12.11',
    ),
  ).toEqual({ ok: true })
})

test('a server with an installed Talos can join a cluster only with the installed version and the same install disk', () => {
  const installed = { version: 'v1.13.1', disk: '/dev/sdb' }
  const s = {
    status: 'maintenance' as const,
    eligibility: [],
    talos: { version: 'v1.13.1', installed },
  }
  expect(canJoinCluster(s)).toEqual({ ok: true })
  expect(canJoinCluster(s, 'v1.13.1')).toEqual({ ok: true })
  const other = {
    ok: false,
    reason:
      'Talos v1.13.1 is installed here; boot it with the wanted image with `talos.experimental.wipe=system`',
  }
  for (const version of ['v1.12.11', 'v1.13.0']) expect(canJoinCluster(s, version)).toEqual(other)
  expect(canKeepInstalled(installed, 'v1.13.1', '/dev/sdb')).toEqual({ ok: true })
  expect(canKeepInstalled(installed, 'v1.13.1', '/dev/sda')).toEqual({
    ok: false,
    reason: 'Talos is installed on /dev/sdb; choose that disk, not /dev/sda',
  })
})
