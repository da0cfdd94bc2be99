import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isTest, sourceFiles } from './imports.ts'
import { brokenRows, parsersIn } from './parsers.ts'

test('each raw parser and each read from a network stands in the table with its thread and limits', () => {
  const files = sourceFiles().filter(
    (file) =>
      /^(?:backend|talos|cli|contract)\//.test(file) &&
      !isTest(file) &&
      !file.includes('/gen/') &&
      file !== 'backend/build.ts',
  )
  expect(
    brokenRows(Object.fromEntries(files.map((file) => [file, readFileSync(file, 'utf8')]))),
  ).toEqual([])
})

test('each kind of parser is found in a source, and its comments, types and writers are not', () => {
  const found = {
    yaml: [
      "import { parse } from 'yaml'",
      "import { type Document, parseDocument, visit } from 'yaml'",
      "import * as yaml from 'yaml'",
    ],
    json: ['const a = JSON.parse(text)', 'await answer.json()'],
    certificate: ['new X509Certificate(pem)', "return import('@peculiar/x509')"],
    protobuf: ['fromBinary(schema, bytes)', 'fromJson(schema, value)'],
    webauthn: ["import('@simplewebauthn/server')"],
    token: ["import { jwtVerify } from 'jose'", "const library = () => import('openid-client')"],
    bolt: ['new EtcdReader()'],
    csv: ['const { records } = parseCsv(text)'],
    archive: ['gunzipSync(bytes)', "import tar from 'tar'"],
    network: ["import { request } from 'node:https'", 'await fetch(url)'],
  } as const
  for (const [name, sources] of Object.entries(found))
    for (const source of sources) expect([source, parsersIn(source)]).toEqual([source, [name]])
  const harmless = [
    "import { stringify } from 'yaml'",
    "import type { Socket } from 'node:net'",
    '// JSON.parse(x)',
    'JSON.stringify(a)',
    "import type * as X from '@peculiar/x509'",
  ]
  for (const source of harmless) expect([source, parsersIn(source)]).toEqual([source, []])
})

test('a file without a row, a row without a use, and a long input on the main thread are named', () => {
  const files = {
    'backend/src/a.ts': 'JSON.parse(a)',
    'backend/src/b.ts': 'a()',
    'backend/src/c.ts': 'JSON.parse(c)',
  }
  const row = { parses: ['json'], on: 'main', limits: '' } as const
  expect(
    brokenRows(files, {
      'backend/src/b.ts': { ...row, bytes: 1 },
      'backend/src/c.ts': { ...row, bytes: 1024 * 1024 },
    }),
  ).toEqual([
    expect.stringMatching(/^backend\/src\/a\.ts reads json/),
    expect.stringMatching(/^backend\/src\/b\.ts does not read json/),
    'backend/src/c.ts may get more than 256 KiB on the main thread',
  ])
})
