import { expect, test } from 'vitest'
import { isAt, menu, type MenuEntry, visible } from './menu.ts'

test('the menu has the specified order', () => {
  expect(menu.map((entry) => entry.label)).toEqual(['Datacenters', 'Clusters', 'Servers', 'Network'])
})

test('an entry with a capability is hidden from users without it', () => {
  const entries: MenuEntry[] = [
    { label: 'a', icon: 'server', capability: 'marketplace:read' },
    { label: 'b', icon: 'grip', submenu: [{ label: 'c', icon: 'grip', capability: 'users:manage' }] },
  ]
  expect(visible(entries, [])).toEqual([{ label: 'b', icon: 'grip', submenu: [] }])
  expect(visible(entries, ['marketplace:read', 'users:manage'])).toEqual(entries)
})

test('a menu entry is active on all pages below it', () => {
  const servers = menu.find((entry) => entry.label === 'Servers')!
  expect([isAt(servers, '/infra/servers'), isAt(servers, '/infra/servers/7/create-patch'), isAt(servers, '/infra/servers-old')]).toEqual([true, true, false])
})
