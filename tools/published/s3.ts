/**
 * Tests the client of S3 stores against a published S3 service, the gateway of Versity
 * (github.com/versity/versitygw), which checks signatures and stores files in a folder. Needs Go
 * and its module proxy (`conformance/go.ts`). `npm test` tests the client against a strict double.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseCidr } from '#contract/network/addresses.ts'
import { endpointPolicy } from '../../backend/src/endpoints/policy.ts'
import { StoreError } from '../../backend/src/domains/stores/object-store.ts'
import { s3Store } from '../../backend/src/domains/stores/s3.ts'
import { buildWithGo } from '../../conformance/go.ts'

const version = 'v1.8.0'
const say = (text: string) => process.stdout.write(`${text}\n`)
const folder = mkdtempSync(join(tmpdir(), 's3-'))
const keys = { accessKeyId: 'steelyard-test', secretAccessKey: randomBytes(20).toString('hex') }

/** Builds the service and returns its path; null if it can't be built. */
function build(): string | null {
  const isBuilt = buildWithGo(
    'the client of S3 stores',
    ['install', `github.com/versity/versitygw/cmd/versitygw@${version}`],
    { env: { GOBIN: folder, GOFLAGS: '' } },
  )
  return isBuilt ? join(folder, 'versitygw') : null
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    }).on('error', () => resolve(false))
  })

async function* pieces(bytes: Buffer) {
  for (let at = 0; at < bytes.length; at += 100_000) yield bytes.subarray(at, at + 100_000)
}

async function ask(endpoint: string): Promise<string[]> {
  const signal = AbortSignal.timeout(120_000)
  const settings = {
    endpoint,
    region: 'eu-test-1',
    bucket: 'backups',
    prefix: 'steelyard/prod',
    pathStyle: true,
    ...keys,
  }
  const policy = endpointPolicy([parseCidr('127.0.0.0/8')!])
  const store = s3Store(settings, policy)
  const wrong: string[] = []
  const expectThat = (isTrue: boolean, what: string) => void (isTrue || wrong.push(what))
  for (const [key, size] of [
    ['empty', 0],
    ['clusters/a/small.etcd', 1_000],
    ['clusters/a/large.etcd', 40 * 1024 * 1024],
  ] as const) {
    const bytes = randomBytes(size)
    const written = await store.put(key, pieces(bytes), signal)
    const read = Buffer.concat(await Array.fromAsync(store.get(key, signal)))
    expectThat(
      written === size && read.equals(bytes),
      `${key} of ${size} bytes is read back as it was written`,
    )
    await store.remove(key, signal)
    await store.remove(key, signal)
    const gone = await Array.fromAsync(store.get(key, signal)).then(
      () => undefined,
      (error: unknown) => error,
    )
    expectThat(
      gone instanceof StoreError && gone.kind === 'missing',
      `${key} is missing after its removal`,
    )
  }
  const refusal = async (change: Partial<typeof settings>) => {
    try {
      await s3Store({ ...settings, ...change }, policy).put('x', pieces(Buffer.from('x')), signal)
      return 'It was accepted'
    } catch (error) {
      return error instanceof StoreError ? error.message : String(error)
    }
  }
  for (const [change, sentence] of [
    [{ secretAccessKey: 'x' }, 'the secret access key is wrong'],
    [{ accessKeyId: 'x' }, 'access key'],
    [{ bucket: 'other' }, 'the bucket does not exist'],
  ] as const) {
    const said = await refusal(change)
    expectThat(said.includes(sentence), `The refusal says "${sentence}": ${said}`)
  }
  return wrong
}

const program = build()
if (program !== null) {
  const port = await freePort()
  mkdirSync(join(folder, 'data/backups'), { recursive: true })
  mkdirSync(join(folder, 'meta'))
  const service = spawn(
    program,
    [
      '--port',
      `127.0.0.1:${port}`,
      '--region',
      'eu-test-1',
      'posix',
      '--sidecar',
      join(folder, 'meta'),
      join(folder, 'data'),
    ],
    {
      env: {
        ...process.env,
        ROOT_ACCESS_KEY: keys.accessKeyId,
        ROOT_SECRET_KEY: keys.secretAccessKey,
      },
      stdio: 'ignore',
    },
  )
  try {
    for (let tried = 0; tried < 100 && !(await answers(port)); tried++) await wait(100)
    const wrong = await ask(`http://127.0.0.1:${port}`)
    say(
      wrong.length === 0
        ? `versitygw ${version}: files of 0 B to 40 MiB were written, read back and removed; refusals are named`
        : `versitygw ${version}: not so:\n${wrong.join('\n')}`,
    )
    if (wrong.length > 0) process.exitCode = 1
  } finally {
    service.kill()
  }
}
rmSync(folder, { recursive: true, force: true })
