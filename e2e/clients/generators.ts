/**
 * The programs that read the OpenAPI document: generators of clients, and Schemathesis. Each comes
 * from its registry in the version below, into a folder that later runs find again.
 */
import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

export const versions = {
  oapiCodegen: 'v2.8.2',
  /** What the code of oapi-codegen imports. */
  oapiCodegenRuntime: 'v1.9.0',
  uuid: 'v1.6.0',
  openapiGenerator: '7.25.0',
  /** What the code of openapi-generator imports. */
  goValidator: 'v2.0.1',
  mavenDependencyPlugin: '3.8.1',
  openapiPythonClient: '0.29.1',
  httpx: '0.28.1',
  attrs: '26.1.0',
  mypy: '2.4.1',
  schemathesis: '4.32.5',
} as const

const folder = join(process.cwd(), 'node_modules/.steelyard/generators')

const ran = (
  { status, error, stdout, stderr }: SpawnSyncReturns<string>,
  command: string,
): string => {
  if (status === 0) return stdout
  throw new Error(`${command} failed: ${error?.message ?? `${stdout}${stderr}`.slice(-4_000)}`)
}
/** @throws Error with the end of the output */
export const run = (
  command: string,
  args: readonly string[],
  { cwd, env = {} }: { cwd?: string; env?: Record<string, string> } = {},
): string =>
  ran(
    spawnSync(command, args, {
      cwd,
      env: { ...process.env, ...env },
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    }),
    `${command} ${args[0]}`,
  )

/** Runs a program while this process keeps answering. Returns its code and its whole output. */
export async function runBeside(
  command: string,
  args: readonly string[],
  { cwd, env = {} }: { cwd?: string; env?: Record<string, string> } = {},
): Promise<{ code: number | null; output: string }> {
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const code = new Promise<number | null>((resolve, reject) =>
    child.once('close', resolve).once('error', reject),
  )
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await code, output: out + err }
}

/** oapi-codegen, by Go's module proxy. */
export function oapiCodegen(): string {
  const program = join(folder, `oapi-codegen-${versions.oapiCodegen}`, 'oapi-codegen')
  if (!existsSync(program))
    run(
      'go',
      [
        'install',
        `github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@${versions.oapiCodegen}`,
      ],
      { env: { GOBIN: join(program, '..'), GOFLAGS: '' } },
    )
  return program
}

/** The archive of openapi-generator, by Maven. */
export function openapiGenerator(): string {
  const archive = join(folder, `openapi-generator-cli-${versions.openapiGenerator}.jar`)
  if (!existsSync(archive))
    run('mvn', [
      '--batch-mode',
      '--quiet',
      `org.apache.maven.plugins:maven-dependency-plugin:${versions.mavenDependencyPlugin}:copy`,
      `-Dartifact=org.openapitools:openapi-generator-cli:${versions.openapiGenerator}`,
      `-DoutputDirectory=${folder}`,
    ])
  return archive
}

/** The folder of the programs of an environment with these packages, by pip. */
export function python(name: string, packages: readonly string[]): string {
  const environment = join(folder, `${name}-${packages.join('-').replaceAll('==', '')}`)
  const programs = join(environment, 'bin')
  // Made last, so that an environment without it is made again.
  const whole = join(environment, 'whole')
  if (!existsSync(whole)) {
    run('python3', ['-m', 'venv', '--clear', environment])
    run(join(programs, 'pip'), ['install', '--quiet', ...packages])
    mkdirSync(whole)
  }
  return programs
}
