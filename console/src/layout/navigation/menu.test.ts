import { expect, test, vi } from 'vitest'
import { bySection, isAt, menu, type MenuEntry, visible } from './menu.ts'

test('the menu has the specified entries in the specified order, in the section Infrastructure, each with label, icon and path', () => {
  expect(
    bySection(menu).map(([section, entries]) => [
      section,
      entries.map(({ label, icon, path }) => [label, icon, path]),
    ]),
  ).toEqual([
    [
      'Infrastructure',
      [
        ['Datacenters', 'datacenter', '/infra/datacenters'],
        ['Clusters', 'cluster', '/infra/clusters'],
        ['Servers', 'server', '/infra/servers'],
        ['Network', 'network', '/infra/network'],
      ],
    ],
  ])
})

test('the build adds the marketplace at the end of the menu, with its one page', async () => {
  for (const [setting, labels] of [
    ['1', ['Datacenters', 'Clusters', 'Servers', 'Network', 'Marketplace']],
    ['true', ['Datacenters', 'Clusters', 'Servers', 'Network', 'Marketplace']],
    ['0', ['Datacenters', 'Clusters', 'Servers', 'Network']],
    ['', ['Datacenters', 'Clusters', 'Servers', 'Network']],
  ] as const) {
    vi.stubEnv('VITE_MENU_MARKETPLACE', setting)
    vi.resetModules()
    const built = await import('./menu.ts')
    expect(built.menu.map((entry) => entry.label)).toEqual(labels)
    const marketplace = built.menu.find((entry) => entry.label === 'Marketplace')
    if (marketplace === undefined) continue
    expect(marketplace.submenu?.map(({ label, path }) => [label, path])).toEqual([
      ['CCs', '/marketplace/ccs'],
    ])
    expect(built.isAt(marketplace, '/marketplace/ccs/7')).toBe(true)
    expect(built.visible([marketplace], ['servers:read'])).toEqual([])
  }
  vi.unstubAllEnvs()
})

test('an entry with a capability is hidden from users without it', () => {
  const entries: MenuEntry[] = [
    { label: 'a', icon: 'server', capability: 'marketplace:read' },
    {
      label: 'b',
      icon: 'grip',
      submenu: [{ label: 'c', icon: 'grip', capability: 'users:manage' }],
    },
  ]
  expect(visible(entries, [])).toEqual([{ label: 'b', icon: 'grip', submenu: [] }])
  expect(visible(entries, ['marketplace:read', 'users:manage'])).toEqual(entries)
})

test('a menu entry is active on all pages below it', () => {
  const servers = menu.find((entry) => entry.label === 'Servers')!
  expect([
    isAt(servers, '/infra/servers'),
    isAt(servers, '/infra/servers/7/create-patch'),
    isAt(servers, '/infra/servers-old'),
  ]).toEqual([true, true, false])
})

test('racks belong to Datacenters, templates and shared patches to Clusters', () => {
  const at = (pathname: string) => menu.filter((one) => isAt(one, pathname)).map((e) => e.label)
  expect(
    ['/infra/racks/7', '/infra/templates', '/infra/patches/7/edit', '/findings'].map(at),
  ).toEqual([['Datacenters'], ['Clusters'], ['Clusters'], []])
})
