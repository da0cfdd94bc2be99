import { expect, test } from 'vitest'
import {
  crumbsOf,
  isGuarded,
  isReadable,
  routeAt,
  type RouteId,
  routes,
  sections,
} from './routes.ts'

test('a path leads to its route with decoded params; a fixed path comes before a param', () => {
  expect(routeAt('/')).toEqual({ id: '/', params: {} })
  expect(routeAt('/infra/servers/join-tokens')).toEqual({
    id: '/infra/servers/join-tokens',
    params: {},
  })
  expect(routeAt('/infra/servers/a%2Fb')).toEqual({
    id: '/infra/servers/$id',
    params: { id: 'a/b' },
  })
  expect(routeAt('/infra/servers/s/patches/p')).toEqual({
    id: '/infra/servers/$id/patches/$patchId',
    params: { id: 's', patchId: 'p' },
  })
})

test('a path whose escapes are not text has no route, so it shows Page Not Found', () => {
  for (const path of ['/%ZZ', '/infra/servers/%', '/infra/servers/%FF'])
    expect([routeAt(path), isReadable(path)]).toEqual([null, false])
  expect(isReadable('/infra/servers/%C3%A9')).toBe(true)
})

test('a path may end with a slash and is case-insensitive, and an unknown path has no route', () => {
  expect(routeAt('/Infra/Servers/')?.id).toBe('/infra/servers')
  for (const path of ['/infra', '/infra/servers//', '/infra/servers/s/t', '/nothing/here'])
    expect(routeAt(path)).toBeNull()
})

test('the breadcrumbs of a page link to the pages above it and to the page itself', () => {
  const hrefs = (path: string) => crumbsOf(routeAt(path)!).map(({ href }) => href)
  expect(hrefs('/')).toEqual(['/'])
  expect(hrefs('/infra/servers/s/patches/p')).toEqual([
    '/infra/servers',
    '/infra/servers/s',
    '/infra/servers/s/patches/p',
  ])
  expect(hrefs('/infra/network/n/edit')).toEqual(['/infra/network', '/infra/network/n/edit'])
  expect(hrefs('/auth/login')).toEqual([])
})

test('all pages but those for visitors are for signed-in users', () => {
  expect(
    [
      '/infra',
      '/infra/x',
      '/INFRA/servers',
      '/operations',
      '/operations/x',
      '/audit',
      '/admin/users',
      '/profile',
    ].every(isGuarded),
  ).toBe(true)
  expect(['/', '/infrared', '/auditors', '/auth/login'].some(isGuarded)).toBe(false)
})

test('the marketplace and its page of commitments are for signed-in users, and have their crumbs', () => {
  expect([routeAt('/marketplace')?.id, routeAt('/marketplace/ccs')?.id]).toEqual([
    '/marketplace',
    '/marketplace/ccs',
  ])
  expect(['/marketplace', '/Marketplace/ccs', '/marketplace/ccs/c'].every(isGuarded)).toBe(true)
  expect(isGuarded('/marketplaces')).toBe(false)
  const crumbs = crumbsOf(routeAt('/marketplace/ccs/c')!)
  expect(crumbs.map(({ href }) => href)).toEqual([
    '/marketplace',
    '/marketplace/ccs',
    '/marketplace/ccs/c',
  ])
  expect(crumbs.slice(0, 2).map(({ crumb }) => crumb)).toEqual(['Marketplace', 'Compute Capacity'])
})

test('every specified page has its breadcrumb', () => {
  const crumbs: readonly (readonly [string, RouteId, unknown])[] = [
    ['/infra/datacenters', '/infra/datacenters', 'Datacenters'],
    ['/infra/servers', '/infra/servers', 'Servers'],
    [
      '/infra/servers/prepare-image',
      '/infra/servers/prepare-image',
      'Talos OS Image Configuration',
    ],
    ['/infra/servers/7', '/infra/servers/$id', { query: 'serverGet', list: 'servers' }],
    ['/infra/servers/7/create-patch', '/infra/servers/$id/create-patch', 'Create Patch'],
    ['/infra/servers/7/patches/p', '/infra/servers/$id/patches/$patchId', 'Edit Patch $patchId'],
    ['/infra/network', '/infra/network', 'Network'],
    ['/infra/network/add-subnet', '/infra/network/add-subnet', 'Add Subnet'],
    ['/infra/network/assign-subnets', '/infra/network/assign-subnets', 'Assign Subnets'],
    ['/infra/clusters', '/infra/clusters', 'Clusters'],
    ['/infra/clusters/create', '/infra/clusters/create', 'Create Cluster'],
  ]
  for (const [path, id, crumb] of crumbs) {
    const match = routeAt(path)!
    expect([match.id, crumbsOf(match).at(-1)!.crumb]).toEqual([id, crumb])
  }
})

test('the specified search params are optional strings; other values are dropped', () => {
  const kept = (id: RouteId, raw: Record<string, unknown>) => routes[id].search(raw)
  expect(kept('/infra/servers', { cluster: 'poz', nodeType: 'worker' })).toEqual({
    cluster: 'poz',
    nodeType: 'worker',
  })
  expect(kept('/infra/servers', { cluster: ['a'], nodeType: 7 })).toEqual({})
  expect([
    kept('/infra/network', { cluster: 'poz' }),
    kept('/infra/network', { cluster: true }),
  ]).toEqual([{ cluster: 'poz' }, {}])
  expect([kept('/infra/clusters', { q: 'poz' }), kept('/infra/clusters', { q: {} })]).toEqual([
    { q: 'poz' },
    {},
  ])
  expect([
    kept('/auth/login', { error: 'x', other: 'y' }),
    kept('/auth/login', { error: '' }),
  ]).toEqual([{ error: 'x' }, {}])
})

test('the section above the pages of infrastructure has its label', () => {
  expect(sections['/infra']).toBe('Infrastructure')
  expect(Object.keys(routes).filter((id) => id.startsWith('/infra/')).length).toBeGreaterThan(10)
})
