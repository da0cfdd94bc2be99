import { fileURLToPath } from 'node:url'
import type { Rolldown } from 'vite'

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
