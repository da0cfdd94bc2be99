import { expect, test } from 'vitest'
import { Problem } from '#contract/errors.ts'
import { otherImages } from './images.ts'

const gvisor = { officialExtensions: ['siderolabs/gvisor'], extraKernelArgs: ['panic=10'] }
const asked: string[] = []
const factory = {
  schematic: async (id: string) => {
    asked.push(id)
    if (id === 'strange') throw new Problem('factory_refused', 'It does not know it')
    if (id !== 'gvisor') throw new Problem('factory_unreachable', 'It does not answer')
    return gvisor
  },
}
const server = (id: string, schematic: string | null, disk: string | null = '/dev/sda') => ({
  id,
  cluster: null,
  talos: { schematic, installed: disk === null ? null : { version: 'v1.13.9', disk } } as never,
})
const kept = 'Talos is installed with another image, and is kept'
const judge = async (
  wish: Parameters<typeof otherImages>[1],
  ...servers: ReturnType<typeof server>[]
) => Object.fromEntries(await otherImages(factory, wish, servers))

test('a server that keeps its Talos is left out if its image is another one', async () => {
  const servers = [server('same', 'gvisor'), server('plain', null), server('free', null, null)]
  expect(await judge({ extensions: ['siderolabs/gvisor'] }, ...servers)).toEqual({ plain: kept })
  expect(await judge({ extensions: [] }, ...servers)).toEqual({ same: kept })
  expect(await judge({ kernel_args: ['panic=10'] }, ...servers)).toEqual({ plain: kept })
  asked.length = 0
  expect(await judge({}, ...servers)).toEqual({})
  expect(asked).toEqual([])
})

test('a server whose image is not known says why, and a silent factory is asked once', async () => {
  asked.length = 0
  const unknown = (why: string) => `Talos is installed, and its image is not known: ${why}`
  const servers = ['strange', 'a', 'b'].map((image) => server(image, image))
  expect(await judge({ extensions: [] }, ...servers)).toEqual({
    strange: unknown('It does not know it'),
    a: unknown('It does not answer'),
    b: unknown('It does not answer'),
  })
  expect(asked).toEqual(['strange', 'a'])
})
