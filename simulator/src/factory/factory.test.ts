import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { schematicId, schematicText } from '#talos/schematic/schematic.ts'
import { startFactory, type Factory } from './serve.ts'
import { readSchematic } from './schematic.ts'

const factory = async (options: Parameters<typeof startFactory>[0] = {}): Promise<Factory> => {
  const started = await startFactory(options)
  onTestFinished(() => started.stop())
  return started
}

const post = (url: string, body: string): Promise<Response> =>
  fetch(`${url}/schematics`, {
    method: 'POST',
    headers: { 'content-type': 'application/yaml' },
    body,
  })

const PLAIN = '376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba'

test.each([
  ['nothing', '{}', PLAIN],
  [
    'kernel arguments',
    'customization:\n  extraKernelArgs: [noapic, nolapic]',
    '9cba8e32753f91a16c1837ab8abf356af021706ef284aef07380780177d9a06c',
  ],
  [
    'META',
    '{"customization": {"meta": [{"key": 10, "value": "foo"}]}}',
    'd308a2a5ee2277bed5fbaa104fcbc8d59122abfa737df987a95b4ca763459a7f',
  ],
  [
    'secure boot',
    'customization: {secureboot: {includeWellKnownCertificates: true}}',
    'fa8e05f142a851d3ee568eb0a8e5841eaf6b0ebc8df9a63df16ac5ed2c04f3e6',
  ],
  [
    'an overlay',
    'overlay: {name: rpi_generic, image: siderolabs/sbc-raspberrypi}',
    'ee21ef4a5ef808a9b7484cc0dda0f25075021691c8c09a276591eedb638ea1f9',
  ],
  [
    'extensions',
    'customization: {systemExtensions: {officialExtensions: [siderolabs/iscsi-tools, siderolabs/util-linux-tools]}}',
    '613e1592b2da41ae5e265e8789429f22e121aab91cb4deb6bc3c0b6262961245',
  ],
  [
    'one extension',
    'customization: {systemExtensions: {officialExtensions: [siderolabs/qemu-guest-agent]}}',
    'ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515',
  ],
  [
    'both',
    'customization:\n  systemExtensions:\n    officialExtensions: [siderolabs/amd-ucode, siderolabs/gvisor]\n  extraKernelArgs:\n    - talos.config=https://console.example.com/cfg?u=${uuid}\n',
    'e7bfeb9575b7bfd7dd46bafa5fecae5649a81f76d7b7f5da1fe6e939eb158024',
  ],
])('the id of a schematic with %s is the same as in the real factory', async (_, text, id) => {
  const { url } = await factory()
  const answer = await post(url, text)
  expect(answer.status).toBe(201)
  const made = (await answer.json()) as { id: string; schematic: string }
  expect(made.id).toBe(id)
  const kept = await fetch(`${url}/schematics/${id}`)
  expect(kept.headers.get('content-type')).toBe('application/yaml')
  expect(await kept.text()).toBe(made.schematic)
})

test("ambiguous YAML strings are quoted as in Steelyard's own schematics", () => {
  const awkward = [
    'yes',
    '1',
    '0x1f',
    '1.5',
    'true',
    '~',
    'null',
    '',
    '2001-01-01',
    '1:30',
    'a: b',
    'a #b',
    '- x',
    '#x',
    '@x',
    "it's",
    ' lead',
    'a:b',
    '-quiet',
    'q"',
    '0o7',
    '.5',
    '=',
    '<<',
  ]
  for (const argument of [
    ...awkward.filter((text) => text !== '' && !/\s/.test(text)),
    'ip=10.0.0.2::10.0.0.1:255.255.255.0::eth0:off',
  ])
    expect([
      argument,
      readSchematic(JSON.stringify({ customization: { extraKernelArgs: [argument] } })).id,
    ]).toEqual([argument, schematicId({ extraKernelArgs: [argument] })])
  for (const value of awkward)
    expect(
      readSchematic(JSON.stringify({ customization: { meta: [{ key: 10, value }] } })).text,
    ).toBe(schematicText({ meta: [{ key: 10, value }] }))
})

