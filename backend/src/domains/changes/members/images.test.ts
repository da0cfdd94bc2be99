import { expect, test } from 'vitest'
import { Problem } from '#contract/errors.ts'
import { type Schematic, schematicId } from '#talos/schematic/schematic.ts'
import type { ServerFacts } from '../../servers/api.ts'
import { emptySchematic } from '../../clusters/blueprint.ts'
import { judgeImages, type Peer, registerImages } from './images.ts'

const gvisor = 'siderolabs/gvisor'
const iscsi = 'siderolabs/iscsi-tools'
/** The factory's schematics by a short name; others it doesn't know. */
const stored: Record<string, Schematic> = {
  both: { officialExtensions: [iscsi, gvisor], extraKernelArgs: ['panic=10'] },
  iscsi: { officialExtensions: [iscsi] },
  none: { extraKernelArgs: ['console=ttyS0', 'talos.config=https://here/token'] },
}
const asked: string[] = []
const factory = {
  schematic: async (id: string) => {
    asked.push(id)
    const found = stored[id]
    if (!found) throw new Problem('factory_unreachable', 'The image factory does not answer')
    return found
  },
  demandBuildable: async () => undefined,
}
const joiner = (
  name: string,
  facts: Partial<ServerFacts> = {},
  role: 'control_plane' | 'worker' = 'worker',
) => ({
  node_id: name,
  name,
  role,
  candidate: { schematic: null, system_disk: null, ...facts } as ServerFacts,
})
const peer = (name: string, schematic: string | null, role: Peer['role'] = 'worker'): Peer => ({
  name,
  role,
  schematic,
})
const workers = [peer('web-1', 'both'), peer('web-2', 'iscsi')]
const judge = (
  peers: readonly Peer[],
  joiners: Parameters<typeof judgeImages>[2],
  installers = factory,
) => judgeImages(installers, { name: 'web', version: 'v1.13.9', peers }, joiners)
const after = 'Once it has joined, use “Change extensions” of web (steelyard cluster extensions)'

test('a server gets what all others have, beside its own arguments and extensions', async () => {
  const joiners = [joiner('web-3', { schematic: 'none' }), joiner('web-4'), joiner('web-5')]
  const { images, checks, warnings } = await judge(workers, joiners)
  const own = { officialExtensions: [iscsi], extraKernelArgs: stored['none']!.extraKernelArgs! }
  const bare = { officialExtensions: [iscsi], extraKernelArgs: [] }
  expect(images.unknown).toEqual([own, bare])
  expect([...images.schematics]).toEqual([
    ['web-3', { runs: 'none', gets: schematicId(own) }],
    ['web-4', { runs: null, gets: schematicId(bare) }],
    ['web-5', { runs: null, gets: schematicId(bare) }],
  ])
  expect(checks).toEqual([
    {
      check: 'image',
      ok: true,
      message:
        'web-3, web-4 and web-5 are installed with siderolabs/iscsi-tools, which all other servers of web have',
    },
  ])
  expect(warnings).toEqual([])
})

test('a server is compared with those of its role, otherwise with all', async () => {
  const peers = [...workers, peer('cp-1', 'both', 'control_plane')]
  const said = async (one: ReturnType<typeof joiner>, among = peers) =>
    (await judge(among, [one])).checks.map(({ message }) => message)
  expect(await said(joiner('web-3'))).toEqual([
    'web-3 is installed with siderolabs/iscsi-tools, which all other workers of web have',
  ])
  expect(await said(joiner('cp-2', {}, 'control_plane'))).toEqual([
    'cp-2 is installed with siderolabs/gvisor and siderolabs/iscsi-tools, which cp-1 has',
  ])
  expect(await said(joiner('cp-1', {}, 'control_plane'), workers)).toEqual([
    'cp-1 is installed with siderolabs/iscsi-tools, which all other servers of web have',
  ])
})

test('a server that keeps its installed Talos is named in a warning, with what to do', async () => {
  const kept = { system_disk: '/dev/sda' }
  const judged = await judge(workers, [
    joiner('web-3', { ...kept, schematic: 'none' }),
    joiner('web-4', { ...kept, schematic: 'both' }),
    joiner('web-5', kept),
  ])
  expect(judged).toEqual({
    images: { schematics: new Map(), unknown: [], silent: null },
    checks: [],
    warnings: [
      `web-3 lacks siderolabs/iscsi-tools, which all other servers of web have: Talos is installed already, and is kept. ${after}`,
      `It is not known whether web-5 has the extensions that all other servers of web have: no image factory made its image. ${after}`,
    ],
  })
})

test('without an answer of the factory the server joins, and is named in a warning', async () => {
  asked.length = 0
  const silent = 'The image factory does not answer'
  const unread = await judge([peer('web-1', 'gone'), peer('web-2', 'away')], [joiner('web-3')])
  expect(unread.warnings).toEqual([
    `It is not known whether web-3 has the extensions that all other servers of web have: ${silent}. ${after}`,
  ])
  // A factory that is silent isn't asked again.
  expect(asked).toEqual(['gone'])
  const demandBuildable = () => Promise.reject(new Problem('factory_unreachable', silent))
  const unbuilt = await judge(workers, [joiner('web-3')], { ...factory, demandBuildable })
  expect(unbuilt).toMatchObject({
    images: { unknown: [], silent },
    checks: [],
    warnings: [
      `web-3 lacks siderolabs/iscsi-tools, which all other servers of web have: ${silent}. ${after}`,
    ],
  })
})

test.each<[string, Peer[], Partial<ServerFacts>]>([
  ['the others run the same image', [peer('web-1', 'gone')], { schematic: 'gone' }],
  ['the others have nothing in common', [...workers, peer('web-9', 'none')], {}],
  ["another one runs Talos's own image", [...workers, peer('web-9', emptySchematic)], {}],
  ["another one's image is not known", [...workers, peer('web-9', null)], {}],
  ['it has more', workers, { schematic: 'both' }],
  ['there is no other', [], {}],
])('nothing is said if %s', async (_why, peers, facts) => {
  expect(await judge(peers, [joiner('web-3', facts)])).toEqual({
    images: { schematics: new Map(), unknown: [], silent: null },
    checks: [],
    warnings: [],
  })
})

test('a change whose image the factory does not take is refused', async () => {
  const { images } = await judge(workers, [joiner('web-3')])
  const register = () => Promise.reject(new Problem('factory_refused', 'It refuses'))
  await expect(registerImages({ installers: { register } as never }, images)).rejects.toMatchObject(
    {
      code: 'transition_refused',
      message: expect.stringMatching(/: It refuses\. Plan the change again, or/) as string,
    },
  )
})
