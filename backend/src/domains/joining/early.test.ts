/** Servers that reach Steelyard only with the documents of their image. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { type Image, imageCreate } from '#contract/images.ts'
import { joinTokenRevoke } from '#contract/join-tokens.ts'
import { patchList } from '#contract/patches.ts'
import { minors } from '#talos/versions.ts'
import { clusterWorld } from '../clusters/testing/world.ts'
import { harmless } from './announcement.ts'
import { callAgain, lookups, makeToken } from './testing.ts'

const world = await clusterWorld({ servers: 1, seed: 'early' })
const { backend, simulator } = world
const url = await backend.listen()
const call = callAgain(backend, world.admin)
const { serverOf } = lookups(backend, call)

const siteRoot = '-----BEGIN CERTIFICATE-----\nTUlJQg==\n-----END CERTIFICATE-----'
const bondWithVlan = `apiVersion: v1alpha1
kind: BondConfig
name: bond0
links: [eno1, eno2]
bondMode: 802.3ad
---
apiVersion: v1alpha1
kind: VLANConfig
name: bond0.40
vlanID: 40
parent: bond0
addresses:
  - address: 10.4.0.7/24
`

test.each(minors.map((m) => m.version))(
  'a server without DHCP behind an authority of its own joins with the documents of its image, and keeps them: Talos %s',
  async (talos) => {
    const { id } = await makeToken(call, `bonded-${talos.replaceAll('.', '-')}`)
    const early = {
      trusted_roots: [siteRoot],
      network: {
        static_addresses: [{ mac: '00:00:5e:00:53:01', address: '10.9.0.9/24', gateway: null }],
        name_servers: ['10.4.0.1'],
        documents: bondWithVlan,
      },
    }
    const prepare = async (wished: typeof early | null) =>
      (
        await call(imageCreate, {
          body: { talos_version: talos, token_id: id, early: wished },
        })
      ).answer!
    const image = await prepare(early)
    expect(image.early).toMatchObject({ way: 'embedded', documents: early })
    expect(image.early!.line_left).toBeGreaterThan(1_500)
    const site = { no_dhcp: true, authority: siteRoot }
    const bootImage = async ({ kernel_command_line: line, schematic_id: schematic }: Image) => {
      // The backend of this test knows its port only once it listens.
      const reached = {
        kernel_command_line: line.replace(backend.config.publicUrl, url),
        schematic,
      }
      return (await simulator.boot({ ...reached, talos, site }))[0]!
    }
    const machine = await bootImage(image)
    const without = await bootImage(await prepare(null))
    const server = await world.until(
      () => serverOf(machine),
      (s) => s !== undefined,
    )
    const { items } = (await call(patchList, { params: { id: server!.id }, query: {} })).answer!
    const kept = items.find((p) => p.name === 'image')!.body
    expect(kept).toContain('kind: BondConfig')
    expect(kept).toContain('kind: TrustedRootsConfig')
    // The address of another machine.
    expect(kept).not.toContain('10.9.0.9')
    expect(await serverOf(without)).toBeUndefined()
  },
)

test('a machine that is refused keeps the documents of its image, and loses none of them by the answer', async () => {
  const { id } = await makeToken(call, 'revoked')
  const { kernel_command_line: line } = (
    await call(imageCreate, {
      body: {
        talos_version: minors.at(-1)!.version,
        token_id: id,
        early: { network: { documents: bondWithVlan } },
      },
    })
  ).answer!
  const path = /talos\.config=https?:\/\/[^/]+(\S+)/.exec(line)![1]!
  await call(joinTokenRevoke, { params: { id } })
  const { body } = await backend.app.inject(path.replace('${uuid}', randomUUID()))
  expect(body).toContain('auto: stable')
  expect(body).toContain(bondWithVlan.trim())
  const unknown = await backend.app.inject(path.replace(/early=\w+/, `early=${'0'.repeat(16)}`))
  expect(unknown.body).toBe(harmless)
})

test('a machine that no row of the table of addresses is about joins without a patch', async () => {
  const { id } = await makeToken(call, 'other-rack')
  const image = (
    await call(imageCreate, {
      body: {
        talos_version: minors.at(-1)!.version,
        token_id: id,
        early: {
          network: { static_addresses: [{ mac: '00:00:5e:00:53:01', address: '10.9.0.9/24' }] },
        },
      },
    })
  ).answer!
  const [machine] = await simulator.boot({
    kernel_command_line: image.kernel_command_line.replace(backend.config.publicUrl, url),
    schematic: image.schematic_id,
    talos: image.talos_version,
  })
  const server = await world.until(
    () => serverOf(machine!),
    (s) => s !== undefined,
  )
  const { items } = (await call(patchList, { params: { id: server!.id }, query: {} })).answer!
  expect(items.map((p) => p.name)).not.toContain('image')
})
