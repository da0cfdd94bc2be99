import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { upBetweenDomains } from './import-rules.ts'
import { brokenRules, sourceFiles } from './imports.ts'

test('imports follow the arrows of docs/architecture.md', async () => {
  expect(await brokenRules(sourceFiles().filter((file) => !file.includes('/gen/')))).toEqual([])
})

test('each rule finds an import that breaks the rule', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sy-imports-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const files: Record<string, string> = {
    'package.json':
      '{ "type": "module", "imports": { "#simulator/*": "./simulator/*", "#talos/*": "./talos/*" } }',
    'console/src/ui/Button.tsx':
      "import { useQuery } from '@tanstack/react-query'\nexport { x } from '../features/a/x.ts'\nexport const b = <b>{useQuery}</b>",
    'console/src/features/a/x.ts': "export const x = () => import('../b/y.ts')",
    'console/src/features/b/y.ts': 'export const y = 1',
    'contract/servers.ts': "import type { App } from '../backend/src/app.ts'\nexport type A = App",
    'backend/src/app.ts':
      "export interface App {}\nexport { start } from '#simulator/src/start.ts'\nexport { t } from './a.test.ts'",
    'backend/src/a.test.ts':
      "import { start } from '#simulator/src/start.ts'\nexport const t = start",
    'simulator/src/start.ts': "export const start = 1\nexport { gone } from './gone.ts'",
    // Files of a folder may use the folders in it and serve them. Folders beside each other may not.
    'backend/src/domains/racks/api.ts': "export { look } from './look/look.ts'",
    'backend/src/domains/racks/look/look.ts':
      "export { move } from '../move/move.ts'\nexport type { Rack } from '../racks.ts'",
    'backend/src/domains/racks/move/move.ts':
      "export type { Look } from '../look/looked.ts'\nexport const move = 1",
    'backend/src/domains/racks/look/looked.ts': 'export interface Look {}',
    'backend/src/domains/racks/racks.ts':
      "export type { Offer } from '../offers/api.ts'\nexport interface Rack {}",
    'backend/src/domains/offers/api.ts':
      "export { look } from '../racks/api.ts'\nexport interface Offer {}",
    'backend/src/domains/alerts/api.ts': "export type { Incident } from '../incidents/api.ts'",
    'backend/src/domains/incidents/api.ts':
      "export type { Finding } from '../findings/api.ts'\nexport interface Incident {}",
    'backend/src/domains/findings/api.ts':
      "export * from '../alerts/api.ts'\nexport interface Finding {}",
    'backend/src/domains/audit/audit.ts':
      "import { sql } from 'kysely'\nimport * as store from '../users/store.ts'\nexport { sql, store }",
    'backend/src/domains/audit/entry.ts':
      "import type { User } from '../users/users.ts'\nimport type { Users } from '../users/api.ts'\nexport type Entry = [User, Users]",
    'backend/src/http/session.ts':
      "import type { User } from '../domains/users/users.ts'\nimport type { Users } from '../domains/users/api.ts'\nexport type Session = [User, Users]",
    'backend/src/domains/users/api.ts': 'export interface Users {}',
    'backend/src/domains/users/users.ts':
      "import type { Selectable } from 'kysely'\nimport * as store from './store.ts'\nexport { type Selectable, store }\nexport interface User {}",
    'backend/src/domains/clusters/api.ts': 'export interface Cluster {}',
    'backend/src/talos-fleet/apply.ts': 'export const apply = 1',
    'backend/src/domains/clusters/send.ts': "export { apply } from '../../talos-fleet/apply.ts'",
    'backend/src/domains/configurations/send.ts':
      "export { apply } from '../../talos-fleet/apply.ts'\nexport type { Cluster } from '../clusters/api.ts'",
    'backend/src/domains/patches/patches.ts': "export type { Cluster } from '../clusters/api.ts'",
    'backend/src/domains/users/store.ts': "export { sql } from 'kysely'",
    'backend/src/config.ts': "export { at } from '#talos/config/tree.ts'",
    'simulator/src/start.test.ts': "export { at } from '../../talos/config/tree.ts'",
    'talos/config/tree.ts': 'export const at = 1',
    // Four files may import each other, five may not, with types and imports on demand.
    ...Object.fromEntries(
      [1, 2, 3, 4].map((n) => [
        `cli/four-${n}.ts`,
        `import type { F } from './four-${(n % 4) + 1}.ts'\nexport type { F }`,
      ]),
    ),
    'talos/a.ts': "import type { B } from './b.ts'\nexport type A = B",
    'talos/b.ts': "export { type C as B } from './c.ts'",
    'talos/c.ts': "import { d } from './d.ts'\nexport type C = typeof d",
    'talos/d.ts': "export const d = () => import('./e.ts')",
    'talos/e.ts': "import './f.ts'\nimport type { A } from './a.ts'\nexport type E = A",
    'talos/f.ts': 'export {}',
    'node_modules/kysely/package.json': '{ "name": "kysely", "main": "index.js" }',
    'node_modules/kysely/index.js': 'exports.sql = 1',
    'node_modules/@tanstack/react-query/package.json':
      '{ "name": "@tanstack/react-query", "main": "index.js" }',
    'node_modules/@tanstack/react-query/index.js': 'exports.useQuery = 1',
  }
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  const sources = Object.keys(files).filter((file) => /\.tsx?$/.test(file))
  const broken = (await brokenRules(sources, folder)).map((line) => line.split(' -> ')[0]!)
  expect(broken.toSorted()).toEqual([
    'circle of folders: backend/src/domains/offers, backend/src/domains/racks',
    'circle of folders: backend/src/domains/racks/look, backend/src/domains/racks/move',
    'circle: talos/a.ts, talos/b.ts, talos/c.ts, talos/d.ts, talos/e.ts',
    'configurations-know-no-cluster: backend/src/domains/configurations/send.ts',
    'door-backend: backend/src/app.ts',
    'door-contract: contract/servers.ts',
    'facts-by-name: backend/src/config.ts',
    'layer-ui: console/src/ui/Button.tsx',
    'no-test-in-source: backend/src/app.ts',
    'one-feature: console/src/features/a/x.ts',
    'one-sender: backend/src/domains/clusters/send.ts',
    'own-face-below: backend/src/http/session.ts',
    'own-face: backend/src/domains/audit/audit.ts',
    'own-face: backend/src/domains/audit/entry.ts',
    'patches-know-no-cluster: backend/src/domains/patches/patches.ts',
    'plain-ui: console/src/ui/Button.tsx',
    'resolved: simulator/src/start.ts',
    'sql-in-stores: backend/src/domains/audit/audit.ts',
  ])
})

test('at most four arrows between domains go up, and each of them is still needed', async () => {
  expect(upBetweenDomains.length).toBeLessThanOrEqual(4)
  const files = sourceFiles().filter((f) => f.startsWith('backend/src/domains/'))
  for (const arrow of upBetweenDomains) {
    const [from, to] = arrow.split(' -> ') as [string, string]
    const name = to.split('/').at(-1)
    const reads = files.filter(
      (f) => f.startsWith(`${from}/`) && readFileSync(f, 'utf8').includes(`../${name}/api.ts'`),
    )
    expect(reads).not.toEqual([])
  }
})
