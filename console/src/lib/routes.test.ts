import { expect, test } from 'vitest'
import { crumbsOf, isGuarded, routeAt } from './routes.ts'

test('a path leads to its route with decoded params; a fixed path comes before a param', () => {
  expect(routeAt('/')).toEqual({ id: '/', params: {} })
  expect(routeAt('/infra/servers/join-tokens')).toEqual({ id: '/infra/servers/join-tokens', params: {} })
  expect(routeAt('/infra/servers/a%2Fb')).toEqual({ id: '/infra/servers/$id', params: { id: 'a/b' } })
  expect(routeAt('/infra/servers/s/patches/p')).toEqual({ id: '/infra/servers/$id/patches/$patchId', params: { id: 's', patchId: 'p' } })
  expect(routeAt('/infra/servers/%')).toEqual({ id: '/infra/servers/$id', params: { id: '%' } })
})

test('a path may end with a slash and is case-insensitive, and an unknown path has no route', () => {
  expect(routeAt('/Infra/Servers/')?.id).toBe('/infra/servers')
  for (const path of ['/infra', '/infra/servers//', '/infra/servers/s/t', '/nothing/here']) expect(routeAt(path)).toBeNull()
})

test('the breadcrumbs of a page link to the pages above it and to the page itself', () => {
  const hrefs = (path: string) => crumbsOf(routeAt(path)!).map(({ href }) => href)
  expect(hrefs('/')).toEqual(['/'])
  expect(hrefs('/infra/servers/s/patches/p')).toEqual(['/infra/servers', '/infra/servers/s', '/infra/servers/s/patches/p'])
  expect(hrefs('/infra/network/n/edit')).toEqual(['/infra/network', '/infra/network/n/edit'])
  expect(hrefs('/auth/login')).toEqual([])
})

test('the pages of the infrastructure, operations and the audit log are for signed-in users', () => {
  expect(['/infra', '/infra/x', '/INFRA/servers', '/operations', '/operations/x', '/audit'].every(isGuarded)).toBe(true)
  expect(['/', '/infrared', '/auditors', '/auth/login'].some(isGuarded)).toBe(false)
})

test('the marketplace and its page of commitments are for signed-in users, and have their crumbs [S034, S036, S037]', () => {
  expect([routeAt('/marketplace')?.id, routeAt('/marketplace/ccs')?.id]).toEqual(['/marketplace', '/marketplace/ccs'])
  expect(['/marketplace', '/Marketplace/ccs', '/marketplace/ccs/c'].every(isGuarded)).toBe(true)
  expect(isGuarded('/marketplaces')).toBe(false)
  const crumbs = crumbsOf(routeAt('/marketplace/ccs/c')!)
  expect(crumbs.map(({ href }) => href)).toEqual(['/marketplace', '/marketplace/ccs', '/marketplace/ccs/c'])
  expect(crumbs.slice(0, 2).map(({ crumb }) => crumb)).toEqual(['Marketplace', 'Compute Capacity'])
})