test("invalid schematics are refused with the real factory's reasons", async () => {
  const { url } = await factory()
  const refused = async (body: string): Promise<string> => {
    const answer = await post(url, body)
    return `${answer.status} ${(await answer.text()).trim()}`
  }
  expect(await refused('customization:\n  kernelArgs: [a]\n')).toBe(
    '400 yaml: construct errors:\n  line 2: field kernelArgs not found in type schematic.Customization',
  )
  expect(await refused('customization:\n  extraKernelArgs: quiet\n')).toContain(
    '400 yaml: construct errors:',
  )
  expect(await refused('customization: {meta: [{key: 256, value: x}]}')).toContain('into uint8')
  expect(await refused('owner: me')).toContain('400 owner field is only supported')
  expect(await refused('')).toBe('400 EOF')
  expect(await refused('{')).toContain('400 yaml: ')
  expect(await refused('customization: {bootloader: lilo}')).toContain('400 lilo')
  const status = async (path: string): Promise<number> => (await fetch(url + path)).status
  const unknown = 'f'.repeat(64)
  expect(await status(`/schematics/${unknown}`)).toBe(404)
  expect(await status(`/image/${unknown}/v1.13.9/metal-amd64.iso`)).toBe(404)
  expect(await status(`/image/${PLAIN}/v1.13.9/metal-mips.iso`)).toBe(400)
  expect(await status(`/image/${PLAIN}/v1.13.9/metal-amd64.floppy`)).toBe(400)
  expect(await status(`/image/${PLAIN}/v1.13.99/metal-amd64.iso`)).toBe(404)
  expect(await status(`/image/${PLAIN}/newest/metal-amd64.iso`)).toBe(500)
  expect(await status(`/image/${PLAIN}/v1.13.9/metal-amd64.iso.sha256`)).toBe(402)
  expect(await status('/version/v1.2.3/extensions/official')).toBe(404)
  expect(await status('/nothing')).toBe(404)
  expect((await fetch(`${url}/versions`, { method: 'POST' })).status).toBe(405)
})

test('the factory lists versions and extensions, and refuses images with an extension that the version lacks', async () => {
  const { url } = await factory()
  const versions = (await (await fetch(`${url}/versions`)).json()) as string[]
  expect(versions).toEqual(
    expect.arrayContaining(['v1.12.11', 'v1.13.9', 'v1.14.1', 'v1.15.0-alpha.0', 'v1.11.0']),
  )
  const names = async (version: string): Promise<Map<string, string>> =>
    new Map(
      (
        (await (await fetch(`${url}/version/${version}/extensions/official`)).json()) as {
          name: string
          description: string
        }[]
      ).map((e) => [e.name, e.description]),
    )
  const newer = await names('1.13.9')
  expect(newer.get('siderolabs/gvisor')).toMatch(/^\[core\] /)
  expect(newer.has('siderolabs/intel-npu')).toBe(true)
  expect((await names('v1.12.11')).has('siderolabs/intel-npu')).toBe(false)
  const { id } = (await (
    await post(
      url,
      'customization: {systemExtensions: {officialExtensions: [siderolabs/intel-npu]}}',
    )
  ).json()) as { id: string }
  expect((await fetch(`${url}/image/${id}/v1.13.9/metal-amd64.iso`)).status).toBe(200)
  const lacking = await fetch(`${url}/image/${id}/v1.12.11/metal-amd64.iso`)
  expect([lacking.status, await lacking.text()]).toEqual([
    400,
    'official extension "siderolabs/intel-npu" is not available for Talos version v1.12.11\n',
  ])
})

