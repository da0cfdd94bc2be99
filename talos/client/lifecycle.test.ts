import { Code, ConnectError } from '@connectrpc/connect'
import { describe, expect, test } from 'vitest'
import {
  ImageService,
  ImageServicePullLayerProgress_Status as Layer,
  LifecycleService,
} from '../proto/gen/machine/lifecycle_pb.ts'
import { MachineService } from '../proto/gen/machine/machine_pb.ts'
import { usePeers } from '../testing/peers.ts'

const { maintenance } = usePeers()
const image = 'factory.example/metal-installer/abc:v1.13.9'
const piece = (value: Uint8Array) => ({
  progress: { response: { case: 'message' as const, value } },
})
const message = (value: string) => piece(Buffer.from(value))
const layer = (layerId: string, status: Layer, offset = 0, total = 0) => ({
  response: {
    case: 'pullProgress' as const,
    value: { layerId, progress: { status, offset: BigInt(offset), total: BigInt(total) } },
  },
})
const exit = (value: number) => ({ progress: { response: { case: 'exitCode' as const, value } } })

describe('upgrade', () => {
  test('an installer is pulled to the disk and run from there, and its exit code is the result', async () => {
    const asked: unknown[] = []
    const { client } = await maintenance((router) => {
      router.service(ImageService, {
        async *pull({ containerd, imageRef }) {
          asked.push([containerd?.driver, containerd?.namespace, imageRef])
          yield { response: { case: 'pullProgress' as const, value: {} } }
          yield layer('a', Layer.DOWNLOADING, 10, 40)
          yield layer('b', Layer.DOWNLOADING, 30, 60)
          // A layer that has arrived is reported without its size.
          yield layer('a', Layer.DOWNLOAD_COMPLETE)
          yield layer('b', Layer.DOWNLOAD_COMPLETE)
          yield layer('a', Layer.EXTRACTING)
          yield { response: { case: 'name' as const, value: imageRef } }
        },
      })
      router.service(LifecycleService, {
        async *upgrade({ source }) {
          asked.push(source?.imageName)
          yield message('copying\n')
          yield exit(0)
        },
      })
    })
    const seen: unknown[] = []
    const onProgress = async (progress: object) => void seen.push(Object.values(progress))
    await client.pullInstaller(image, { onProgress })
    await client.writeInstaller(image, { onProgress })
    expect(seen).toEqual([
      ['downloading', 0, 0],
      ['downloading', 10, 40],
      ['downloading', 40, 100],
      ['downloading', 70, 100],
      ['unpacking'],
      ['unpacking'],
      ['writing', 'copying'],
    ])
    expect(asked).toEqual([[1, 1, image], image])
  })

  test('a failing installer is an error with its last lines, and a stream that ends early is a lost connection', async () => {
    let lines = [message('1\n2\n'), message('no space left\n'), exit(1)]
    const { client } = await maintenance((router) =>
      router.service(LifecycleService, {
        async *upgrade() {
          yield* lines
        },
      }),
    )
    await expect(client.writeInstaller(image)).rejects.toMatchObject({
      kind: 'other',
      message: 'the installer failed with exit code 1: 1; 2; no space left',
    })
    lines = [message('copying')]
    await expect(client.writeInstaller(image)).rejects.toMatchObject({ kind: 'unavailable' })
  })

  test('the pieces in which Talos 1.13 sends the output are joined to lines, and the error of the installer is shown without its usage', async () => {
    const error =
      'failed to install bootloader: failed to install grub: exit status 1: grub-install: error: cannot write to \u2018/dev/vda\u2019'
    const usage =
      'Usage:\n  installer install [flags]\n\nFlags:\n  -h, --help   help for install\n\nGlobal Flags:\n      --zero   Write zeros\n'
    const output = Buffer.from(
      `running Talos installer v1.13.9\nError: ${error}.\nInput/output error\n${usage}\n${error}.\nInput/output error\n`,
    )
    const cut = async (bytes: number): Promise<string[]> => {
      const { client } = await maintenance((router) =>
        router.service(LifecycleService, {
          async *upgrade() {
            for (let at = 0; at < output.length; at += bytes)
              yield piece(output.subarray(at, at + bytes))
            yield exit(1)
          },
        }),
      )
      const said = new Set<string>()
      const onProgress = async (progress: object) =>
        void said.add(Object.values(progress)[1] as string)
      await expect(client.writeInstaller(image, { onProgress })).rejects.toMatchObject({
        message: `the installer failed with exit code 1: ${error}. Input/output error`,
      })
      return [...said]
    }
    // A character has up to three bytes here, so some of these pieces end inside one.
    for (const bytes of [1, 7, 64, 512]) {
      const said = await cut(bytes)
      const whole = output.toString().split('\n')
      expect(
        said.filter(
          (line) => line.includes('--') || !whole.some((one) => one.slice(0, 200) === line),
        ),
      ).toEqual([])
    }
  })

  test('a staged upgrade and a rollback are single calls, and refusals have the message of Talos', async () => {
    const asked: unknown[] = []
    const { client } = await maintenance((router) =>
      router.service(MachineService, {
        upgrade: ({ image: ref, stage, preserve }) => {
          asked.push([ref, stage, preserve])
          return { messages: [{ ack: 'Upgrade request received' }] }
        },
        rollback: () => {
          throw new ConnectError('system disk not found', Code.FailedPrecondition)
        },
      }),
    )
    await client.upgrade({ image, stage: true })
    expect(asked).toEqual([[image, true, true]])
    await expect(client.rollback()).rejects.toMatchObject({
      kind: 'failed_precondition',
      message: 'system disk not found',
    })
  })

  test('the id of a boot is read, and an endless answer is refused', async () => {
    let text = '0b5f3b0c-6a3c-4a52-9f0e-3f0d0c8b9a11\n'
    const { client } = await maintenance((router) =>
      router.service(MachineService, {
        async *read() {
          yield { bytes: Buffer.from(text) }
        },
      }),
    )
    expect(await client.bootId()).toBe('0b5f3b0c-6a3c-4a52-9f0e-3f0d0c8b9a11')
    text = 'x'.repeat(10_000)
    await expect(client.bootId()).rejects.toMatchObject({ kind: 'invalid_data' })
  })

  test('whether etcd has data is read from its folder, and a folder that cannot be read says nothing', async () => {
    let files: { name: string; relativeName?: string; isDir?: boolean; error?: string }[] = []
    const { client } = await maintenance((router) =>
      router.service(MachineService, {
        async *list() {
          yield* files
        },
      }),
    )
    const folder = { name: '/var/lib/etcd', relativeName: '.', isDir: true }
    files = [folder]
    expect(await client.hasEtcdData()).toBe(false)
    files = [folder, { name: '/var/lib/etcd/member', relativeName: 'member', isDir: true }]
    expect(await client.hasEtcdData()).toBe(true)
    files = [{ name: '/var/lib/etcd', error: 'lstat /var/lib/etcd: no such file or directory' }]
    expect(await client.hasEtcdData()).toBeNull()
    files = []
    expect(await client.hasEtcdData()).toBeNull()
  })
})
