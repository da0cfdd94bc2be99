/** Labels of servers and clusters in files. */
import { expect, test } from 'vitest'
import { clusterUpdate } from '#contract/clusters/update.ts'
import { serverUpdate } from '#contract/servers/servers.ts'
import { numberedServer } from '../../testing/installation.ts'
import { datacenter, withRack, writes } from '../../testing/rack.ts'

const server = (labels: string) => `kind: server\nserial: S-1\n${labels}`
const labelled = (labels: Record<string, string>) =>
  withRack([{ ...numberedServer(1), labels, datacenter: null }])

test('a file sets the labels of a server, a line of the plan each, and the next plan is empty', async () => {
  const { there, apply, diff } = await labelled({ rack: '3', old: 'yes' })
  const text = server('labels: {rack: "4", example.com/net: storage, spare: ""}\n')
  const shown = await diff(text)
  expect(shown.exit).toBe(1)
  expect(shown.out).toContain(
    [
      '    labels.rack: 3 → 4',
      '    labels.example.com/net: none → storage',
      '    labels.spare: none → ',
      '    labels.old: yes → none',
      '',
    ].join('\n'),
  )
  expect(writes(there)).toEqual([])
  expect((await apply(text)).exit).toBe(0)
  expect(there.api.callsOf(serverUpdate)[0]!.body).toEqual({
    labels: { rack: '4', 'example.com/net': 'storage', spare: '', old: null },
  })
  expect((await apply(text, '')).out).toBe('0 to create, 0 to change, 0 to remove, 1 unchanged\n')
  expect((await diff(server(''))).exit).toBe(0)
  expect((await apply(server('labels: {}\n'))).exit).toBe(0)
  expect(there.servers[0]!.labels).toEqual({})
})

test('a cluster gets its labels when it is created, and later only what differs', async () => {
  const { there, apply, diff, cli } = await labelled({})
  const cluster = (labels: string) =>
    `${datacenter}---\n${server('datacenter: PL-POZ-1\n')}---\nkind: cluster\nname: web\ndatacenter: PL-POZ-1\n${labels}servers: [{server: server-1, role: control_plane}]\n`
  expect((await apply(cluster('labels: {team: edge}\n'))).exit).toBe(0)
  expect(there.clusters[0]!.labels).toEqual({ team: 'edge' })
  expect((await diff(cluster(''))).exit).toBe(0)
  const shown = await diff(cluster('labels: {team: core}\n'))
  expect(shown.out).toContain('~ cluster web\n    labels.team: edge → core\n')
  expect((await apply(cluster('labels: {team: core}\n'))).exit).toBe(0)
  expect(there.api.callsOf(clusterUpdate).map((c) => c.body)).toEqual([
    { labels: { team: 'core' } },
  ])
  expect((await cli.run('export --kind cluster')).out).toContain('labels:\n  team: core\n')
})

test.each([
  ['{rack: 3}', ':3: labels.rack: Write it in quotes: it is text'],
  ['{"a b": "3"}', ':3: labels.a b: A label key has up to 63 letters'],
  ['{rack: "a b"}', ':3: labels.rack: A label value is empty or has up to 63 letters'],
  [
    `{${Array.from({ length: 65 }, (_, i) => `k${i}: "1"`).join(', ')}}`,
    ':3: labels: An object has at most 64 labels',
  ],
])(
  'the labels %.30s are refused with their line, and nothing is changed',
  async (text, sentence) => {
    const { there, apply } = await labelled({})
    const refused = await apply(server(`labels: ${text}\n`))
    expect(refused.exit).toBe(2)
    expect(refused.err).toContain(sentence)
    expect(writes(there)).toEqual([])
  },
)

test('labels of a server that is not registered wait, and the plan says so', async () => {
  const { there, apply } = await labelled({})
  const waiting = await apply('kind: server\nserial: S-77\nlabels: {rack: "3"}\n', '')
  expect(waiting.out).toContain('no server with the serial number S-77 is registered yet')
  expect(writes(there)).toEqual([])
})
