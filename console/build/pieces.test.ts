import { build } from 'vite'
import { expect, test } from 'vitest'
import { circleIn, noCircles } from './pieces.ts'

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
const built = (modules: Readonly<Record<string, string>>, groups: Readonly<Record<string, RegExp>>) =>
  build({
    configFile: false,
    logLevel: 'silent',
    plugins: [{ name: 'texts', resolveId: (id) => (id in modules ? id : null), load: (id) => modules[id] ?? null }, noCircles()],
    build: {
      write: false,
      rolldownOptions: {
        input: 'main',
        output: {
          entryFileNames: '[name].js',
          chunkFileNames: '[name].js',
          codeSplitting: { includeDependenciesRecursively: false, groups: Object.entries(groups).map(([name, test]) => ({ name, test })) },
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
