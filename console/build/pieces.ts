import { fileURLToPath } from 'node:url'
import type { Plugin, Rolldown } from 'vite'

/** What somebody who isn't signed in sees first. The bundle of these pages is kept small; what they import isn't put into `app`. */
const firstPages = ['routes/auth.login.tsx', 'layout/frame/PublicFrame.tsx', 'features/home/SignedOut.tsx']

/** Folders that nearly every signed-in page uses: many small pieces compress badly and cost a request each. */
const sharedFolders = /console\/src\/(ui\/(?!text\/|form\/)|lib|api|layout)|\/contract\/(?!network\/)|node_modules\/(zod|@tanstack)\//

type Groups = NonNullable<Exclude<Rolldown.OutputOptions['codeSplitting'], boolean | undefined>['groups']>

/**
 * The pieces of the bundle, from the graph of imports: what runs first, what the first pages share, and what at least four pages share. Each group
 * takes its dependencies along, unless an earlier group has them; so a piece imports earlier pieces only and no two wait for each other.
 */
export function pieces(): Groups {
  let first: Set<string> | undefined
  return [
    { name: 'first', tags: ['$initial'], priority: 3 },
    {
      name: (id, graph) => {
        first ??= reachable(
          firstPages.map((page) => fileURLToPath(new URL(`../src/${page}`, import.meta.url))),
          (module) => graph.getModuleInfo(module)?.importedIds ?? [],
        )
        return first.has(id) ? 'visitors' : null
      },
      minShareCount: 2,
      priority: 2,
    },
    { name: 'app', test: sharedFolders, minShareCount: 4 },
    // Comes with the first form that is opened.
    { name: 'form', test: /console\/src\/ui\/form\/|node_modules\/react-hook-form\// },
  ]
}

/** All modules that `roots` import statically, themselves included. */
function reachable(roots: readonly string[], importsOf: (id: string) => readonly string[]): Set<string> {
  const found = new Set(roots)
  for (const id of found) for (const next of importsOf(id)) found.add(next)
  return found
}

/** The pieces that import each other in circles: what is left once those that import nothing else, or that nothing else imports, are taken away. */
export function circleIn(importsOf: ReadonlyMap<string, readonly string[]>): readonly string[] {
  let left: readonly string[] = [...importsOf.keys()]
  for (;;) {
    const imported = new Set(left.flatMap((name) => importsOf.get(name) ?? []))
    const next = left.filter((name) => imported.has(name) && importsOf.get(name)?.some((to) => left.includes(to)))
    if (next.length === left.length) return next
    left = next
  }
}

/** Fails the build where pieces import each other in a circle: one of them then runs before what it calls exists ("g is not a function"), on every page. */
export const noCircles = (): Plugin => ({
  name: 'steelyard:no-circles',
  generateBundle(_, bundle) {
    const circle = circleIn(new Map(Object.values(bundle).map((piece) => [piece.fileName, piece.type === 'chunk' ? piece.imports : []])))
    if (circle.length > 0) this.error(`These pieces of the bundle import each other in a circle: ${circle.join(', ')}`)
  },
})
