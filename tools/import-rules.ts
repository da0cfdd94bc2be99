import type { IFlattenedRuleSet, IRegularForbiddenRuleType } from 'dependency-cruiser'

/**
 * The import rules of docs/architecture.md: which room (top-level folder) may import from which,
 * and the order of layers inside a room. `imports.test.ts` enforces the rules. Paths are those of
 * resolved files, so dynamic imports and types count as well.
 */

/**
 * Rooms that a room's sources may import, and those that its tests may import in addition. The
 * tests of every room may import `tools/testing`.
 */
const doors: Readonly<Record<string, { source: readonly string[]; test: readonly string[] }>> = {
  contract: { source: [], test: [] },
  // The sentences of connections are one table for every program.
  talos: { source: ['contract/connections'], test: [] },
  redfish: { source: ['contract/connections'], test: [] },
  conformance: { source: ['talos', 'simulator'], test: ['backend'] },
  backend: { source: ['contract', 'redfish', 'talos'], test: ['simulator'] },
  console: { source: ['contract'], test: [] },
  cli: { source: ['contract'], test: [] },
  simulator: { source: ['talos/proto', 'talos/pki'], test: ['talos'] },
  e2e: { source: ['contract', 'tools'], test: ['simulator'] },
  tools: {
    source: [
      'contract',
      'redfish',
      'talos',
      'conformance',
      'backend',
      'simulator',
      'cli',
      'console',
      'e2e',
    ],
    test: [],
  },
}
const rooms = Object.keys(doors).join('|')

/**
 * The folders of the console, and the folders that each may import from. `api` needs `ui` for
 * toasts; features need `layout` to fill its stores.
 */
const consoleLayers: Readonly<Record<string, readonly string[]>> = {
  lib: ['lib'],
  ui: ['ui', 'lib'],
  api: ['api', 'ui', 'lib'],
  features: ['features', 'layout', 'ui', 'api', 'lib'],
}

const test = String.raw`\.(test|e2e)\.tsx?$|/testing(/|\.ts$)`
const forbid = (
  name: string,
  comment: string,
  from: IRegularForbiddenRuleType['from'],
  to: IRegularForbiddenRuleType['to'],
): IRegularForbiddenRuleType => ({
  name,
  comment,
  severity: 'error',
  from,
  to,
})
const within = (names: readonly string[]) => `^(${names.join('|')})/`

/**
 * Number of files that may import each other in a circle, types included. One of them cannot be
 * read, tested or moved without the others.
 */
export const mostInCircle = 4

/**
 * Imports between domains that go up: the second is built on the first. All other domains have an
 * order, in which each imports only those before it. At most 4 are allowed; the list only shrinks.
 */
export const upBetweenDomains = [
  // What channels are told are incidents, which are made of findings, and findings name the channels
  // that fail.
  'backend/src/domains/alerts -> backend/src/domains/incidents',
  // Sessions ask for accounts, and accounts are protected with the passwords of sessions.
  'backend/src/domains/sessions -> backend/src/domains/users',
]

export const ruleSet: IFlattenedRuleSet = {
  forbidden: [
    ...Object.entries(doors).flatMap(([room, { source, test: more }]) => [
      forbid(
        `door-${room}`,
        `sources of ${room} may import ${source.join(', ') || 'no other room'}`,
        { path: `^${room}/`, pathNot: test },
        { path: `^(${rooms})/`, pathNot: within([room, ...source]) },
      ),
      forbid(
        `door-${room}-tests`,
        `tests of ${room} may import ${[...source, ...more].join(', ') || 'no other room'}`,
        { path: `^${room}/.*(${test})` },
        { path: `^(${rooms})/`, pathNot: within([room, ...source, ...more, 'tools/testing']) },
      ),
    ]),
    ...Object.entries(consoleLayers).map(([layer, may]) =>
      forbid(
        `layer-${layer}`,
        `${layer} may import ${may.join(', ')}`,
        { path: `^console/src/${layer}/` },
        { path: '^console/src/', pathNot: `^console/src/(${may.join('|')})/` },
      ),
    ),
    forbid(
      'one-feature',
      'a feature may not import another feature',
      { path: '^console/src/features/([^/]+)/' },
      { path: '^console/src/features/', pathNot: '^console/src/features/$1/' },
    ),
    forbid(
      'plain-ui',
      'ui knows no router and no query',
      { path: '^console/src/ui/' },
      { path: '^node_modules/@tanstack/|^console/src/lib/router\\.ts$' },
    ),
    forbid(
      'no-test-in-source',
      'a source may not import a test; every file of e2e serves tests',
      { pathNot: `${test}|^(tools|e2e)/|^vitest\\.config\\.ts` },
      { path: test, pathNot: 'node_modules' },
    ),
    forbid(
      'sql-in-stores',
      'SQL belongs in store*.ts, next to the types of the tables; the throttle is a store of its own',
      { path: '^backend/src/domains/', pathNot: `${test}|/(store|tables|throttle)[^/]*\\.ts$` },
      { path: '^node_modules/kysely/', dependencyTypesNot: ['type-only'] },
    ),
    forbid(
      'own-face',
      'a domain is imported by its api.ts only, types included (domains/README.md)',
      { path: '^backend/src/domains/([^/]+)/', pathNot: test },
      {
        path: '^backend/src/domains/[^/]+/',
        pathNot: String.raw`^backend/src/domains/($1/|[^/]+/api\.ts$)`,
      },
    ),
    forbid(
      'own-face-below',
      'the folders on which domains are built import nothing of a domain but its api.ts',
      {
        path: '^backend/src/(backup|db|endpoints|engine|http|kubernetes|talos-fleet|vault)/',
        pathNot: test,
      },
      {
        path: '^backend/src/domains/',
        pathNot: String.raw`^backend/src/domains/[^/]+/api\.ts$`,
      },
    ),
    forbid(
      'one-sender',
      'only configurations gives a machine a configuration',
      { path: '^backend/src/', pathNot: `${test}|^backend/src/domains/configurations/` },
      { path: '^backend/src/talos-fleet/apply\\.ts$' },
    ),
    forbid(
      'configurations-know-no-cluster',
      'clusters and patches are what configurations gets, by the interfaces of its api.ts',
      { path: '^backend/src/domains/configurations/', pathNot: test },
      { path: '^backend/src/domains/(clusters|changes|control-planes|patches)/' },
    ),
    forbid(
      'patches-know-no-cluster',
      'a patch body goes from patches to configurations, and never into clusters',
      { path: '^backend/src/domains/patches/', pathNot: test },
      { path: '^backend/src/domains/(clusters|changes)/' },
    ),
    forbid(
      'facts-by-name',
      'a value of a configuration is read and set by the name of its fact (talos/facts): only talos knows where a Talos version has it',
      { pathNot: '^(talos|simulator)/' },
      {
        path: '^talos/(config/(tree|whole|decode|encode|emit|deletions)|facts/(home|forms|table|encryption|install|network|secrets))\\.ts$',
      },
    ),
    forbid('resolved', 'what is imported is there', {}, { couldNotResolve: true }),
  ],
}
