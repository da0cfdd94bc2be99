import { expect, test } from 'vitest'
import type { ServerFacts } from '../../servers/api.ts'
import { emptySchematic } from '../blueprint.ts'
import { demandSameImages, imagesOf, withImages } from './image.ts'

const gvisor = { extensions: ['siderolabs/gvisor'] }
const server = (name: string, facts: Partial<ServerFacts>) => ({
  node_id: name,
  name,
  candidate: { schematic: null, system_disk: null, ...facts } as ServerFacts,
})
const asked: string[] = []
const factory = {
  schematic: async (id: string) => {
    asked.push(id)
    return {
      officialExtensions: ['siderolabs/gvisor'],
      extraKernelArgs: ['talos.config=https://here/token', 'panic=10'],
    }
  },
  demandBuildable: async () => undefined,
}

test('only a server whose image differs gets another one, which keeps what belongs to the machine', async () => {
  asked.length = 0
  const servers = [server('same', { schematic: 'a' }), server('bare', {})]
  const images = await imagesOf(factory, gvisor, 'v1.13.9', servers)
  expect(images.schematics.get('same')).toEqual({ runs: 'a', gets: 'a' })
  expect(images.unknown).toEqual([{ officialExtensions: gvisor.extensions, extraKernelArgs: [] }])
  expect(withImages(servers, images).map((s) => s.schematic)).toEqual([
    'a',
    images.schematics.get('bare')!.gets,
  ])
  const args = await imagesOf(factory, { kernel_args: [] }, 'v1.13.9', servers)
  expect(args.unknown).toEqual([
    {
      officialExtensions: gvisor.extensions,
      extraKernelArgs: ['talos.config=https://here/token'],
    },
  ])
  expect(args.schematics.get('bare')).toEqual({ runs: null, gets: emptySchematic })
  // Talos's own image needs no answer of the factory.
  expect(asked).toEqual(['a', 'a'])
})

test('a server that keeps its installed Talos is refused another image, by name', async () => {
  const kept = (schematic: string) => [server('web-1', { schematic, system_disk: '/dev/sda' })]
  expect((await imagesOf(factory, gvisor, 'v1.13.9', kept('a'))).unknown).toEqual([])
  await expect(imagesOf(factory, { extensions: [] }, 'v1.13.9', kept('a'))).rejects.toMatchObject({
    code: 'not_eligible',
    message: expect.stringMatching(
      /^web-1: Talos is installed on \/dev\/sda with another image, and is kept\. Boot it/,
    ) as string,
  })
})

test('a server that was booted with another image since it was judged is refused', async () => {
  const images = await imagesOf(factory, gvisor, 'v1.13.9', [server('web-1', { schematic: 'a' })])
  expect(() => demandSameImages([server('web-1', { schematic: 'a' })], images)).not.toThrow()
  expect(() => demandSameImages([server('web-1', { schematic: 'b' })], images)).toThrow(
    'web-1 has just been booted with another image: try again',
  )
})
