import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { startFactory } from '#simulator/src/factory/serve.ts'
import { emptySchematicId } from '#talos/schematic/schematic.ts'
import { silent } from '../../log.ts'
import { sharedReader } from '../../testing/reader.ts'
import { testClock } from '../../testing/clock.ts'
import { factory } from './factory.ts'
import { chosenIn, withChosen } from './chosen.ts'
import { installers } from './installers.ts'

const server = await startFactory()
afterAll(() => server.stop())
afterEach(() => server.fault(null))
const fresh = () =>
  installers({
    factory: factory({ url: server.url, clock: testClock(), log: silent, read: sharedReader }),
    read: sharedReader,
  })

const own = {
  extraKernelArgs: ['panic=10', 'talos.config=https://steelyard.example/join/secret'],
  officialExtensions: ['siderolabs/gvisor'],
}

describe('installers', () => {
  test('an installer is available for a version that the factory builds and a schematic that it knows', async () => {
    const id = await fresh().register(own)
    await expect(fresh().demand('v1.13.9', id)).resolves.toBeUndefined()
    await expect(fresh().demand('v1.13.9', emptySchematicId)).resolves.toBeUndefined()
  })

  test('a missing version, an unknown schematic and a factory that does not answer are refused with their reason', async () => {
    await expect(fresh().demand('v1.13.77', emptySchematicId)).rejects.toMatchObject({
      message: 'The image factory does not build Talos v1.13.77',
    })
    await expect(fresh().demand('v1.13.9', 'a'.repeat(64))).rejects.toMatchObject({
      code: 'factory_refused',
      message: expect.stringContaining('does not know'),
    })
    await server.fault({ kind: 'refuse', status: 503 })
    await expect(fresh().demand('v1.13.9', emptySchematicId)).rejects.toMatchObject({
      code: 'factory_unreachable',
    })
  })

  test('an upgrade of an image with a former name of an extension says which name it has now', async () => {
    const id = await fresh().register({ officialExtensions: ['siderolabs/i915-ucode'] })
    await expect(fresh().demand('v1.14.1', id)).rejects.toMatchObject({
      code: 'factory_refused',
      message: 'siderolabs/i915-ucode is called siderolabs/i915 now. Change the extensions first',
    })
  })

  test('a schematic with settings that Steelyard does not know is refused', async () => {
    const text = 'customization:\n    diskImage:\n        sectorSize: 4096\n'
    const answer = await fetch(`${server.url}/schematics`, { method: 'POST', body: text })
    const { id } = (await answer.json()) as { id: string }
    await expect(fresh().schematic(id)).rejects.toMatchObject({
      code: 'factory_refused',
      message: expect.stringContaining('does not know'),
    })
  })

  test('a change of extensions and kernel arguments keeps the argument with which a server announces itself, and never shows it', async () => {
    const stored = await fresh().schematic(await fresh().register(own))
    expect(chosenIn(stored)).toEqual({
      extensions: ['siderolabs/gvisor'],
      kernel_args: ['panic=10'],
    })
    const next = withChosen(stored, {
      extensions: ['siderolabs/zfs', 'siderolabs/gvisor'],
      kernel_args: ['quiet'],
    })
    expect(next).toMatchObject({
      officialExtensions: ['siderolabs/gvisor', 'siderolabs/zfs'],
      extraKernelArgs: ['quiet', own.extraKernelArgs[1]],
    })
  })

  test('an unknown extension and kernel arguments that are too long are refused', async () => {
    await expect(
      fresh().demandBuildable('v1.13.9', { officialExtensions: ['siderolabs/nonsense'] }),
    ).rejects.toMatchObject({ code: 'factory_refused' })
    await expect(
      fresh().demandBuildable('v1.13.9', { extraKernelArgs: ['x'.repeat(1900)] }),
    ).rejects.toMatchObject({ code: 'invalid' })
  })
})
