/**
 * Generators of clients read `/v1/openapi.json` of a running Steelyard. What they write compiles,
 * and makes a cluster of simulated servers.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { apiTokenCreate } from '#contract/people/api-tokens.ts'
import { type Installation, startInstallation } from '../installation.ts'
import { plant } from '../secrets.ts'
import { python, run, runBeside } from '../../tools/testing/programs.ts'
import { oapiCodegen, openapiGenerator, versions } from './generators.ts'

const folder = mkdtempSync(join(tmpdir(), 'sy-clients-'))
const here = import.meta.dirname
let installation: Installation
let env: Record<string, string>

beforeAll(async () => {
  installation = await startInstallation({ servers: 8, speed: 50 })
  const { token } = await installation.call(apiTokenCreate, {
    body: {
      name: 'generated clients',
      scopes: [
        'servers:read',
        'servers:write',
        'clusters:read',
        'clusters:write',
        'datacenters:read',
        'secrets:read',
      ],
    },
  })
  plant('token', token)
  env = { STEELYARD_URL: installation.url, STEELYARD_TOKEN: token }
}, 300_000)
afterAll(async () => {
  await installation.stop()
  rmSync(folder, { recursive: true, force: true })
}, 120_000)

type Json = { [key: string]: unknown }
/** Applies `change` to every object of a value. */
function everywhere(value: unknown, change: (one: Json) => void): void {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) change(value as Json)
  for (const inner of Object.values(value)) everywhere(inner, change)
}

/**
 * The document of this version, or of an older one, whose servers, clusters and operations lacked
 * some of the fields of today.
 */
async function document(age: 'today' | 'older', name: string): Promise<string> {
  // Building a tool blocks this process. Only in the next turn does it notice that the server has
  // closed a connection meanwhile, which fetch would use.
  await nextTurn()
  const got = (await (await fetch(`${installation.url}/v1/openapi.json`)).json()) as {
    components: { schemas: Record<string, Json> }
  }
  if (age === 'older')
    for (const schema of ['Server', 'Cluster', 'Operation'])
      everywhere(got.components.schemas[schema], (one) => {
        for (const field of ['labels', 'notes', 'history', 'created_by', 'steps'])
          if (one['properties']) {
            delete (one['properties'] as Json)[field]
            if (one['required'])
              one['required'] = (one['required'] as string[]).filter((r) => r !== field)
          }
      })
  const file = join(folder, `${name}.json`)
  writeFileSync(file, JSON.stringify(got))
  return file
}

/** Builds and checks a Go program that uses a client, and runs it. */
async function inGo(name: string, cwd: string, cluster: string, requires: readonly string[]) {
  writeFileSync(
    join(cwd, 'go.mod'),
    `module example.com/steelyard\n\ngo 1.26.0\n\nrequire (\n${requires.map((one) => `\t${one}\n`).join('')})\n`,
  )
  copyFileSync(join(here, name, 'main.go'), join(cwd, 'main.go'))
  const modules = { GOFLAGS: '-mod=mod', GOWORK: 'off' }
  run('go', ['vet', './...'], { cwd, env: modules })
  run('go', ['build', '-o', 'program', '.'], { cwd, env: modules })
  expect(await runBeside(join(cwd, 'program'), [cluster], { env })).toEqual({
    code: 0,
    output: `made, read and deleted ${cluster}\n`,
  })
}

test.each(['today', 'older'] as const)(
  'a client for Go by oapi-codegen, from the document of %s, makes a cluster',
  async (age) => {
    const cwd = join(folder, `oapi-${age}`)
    mkdirSync(join(cwd, 'client'), { recursive: true })
    run(oapiCodegen(), [
      '-generate',
      'types,client',
      '-package',
      'client',
      '-o',
      join(cwd, 'client/client.go'),
      await document(age, `oapi-${age}`),
    ])
    await inGo('oapi-codegen', cwd, `oapi-${age}`, [
      `github.com/oapi-codegen/runtime ${versions.oapiCodegenRuntime}`,
      `github.com/google/uuid ${versions.uuid}`,
    ])
  },
  600_000,
)

test.each(['today', 'older'] as const)(
  'a client for Go by openapi-generator, from the document of %s, makes a cluster',
  async (age) => {
    const cwd = join(folder, `generator-${age}`)
    run('java', [
      '-jar',
      openapiGenerator(),
      'generate',
      '-i',
      await document(age, `generator-${age}`),
      '-g',
      'go',
      '-o',
      join(cwd, 'client'),
      '--global-property',
      'apiTests=false,modelTests=false,apiDocs=false,modelDocs=false',
      '--additional-properties',
      // Otherwise the client refuses every field of a response that its document doesn't name.
      'packageName=client,withGoMod=false,disallowAdditionalPropertiesIfNotPresent=false',
    ])
    await inGo('openapi-generator', cwd, `generator-${age}`, [
      `gopkg.in/validator.v2 ${versions.goValidator}`,
    ])
  },
  600_000,
)

test.each(['today', 'older'] as const)(
  'a client for Python by openapi-python-client, from the document of %s, makes a cluster',
  async (age) => {
    const programs = python('client', [
      `openapi-python-client==${versions.openapiPythonClient}`,
      `httpx==${versions.httpx}`,
      `attrs==${versions.attrs}`,
      `mypy==${versions.mypy}`,
    ])
    const cwd = join(folder, `python-${age}`)
    mkdirSync(cwd)
    const settings = join(cwd, 'settings.json')
    writeFileSync(
      settings,
      JSON.stringify({
        content_type_overrides: {
          'application/yaml': 'text/plain',
          'application/x-ndjson': 'text/plain',
        },
        // Without its formatter.
        post_hooks: [],
      }),
    )
    const said = run(join(programs, 'openapi-python-client'), [
      'generate',
      '--path',
      await document(age, `python-${age}`),
      '--config',
      settings,
      '--meta',
      'none',
      '--output-path',
      join(cwd, 'steelyard'),
    ])
    expect(said).not.toContain('WARNING')
    copyFileSync(join(here, 'python/make_cluster.py'), join(cwd, 'make_cluster.py'))
    expect(run(join(programs, 'mypy'), ['steelyard', 'make_cluster.py'], { cwd })).toContain(
      'Success: no issues found',
    )
    expect(
      await runBeside(join(programs, 'python'), ['make_cluster.py', `python-${age}`], { cwd, env }),
    ).toEqual({ code: 0, output: `made, read and deleted python-${age}\n` })
  },
  600_000,
)
