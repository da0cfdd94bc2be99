import { readdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Plugin, Rolldown } from 'vite'

type Groups = NonNullable<
  Exclude<Rolldown.OutputOptions['codeSplitting'], boolean | undefined>['groups']
>
type Graph = { getModuleInfo(id: string): { importedIds: readonly string[] } | null }

const source = (path: string) => fileURLToPath(new URL(`../src/${path}`, import.meta.url))
const filesIn = (folder: string, name: RegExp) =>
  readdirSync(source(folder)).flatMap((file) =>
    name.test(file) ? [source(`${folder}/${file}`)] : [],
  )

/** Pages of visitors. Modules that they share with other pages are in the piece of `main.tsx`. */
const visitors = [
  'routes/auth.login.tsx',
  'layout/frame/PublicFrame.tsx',
  'features/home/SignedOut.tsx',
].map(source)
/** The frame around every page for signed-in users. */
const frame = [source('layout/frame/AppLayout.tsx'), source('api/query.ts')]
/**
 * The pages for signed-in users. `lists`: the pages that show the list of a section, such as
 * servers.
 */
const pages = filesIn('routes', /^(?:infra|marketplace)\./)
const lists = filesIn('routes', /^infra\.\w+\.tsx$/)
const others = pages.filter((page) => !lists.includes(page))
/** The code that validates forms: form components, schemas and the schema library. */
const forms = filesIn('ui/form', /(?<!\.test)\.tsx?$/)
const ofForms =
  /node_modules\/(zod|react-hook-form)\/|console\/src\/ui\/form\/|contract\/(sentences\.ts|images\/customization\.ts|(?!network\/|marketplace\/|templates\/|incidents\/|bmcs\/|images(?:\.ts|\/early)).*\?schemas)$|console\/src\/lib\/fields/

/**
 * Folders with modules that several pages use. Such modules are bundled together: many small pieces
 * compress badly and cost a request each.
 */
const shared =
  /console\/src\/(ui|lib|api|layout)\/|\/contract\/(?!network\/)|node_modules\/@tanstack\//
/** Each page with a form imports this module. */
const useForm = source('ui/form/use-form.ts')
/**
 * A module of a shared folder goes into a shared piece if at least this many pages import the
 * module.
 */
const mostPages = 4
/**
 * Parts of the query library that only some pages use. The library's index imports all its parts,
 * so the graph of imports doesn't show who uses them.
 */
const seldom = /\/(useQueries|queriesObserver)\.js$/
/**
 * Small modules that the same few pages use. Apart, each would cost a request, and a name in the
 * first script.
 */
const together: Readonly<Record<string, RegExp>> = {
  remedies:
    /console\/src\/(?:layout\/findings\/(?:FindingMenu|finding-actions|remedies)|ui\/feedback\/(?:FindingMark|Unread))\.tsx?$/,
  // Names of classes that a few pages share; the style sheets are small.
  parts:
    /console\/src\/features\/\w+\/(?:\w+\/)?(?:Alerts|Change|ClusterPage|Health|JoinTokens|Offer|Overview|People|Shared|Takeover)\.module\.css$/,
  disks:
    /\/contract\/disks\/(?:choice|wipe)\.ts$|features\/clusters\/create\/(?:wiped|preview)\.ts$/,
  label: /\/contract\/labels\/(?:known|changed)\.ts$|layout\/labels\/edits\.ts$/,
  cc: /features\/marketplace\/cc-(?:actions|queries|rules)\.tsx?$/,
  patch: /features\/patches\/patch-(?:form|list|queries)\.tsx?$/,
  rack: /features\/racks\/rack-(?:fields|queries)\.tsx?$|contract\/racks\/(?:placing|files)\.ts$/,
  operation: /layout\/operations\/(?:OperationLink|operation-queries)\.tsx?$/,
  window: /features\/clusters\/change\/(?:window-actions|set-window)\.ts$/,
  offer: /features\/clusters\/offers\/offer-(?:queries|state)\.tsx?$/,
  power: /features\/power\//,
  shared: /features\/patches\/shared\/shared-(?:form|queries|state)\.tsx?$/,
  people: /features\/people\/(?:people-queries|admin\/role-options)\.tsx?$/,
  periods: /lib\/time\/local-time\.ts$|layout\/lists\/period\.ts$/,
  stores: /features\/stores\/(?:store-form|change-store)\.ts$|layout\/storage\/every-store\.ts$/,
  change:
    /features\/clusters\/change\/change-(?:actions|kinds)\.tsx?$|contract\/clusters\/changes\/documents\.ts$/,
  bmcs: /features\/bmcs\/|\/contract\/bmcs\/credentials|routes\/infra\.servers\.bmcs/,
  silences: /\/contract\/alerts\/(?:rules|silences)\.ts$/,
  'bulk-acts':
    /\/contract\/(?:servers\/bulk-acts|operations\/changing)\.ts$|layout\/operations\/may-change\.ts$/,
}

