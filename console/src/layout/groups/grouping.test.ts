import { expect, test } from 'vitest'
import { type Cluster, clusterGroupings, clusterList } from '#contract/clusters/clusters.ts'
import { type ListedServer, serverList } from '#contract/servers/server.ts'
import {
  type Group,
  groupingOf,
  groupingSaid,
  groupOf,
  hrefOf,
  keyOf,
  nameOf,
  searchOf,
} from './grouping.ts'
import { groupedClusters, groupedServers } from './kinds.ts'

const group = (value: string | null, name: string | null = value): Group => ({
  value,
  name,
  servers: 2,
  finding: null,
})
const by = (text: string) => groupingOf(serverList.list, text)!
const search = { status: 'ready', label: 'site=poz', group: 'rack', open: '!', page: '3' }

test.each([
  ['rack', 'r-1', { ...search, rack: 'r-1' }],
  ['cluster', null, { ...search, cluster: 'none' }],
  ['finding', null, { ...search, finding: 'none' }],
  ['label:gen', 'r650', { ...search, label: 'site=poz,gen=r650' }],
  ['label:gen', '', { ...search, label: 'site=poz,gen=' }],
  ['label:gen', null, { ...search, label: 'site=poz,!gen' }],
] as const)('the servers of a group by %s are those of its filter', (text, value, expected) => {
  expect(searchOf(by(text), value, search)).toEqual(expected)
})

test('a selector that would be too long is not shortened, because it would find others', () => {
  const label = `a in (${'x'.repeat(60)}${`,${'x'.repeat(60)}`.repeat(15)}),spare=nope`
  expect(searchOf(by('label:gen'), 'r650', { label })).toBeNull()
})

test('a server is in the group of its value, and in none without one', () => {
  const server = {
    cluster: { id: 'c-1', name: 'web' },
    placement: null,
    datacenter: { id: 'd-1', code: 'PL-POZ-1' },
    labels: { gen: '' },
  } as Partial<ListedServer> as ListedServer
  const groups = ['cluster', 'rack', 'datacenter', 'finding', 'label:gen', 'label:constructor']
  expect(groups.map((text) => groupOf(groupedServers, by(text), server))).toEqual([
    'c-1',
    null,
    'd-1',
    null,
    '',
    null,
  ])
  expect([keyOf(null), keyOf(''), keyOf('c-1')]).toEqual(['!', '=', 'c-1'])
})

test.each([
  ['cluster', group('c-1', 'web'), 'web', '/infra/clusters/c-1'],
  ['rack', group('r-1', 'A-07, PL-POZ-1'), 'A-07, PL-POZ-1', '/infra/racks/r-1'],
  ['datacenter', group('d-1', 'PL-POZ-1'), 'PL-POZ-1', '/infra/datacenters?q=PL-POZ-1'],
  [
    'finding',
    group('server_unreachable', 'Server unreachable'),
    'Server unreachable',
    '/findings?kind=server_unreachable',
  ],
  ['rack', group(null), 'In no rack', '/infra/servers?status=ready&label=site%3Dpoz&rack=none'],
  [
    'label:gen',
    group('r650'),
    'gen=r650',
    '/infra/servers?status=ready&label=site%3Dpoz%2Cgen%3Dr650',
  ],
  [
    'finding',
    group(null),
    'No finding',
    '/infra/servers?status=ready&finding=none&label=site%3Dpoz',
  ],
] as const)('a group by %s has a name, and a link to what it is', (text, one, name, href) => {
  expect(nameOf(groupedServers, by(text), one)).toBe(name)
  const [path, query] = hrefOf(groupedServers, by(text), one, search).split('?')
  const [wantedPath, wanted] = href.split('?')
  expect(path).toBe(wantedPath)
  expect(Object.fromEntries(new URLSearchParams(query))).toEqual(
    Object.fromEntries(new URLSearchParams(wanted)),
  )
})

test('what nothing is grouped by is no grouping', () => {
  expect(
    ['', 'colour', 'label:', 'label:!a', 'label:a=b'].map((text) =>
      groupingOf(serverList.list, text),
    ),
  ).toEqual(Array.from({ length: 5 }, () => null))
})

const ofClusters = (text: string) => groupingOf(clusterList.list, text)!
test.each([
  ['status', 'ready', 'ready', 'Ready', 'status=ready'],
  [
    'finding',
    'cluster_api_down',
    'Kubernetes API down',
    'Kubernetes API down',
    'finding=cluster_api_down',
  ],
  ['finding', null, null, 'No finding', 'finding=none'],
  ['datacenter', 'd-1', 'PL-POZ-1', 'PL-POZ-1', 'datacenter=PL-POZ-1'],
  ['talos_version', 'v1.13.9', 'v1.13.9', 'Talos v1.13.9', 'talos_version=v1.13.9'],
  ['kubernetes_version', '1.36.3', '1.36.3', 'Kubernetes v1.36.3', 'kubernetes_version=1.36.3'],
  ['label:env', null, null, 'Without the label env', 'label=!env'],
] as const)(
  'a group of clusters by %s is named and leads to the list of its clusters',
  (text, value, name, shown, query) => {
    const group = { value, name, clusters: 2, finding: null }
    expect(nameOf(groupedClusters, ofClusters(text), group)).toBe(shown)
    const [path, asked] = hrefOf(groupedClusters, ofClusters(text), group, {
      page: '3',
      group: text,
    }).split('?')
    expect([path, String(new URLSearchParams(asked))]).toEqual([
      '/infra/clusters',
      String(new URLSearchParams(query)),
    ])
  },
)

test('a cluster has a value for each grouping, and each grouping is said', () => {
  const cluster = {
    status: 'ready',
    finding: null,
    datacenter: { id: 'd-1', code: 'PL-POZ-1', country_code: 'PL' },
    talos_version: 'v1.13.9',
    kubernetes_version: '1.36.3',
  } as Partial<Cluster> as Cluster
  expect(
    clusterGroupings.map((text) => groupOf(groupedClusters, ofClusters(text), cluster)),
  ).toEqual(['ready', null, 'd-1', 'v1.13.9', '1.36.3'])
  expect(groupingSaid(groupedClusters, ofClusters('talos_version'))).toBe('version of Talos')
  expect(groupingSaid(groupedClusters, ofClusters('label:env'))).toBe('label env')
})
