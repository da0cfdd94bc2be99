/**
 * Schemathesis sends what the OpenAPI document allows, and what it forbids, to a running Steelyard
 * with simulated servers, and compares the responses with the document.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { apiTokenCreate } from '#contract/people/api-tokens.ts'
import { scopes } from '#contract/permissions.ts'
import { type Installation, startInstallation, untilReady } from '../installation.ts'
import { plant } from '../secrets.ts'
import { makeCluster } from '../testing/small-cluster.ts'
import { python, runBeside } from '../../tools/testing/programs.ts'
import { versions } from './generators.ts'

/**
 * Calls that would end the test itself or leave this machine: they take the role or the token of
 * its own user, dial an address that the call names (stores, channels), count wrong passwords of
 * the source, or never end (the stream of events).
 */
const left =
  '^(store|channel)(Create|Update|Test)$|^user(Update|Remove|Reset.*|Unlock)$|^apiTokenRevoke$|^authorize|^eventStream$'

const folder = mkdtempSync(join(tmpdir(), 'sy-schemathesis-'))
let installation: Installation
let token: string

beforeAll(async () => {
  installation = await startInstallation({ servers: 12, speed: 50 })
  const { cluster } = await makeCluster(installation, 'prod')
  await untilReady(installation, cluster.id)
  const created = await installation.call(apiTokenCreate, {
    body: { name: 'schemathesis', scopes: [...scopes] },
  })
  token = created.token
  plant('token', token)
}, 300_000)
afterAll(async () => {
  await installation.stop()
  rmSync(folder, { recursive: true, force: true })
}, 120_000)

test('responses are those of the OpenAPI document, for 5,000 requests of Schemathesis', async () => {
  writeFileSync(
    join(folder, 'schemathesis.toml'),
    // A version that isn't one and a body that is too large are refusals as well.
    '[checks.negative_data_rejection]\nexpected-statuses = ["4xx"]\n',
  )
  const { code, output } = await runBeside(
    join(python('schemathesis', [`schemathesis==${versions.schemathesis}`]), 'schemathesis'),
    [
      '--config-file',
      join(folder, 'schemathesis.toml'),
      'run',
      `${installation.url}/v1/openapi.json`,
      '--header',
      `Authorization: Bearer ${token}`,
      '--seed',
      '47',
      '--phases',
      'examples,coverage,fuzzing',
      '--max-examples',
      '10',
      '--checks',
      'not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,negative_data_rejection,unsupported_method,allow_header_conformance',
      '--exclude-operation-id-regex',
      left,
      // Most requests of one user: the API refuses more writes with 429.
      '--rate-limit',
      '40/s',
      '--no-shrink',
      '--generation-database',
      'none',
      '--suppress-health-check',
      'all',
      '--continue-on-failure',
      '--request-timeout',
      '30',
      '--no-color',
      '--report',
      'json',
      '--report-json-path',
      join(folder, 'report.json'),
    ],
    { cwd: folder },
  )
  expect({ code, output: code === 0 ? '' : output.slice(-20_000) }).toEqual({ code: 0, output: '' })
  const generated = Number(/([\d,]+) generated/.exec(output)?.[1]?.replaceAll(',', ''))
  expect(generated).toBeGreaterThan(5_000)
  process.stderr.write(`schemathesis: ${generated} cases\n`)
  expect((await fetch(`${installation.url}/readyz`)).status).toBe(200)
}, 1_800_000)
