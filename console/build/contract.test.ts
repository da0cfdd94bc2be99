import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build, type Rolldown } from 'vite'
import { expect, test } from 'vitest'
import { serverList } from '#contract/servers/servers.ts'
import { contract } from './contract.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

type List = { list: { columns: object; filters: Record<string, object> } }
interface Exports {
  serverList: List
  patchList: List
  serverCommands: object
  operationTitle: unknown
  findingKinds: Record<string, object>
  problems: (asked: object) => string[]
  authorize: object
}

/** Bundles a module with the given code, and returns its exports and its modules. */
async function bundled(code: string) {
  const main = `${root}console/src/main.test.js`
  const [{ output }] = (await build({
    configFile: false,
    root,
    logLevel: 'silent',
    plugins: [
      {
        name: 'main',
        enforce: 'pre',
        resolveId: (id) => (id === main ? main : null),
        load: (id) => (id === main ? code : null),
      },
      contract(),
    ],
    build: { write: false, minify: false, lib: { entry: main, formats: ['es'] } },
  })) as Rolldown.RolldownOutput[] as [Rolldown.RolldownOutput]
  const [{ code: text, modules }] = output
  const exports = (await import(`data:text/javascript,${encodeURIComponent(text)}`)) as Exports
  return {
    exports,
    modules: Object.entries(modules).flatMap(([id, { renderedLength }]) =>
      renderedLength > 0 ? [id] : [],
    ),
  }
}

test('the bundle of a page that only sends calls has no schemas and no schema library', async () => {
  const { exports, modules } = await bundled(`
    export { serverList, serverCommands } from '#contract/servers/servers.ts'
    export { patchList } from '#contract/patches.ts'
    export { findingKinds } from '#contract/findings/kinds.ts'
    export { operationTitle } from '#contract/operations.ts'`)
  const { name, method, path, scope, media } = serverList
  expect(exports.serverList).toMatchObject({ name, method, path, scope, media })
  expect(Object.keys(exports.serverList.list.columns)).toEqual(Object.keys(serverList.list.columns))
  // Only the help of the CLI and of the documentation explains filters.
  expect(exports.serverList.list.filters['label']).toEqual({ label: 'Labels', syntax: 'labels' })
  expect(exports.patchList.list).toMatchObject({ order: '-weight' })
  expect(exports.serverCommands).toMatchObject({
    serverReboot: { method: 'POST', path: '/v1/nodes/{id}/reboot' },
  })
  expect(exports.operationTitle).toBeTypeOf('function')
  expect(exports.findingKinds['server_failed']).toEqual({
    object: 'server',
    severity: 'down',
    word: 'Failed',
    title: 'Server failed in its cluster',
    remedies: undefined,
  })
  expect(modules.filter((id) => /\/zod\/|\?schemas$/.test(id))).toEqual([])
})

test('a page that checks a form bundles the schema with the default messages', async () => {
  const {
    exports: { problems, authorize },
  } = await bundled(`
    import { Credentials, authorize } from '#contract/sessions.ts'
    export const problems = (asked) => Credentials.safeParse(asked).error.issues.map((issue) => issue.message)
    export { authorize }`)
  expect(problems({ email: 'x', password: '' })).toEqual([
    'Enter an email address',
    'Enter your password',
  ])
  expect(problems({ email: 'a@b.c' })).toEqual(['Required'])
  expect(authorize).not.toHaveProperty('body')
})

test('the console uses no property that the build removes from the declarations of API calls', () => {
  const src = `${root}console/src/`
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /(?<!\.test)\.tsx?$/.test(file),
  )
  const reads = files.flatMap((file) => {
    const text = readFileSync(src + file, 'utf8')
    const imported = [...text.matchAll(/import \{([^}]+)\} from '#contract/g)].flatMap(
      ([, names = '']) => names.split(',').flatMap((name) => name.trim() || []),
    )
    return imported
      .filter((name) =>
        new RegExp(
          `\\b${name}\\.(?:params|query|body|answer|summary|status|kept|errors|meanings)\\b`,
        ).test(text),
      )
      .map((name) => `${file}: ${name}`)
  })
  expect(files.length).toBeGreaterThan(200)
  expect(reads).toEqual([])
})
