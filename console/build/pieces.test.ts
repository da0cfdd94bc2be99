import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { expect, test } from 'vitest'
import { circleIn, noCircles, pieces } from './pieces.ts'

test('the error for an import cycle lists only the chunks that are part of the cycle', () => {
  const imports = new Map([
    ['page.js', ['app.js']],
    ['app.js', ['form.js', 'first.js']],
    ['form.js', ['menu.js']],
    ['menu.js', ['app.js']],
    ['first.js', []],
  ])
  expect(circleIn(imports)).toEqual(['app.js', 'form.js', 'menu.js'])
  expect(circleIn(imports.set('menu.js', ['first.js']))).toEqual([])
})

/** Bundles modules whose source is given as text. Each group becomes one piece. */
const built = (
  modules: Readonly<Record<string, string>>,
  groups: Readonly<Record<string, RegExp>>,
) =>
  build({
    configFile: false,
    logLevel: 'silent',
    plugins: [
      {
        name: 'texts',
        resolveId: (id) => (id in modules ? id : null),
        load: (id) => modules[id] ?? null,
      },
      noCircles(),
    ],
    build: {
      write: false,
      rolldownOptions: {
        input: 'main',
        output: {
          entryFileNames: '[name].js',
          chunkFileNames: '[name].js',
          codeSplitting: {
            includeDependenciesRecursively: false,
            groups: Object.entries(groups).map(([name, test]) => ({ name, test })),
          },
        },
      },
    },
  })

test('a build whose chunks import each other fails with their names', async () => {
  const modules = {
    main: `import 'a1'; import 'b1'`,
    a1: `import 'b2'; console.log(1)`,
    a2: `console.log(2)`,
    b1: `import 'a2'; console.log(3)`,
    b2: `console.log(4)`,
  }
  await expect(built(modules, { a: /^a/, b: /^b/ })).rejects.toThrow(/circle: .*\ba\.js/)
  await expect(built(modules, {})).resolves.toBeDefined()
})

test('modules that only lists share, and those that only other pages share, are in pieces of their own', () => {
  const src = fileURLToPath(new URL('../src/', import.meta.url))
  const routes = readdirSync(`${src}routes`).filter((file) => file.startsWith('infra.'))
  const isList = (route: string) => /^infra\.\w+\.tsx$/.test(route)
  const uses: Readonly<Record<string, (route: string) => boolean>> = {
    'ui/Everywhere.tsx': () => true,
    'ui/Table.tsx': isList,
    'ui/Details.tsx': (route) => !isList(route),
    'ui/Details.module.css': (route) => !isList(route),
    'features/servers/Row.tsx': (route) => route === 'infra.servers.tsx',
    'features/servers/Detail.tsx': (route) => route === 'infra.servers.$id.tsx',
  }
  const importsOf = (route: string) => [
    ...Object.keys(uses).filter((id) => uses[id]!(route)),
    ...(isList(route) ? [] : ['ui/form/use-form.ts']),
  ]
  const imports = new Map(
    routes.map((route) => [`${src}routes/${route}`, importsOf(route).map((id) => src + id)]),
  )
  const name = pieces()[1]?.name as unknown as (id: string, graph: object) => string | null
  const graph = { getModuleInfo: (id: string) => ({ importedIds: imports.get(id) ?? [] }) }
  expect(Object.keys(uses).map((id) => [id, name(src + id, graph)])).toEqual([
    ['ui/Everywhere.tsx', 'app'],
    ['ui/Table.tsx', 'lists'],
    ['ui/Details.tsx', 'details'],
    ['ui/Details.module.css', 'app'],
    ['features/servers/Row.tsx', 'servers'],
    ['features/servers/Detail.tsx', null],
  ])
})