test('downloaded files state that they are simulated, and scripts contain the kernel arguments', async () => {
  const { url } = await factory()
  const argument = 'talos.config=http://10.0.0.5:8080/join/x?uuid=${uuid}'
  const { id } = (await (
    await post(
      url,
      JSON.stringify({
        customization: { extraKernelArgs: [argument, '-console', '-selinux=1', '-pti=off'] },
      }),
    )
  ).json()) as {
    id: string
  }
  for (const file of [
    'metal-amd64.iso',
    'metal-arm64.raw.xz',
    'metal-amd64-secureboot.qcow2',
    'metal-installer-amd64.tar',
    'kernel-x86_64',
    'initramfs-arm64.xz',
  ]) {
    const answer = await fetch(`${url}/image/${id}/v1.13.9/${file}`)
    expect([file, answer.status, answer.headers.get('x-simulated')]).toEqual([
      file,
      200,
      'steelyard-simulator',
    ])
    expect(await answer.text()).toContain('SIMULATED')
    const head = await fetch(`${url}/image/${id}/v1.13.9/${file}`, { method: 'HEAD' })
    expect(head.status).toBe(200)
    expect(Number(head.headers.get('content-length'))).toBeGreaterThan(100)
  }
  const line = await (await fetch(`${url}/image/${id}/v1.13.9/cmdline-metal-amd64`)).text()
  expect(line.startsWith('talos.platform=metal init_on_alloc=1')).toBe(true)
  expect(line.endsWith(` ${argument}`)).toBe(true)
  expect(line).toContain('slab_nomerge pti=on ')
  expect(line).not.toContain('selinux')
  expect(await (await fetch(`${url}/pxe/${id}/v1.13.9/metal-amd64`)).text()).toBe(
    `#!ipxe\n\nimgfree\nkernel ${url}/image/${id}/v1.13.9/kernel-amd64 ${line}\ninitrd ${url}/image/${id}/v1.13.9/initramfs-amd64.xz\nboot\n`,
  )
  expect(await (await fetch(`${url}/pxe/${id}/v1.13.9/metal-amd64-secureboot`)).text()).toContain(
    'secureboot-uki.efi',
  )
})

test('faults apply until they are cleared', async () => {
  const started = await factory()
  const { url } = started
  await started.fault({ kind: 'down' })
  await expect(fetch(`${url}/versions`)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } })
  await started.fault({ kind: 'refuse', status: 429 })
  expect((await fetch(`${url}/versions`)).status).toBe(429)
  await started.fault({ kind: 'nonsense' })
  expect(await (await fetch(`${url}/versions`)).text()).toContain('not an image factory')
  await started.fault({ kind: 'nonsense', what: 'half' })
  await expect((await fetch(`${url}/versions`)).json()).rejects.toThrow('JSON')
  await started.fault({ kind: 'nonsense', what: 'other-id' })
  expect(((await (await post(url, '{}')).json()) as { id: string }).id).not.toBe(PLAIN)
  await started.fault({ kind: 'nonsense', what: 'endless' })
  const reader = (await fetch(`${url}/versions`)).body!.getReader()
  for (let read = 0; read < 1_000_000;) read += (await reader.read()).value!.length
  await reader.cancel()
  await started.fault({ kind: 'slow', ms: 60_000 })
  await expect(fetch(`${url}/versions`, { signal: AbortSignal.timeout(50) })).rejects.toMatchObject(
    { name: 'TimeoutError' },
  )
  await started.fault(null)
  expect((await fetch(`${url}/versions`)).status).toBe(200)
})

test('the factory keeps its port and schematics across a restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'steelyard-factory-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'factory.json')
  const first = await factory({ file })
  const { id } = (await (
    await post(first.url, 'customization: {extraKernelArgs: [quiet]}')
  ).json()) as { id: string }
  await first.stop()
  const second = await factory({ file })
  expect(second.url).toBe(first.url)
  expect((await fetch(`${second.url}/schematics/${id}`)).status).toBe(200)
})