/**
 * Divides the bundle into pieces (chunks) by folder and by the graph of imports. `first`: the code
 * that runs first. `visitors`: pages of visitors. `app`: the frame for signed-in users and modules
 * that most of their pages share. `lists`: modules that most lists share, but few pages with a
 * form, such as tables. `details`: modules that several pages share, but no list or only one.
 * `forms`: the code of forms. Each section's list is a piece, too. The bundler divides the rest.
 */
export function pieces(): Groups {
  const found = new Map<string, Set<string>>()
  const reaches = (root: string, id: string, graph: Graph): boolean => {
    const modules =
      found.get(root) ??
      reachable([root], (module) => graph.getModuleInfo(module)?.importedIds ?? [])
    found.set(root, modules)
    return modules.has(id)
  }
  const pieceOf = (id: string, graph: Graph): string | null => {
    const by = (root: string) => reaches(root, id, graph)
    if (visitors.some(by)) return 'visitors'
    if (ofForms.test(id)) return 'forms'
    if (id.endsWith('?schemas') || seldom.test(id)) return null
    const isApp = frame.some(by)
    const users = shared.test(id) ? pages.filter(by) : []
    const [inLists, inOthers] = [lists.filter(by).length, others.filter(by).length]
    // Style sheets are small, so all shared ones go into one file.
    if (isApp || (users.length >= mostPages && id.endsWith('.css'))) return 'app'
    if (users.length >= mostPages) {
      const withForm = others.filter((page) => reaches(page, useForm, graph))
      const isOfForms = forms.some(by) || withForm.filter(by).length * 2 > withForm.length
      if (inLists === 0 || (inLists === 1 && isOfForms)) return 'details'
      return inLists * 2 > lists.length && !isOfForms ? 'lists' : 'app'
    }
    if (forms.some(by)) return 'forms'
    if (/\/contract\/network\//.test(id)) return null
    const list = lists.find(by)
    if (list === undefined)
      return Object.keys(together).find((name) => together[name]!.test(id)) ?? null
    // The style sheets of the lists are small, so they all go into `app`, too.
    if (id.endsWith('.css') || (shared.test(id) && inOthers > 0)) return 'app'
    return inLists > 1 ? 'lists' : path.basename(list, '.tsx').replace('infra.', '')
  }
  return [
    { name: 'first', tags: ['$initial'], priority: 1 },
    { name: pieceOf, includeDependenciesRecursively: false },
  ]
}

/** All modules that `roots` import statically, themselves included. */
function reachable(
  roots: readonly string[],
  importsOf: (id: string) => readonly string[],
): Set<string> {
  const found = new Set(roots)
  for (const id of found) for (const next of importsOf(id)) found.add(next)
  return found
}

/**
 * Pieces that import each other in a circle. Found by repeatedly removing pieces that import no
 * other piece, or that no other piece imports.
 */
export function circleIn(importsOf: ReadonlyMap<string, readonly string[]>): readonly string[] {
  let left: readonly string[] = [...importsOf.keys()]
  for (;;) {
    const imported = new Set(left.flatMap((name) => importsOf.get(name) ?? []))
    const next = left.filter(
      (name) => imported.has(name) && importsOf.get(name)?.some((to) => left.includes(to)),
    )
    if (next.length === left.length) return next
    left = next
  }
}

/**
 * Fails the build if pieces import each other in a circle: one of them would run before the
 * functions that it calls exist ("g is not a function").
 */
export const noCircles = (): Plugin => ({
  name: 'steelyard:no-circles',
  generateBundle(_, bundle) {
    const circle = circleIn(
      new Map(
        Object.values(bundle).map((piece) => [
          piece.fileName,
          piece.type === 'chunk' ? piece.imports : [],
        ]),
      ),
    )
    if (circle.length > 0)
      this.error(`These pieces of the bundle import each other in a circle: ${circle.join(', ')}`)
  },
})
