import { describe, expect, test } from 'vitest'
import { images } from '../versions.ts'
import { emptySchematicId, type Schematic, schematicId, schematicText } from './schematic.ts'

describe('a schematic’s id', () => {
  // The ids of the Image Factory's own test vectors and of its published schematics.
  const known: [string, Schematic, string][] = [
    ['nothing', {}, emptySchematicId],
    [
      'kernel arguments',
      { extraKernelArgs: ['noapic', 'nolapic'] },
      '9cba8e32753f91a16c1837ab8abf356af021706ef284aef07380780177d9a06c',
    ],
    [
      'META',
      { meta: [{ key: 10, value: 'foo' }] },
      'd308a2a5ee2277bed5fbaa104fcbc8d59122abfa737df987a95b4ca763459a7f',
    ],
    [
      'secure boot',
      { secureboot: { includeWellKnownCertificates: true } },
      'fa8e05f142a851d3ee568eb0a8e5841eaf6b0ebc8df9a63df16ac5ed2c04f3e6',
    ],
    [
      'an overlay',
      { overlay: { image: 'siderolabs/sbc-raspberrypi', name: 'rpi_generic' } },
      'ee21ef4a5ef808a9b7484cc0dda0f25075021691c8c09a276591eedb638ea1f9',
    ],
    [
      'extensions',
      { officialExtensions: ['siderolabs/util-linux-tools', 'siderolabs/iscsi-tools'] },
      '613e1592b2da41ae5e265e8789429f22e121aab91cb4deb6bc3c0b6262961245',
    ],
    [
      'one extension',
      { officialExtensions: ['siderolabs/qemu-guest-agent'] },
      'ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515',
    ],
    [
      'both',
      {
        extraKernelArgs: ['talos.config=https://console.example.com/cfg?u=${uuid}'],
        officialExtensions: ['siderolabs/gvisor', 'siderolabs/amd-ucode', 'siderolabs/gvisor'],
      },
      'e7bfeb9575b7bfd7dd46bafa5fecae5649a81f76d7b7f5da1fe6e939eb158024',
    ],
  ]
  test.each(known)('the id of %s equals the factory’s', (_, schematic, id) => {
    expect(schematicId(schematic)).toBe(id)
  })

  test('empty fields don’t change the id of a schematic', () => {
    expect(
      schematicId({
        extraKernelArgs: [],
        meta: [],
        officialExtensions: [],
        secureboot: {},
        bootloader: '',
      }),
    ).toBe(emptySchematicId)
  })

  test('the text of a schematic keeps the order of kernel arguments', () => {
    expect(schematicText({ extraKernelArgs: ['b', 'a'], officialExtensions: ['y', 'x'] })).toBe(
      'customization:\n    extraKernelArgs:\n        - b\n        - a\n    systemExtensions:\n        officialExtensions:\n            - x\n            - "y"\n',
    )
  })

  test('the name of the installer image contains the id of the schematic', () => {
    expect(images.factoryInstaller(emptySchematicId, '1.13.9')).toBe(
      `factory.talos.dev/metal-installer/${emptySchematicId}:v1.13.9`,
    )
    expect(
      images.factoryInstaller('abc', 'v1.13.9', {
        secureBoot: true,
        factory: 'factory.example.com',
      }),
    ).toBe('factory.example.com/metal-installer-secureboot/abc:v1.13.9')
  })
})
