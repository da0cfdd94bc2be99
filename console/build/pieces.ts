import { fileURLToPath } from 'node:url'
import type { Plugin, Rolldown } from 'vite'

/** The first pages for users who aren't signed in. Their bundle is kept small: modules that these pages import aren't put into `app`. */
const firstPages = ['routes/auth.login.tsx', 'layout/frame/PublicFrame.tsx', 'features/home/SignedOut.tsx']

/** Folders that nearly every signed-in page uses. They share one piece, because many small pieces compress badly and cost a request each. */
const sharedFolders = /console\/src\/(ui\/(?!text\/|form\/)|lib|api|layout)|\/contract\/(?!network\/)|node_modules\/(zod|@tanstack)\//

type Groups = NonNullable<Exclude<Rolldown.OutputOptions['codeSplitting'], boolean | undefined>['groups']>

/**
 * Divides the bundle into pieces (chunks) by the graph of imports: what runs first, what the first pages share, and what at least four pages share. Each group
 * includes its dependencies, unless an earlier group includes them. So a piece imports only earlier pieces, and no two pieces import each other.
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
    // Loaded with the first form that is opened.
    { name: 'form', test: /console\/src\/ui\/form\/|node_modules\/react-hook-form\// },
  ]
}

/** All modules that `roots` import statically, themselves included. */
function reachable(roots: readonly string[], importsOf: (id: string) => readonly string[]): Set<string> {
  const found = new Set(roots)
  for (const id of found) for (const next of importsOf(id)) found.add(next)
  return found
}

/** Pieces that import each other in a circle. Found by repeatedly removing pieces that import no other piece, or that no other piece imports. */
export function circleIn(importsOf: ReadonlyMap<string, readonly string[]>): readonly string[] {
  let left: readonly string[] = [...importsOf.keys()]
  for (;;) {
    const imported = new Set(left.flatMap((name) => importsOf.get(name) ?? []))
    const next = left.filter((name) => imported.has(name) && importsOf.get(name)?.some((to) => left.includes(to)))
    if (next.length === left.length) return next
    left = next
  }
}

/** Fails the build if pieces import each other in a circle: one of them would run before the functions that it calls exist ("g is not a function"). */
export const noCircles = (): Plugin => ({
  name: 'steelyard:no-circles',
  generateBundle(_, bundle) {
    const circle = circleIn(new Map(Object.values(bundle).map((piece) => [piece.fileName, piece.type === 'chunk' ? piece.imports : []])))
    if (circle.length > 0) this.error(`These pieces of the bundle import each other in a circle: ${circle.join(', ')}`)
  },
})
