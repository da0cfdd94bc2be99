import { globSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { longTests } from './tools/testing/length.ts'

const never = [
  '**/node_modules/**',
  '**/dist/**',
  ...(longTests ? [] : ['**/*.long.{test,e2e}.ts']),
]

// Each room (top-level folder) is a separate project, so `npx vitest run --project talos` runs one
// room, and the report shows the time of each.
const room = (name: string, more: object = {}) => ({
  test: {
    name,
    include: [`${name}/**/*.test.ts`],
    exclude: never,
    // The limits only end a test that hangs: a busy machine is many times slower than a quiet one.
    testTimeout: longTests ? 1_800_000 : 600_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    ...more,
  },
})

/**
 * Node.js itself loads the modules, as in the program. Vite's module runner transforms each module
 * for every project, and makes each use of an import slower. `nodeLoader` would serve only tests
 * that replace modules, which these rooms don't have.
 */
const native = { experimental: { viteModuleRunner: false, nodeLoader: false } }
/** A room whose code runs in Node.js. */
const nodeRoom = (name: string, more: object = {}) => room(name, { ...native, ...more })

/**
 * For rooms whose tests leave nothing behind: a worker loads the modules once, not again for each
 * file.
 */
const shared = { isolate: false }

const onDatabase = {
  globalSetup: ['backend/src/testing/postgres.ts'],
  setupFiles: ['backend/src/testing/statements.ts', 'backend/src/testing/setup.ts'],
}
const ofBackend = globSync('backend/**/*.test.ts', { cwd: import.meta.dirname }).filter(
  (file) => longTests || !file.endsWith('.long.test.ts'),
)
const names = (file: string, what: RegExp) =>
  what.test(readFileSync(new URL(file, import.meta.url), 'utf8'))
const thatName = (what: RegExp) => ofBackend.filter((file) => names(file, what))
/**
 * Files of the backend that have a process of their own: those that start programs, that measure
 * turns of the main thread during a flood, which the garbage of other files would lengthen, or whose
 * thousands of machines take much memory.
 */
const alone = [
  ...new Set([
    // A simulated cluster starts the small program of the documentation, which takes nothing of the
    // other files.
    ...thatName(/spawn/i).filter((file) => !file.endsWith('offers/simulated.test.ts')),
    ...ofBackend.filter((file) =>
      /talos-fleet\/(?:contact|fleet|sweep)\.|load\/attack\.|patches\/hostile\.|testing\/bombs\//.test(
        file,
      ),
    ),
  ]),
]
/**
 * Other files with simulated machines. They share a process, because loading the simulator and the
 * backend costs as much as several of their tests.
 */
const withMachines = thatName(/clusterWorld|loneServer|#simulator\/|fleet/i).filter(
  (file) => !alone.includes(file),
)

/** Tests that replace modules, or use what a module of the console keeps for the whole page. */
const ofOwnModules =
  /vi\.(?:mock|hoisted|stubEnv|reset)|form-world|defineProperty|Storage|history\.|authStatus/
/**
 * Files of the console that test functions, without a browser's document. They share a process,
 * because starting one for each takes longer than their tests. `console/src/testing/end.ts` takes
 * back the globals and timers that they replace.
 */
const functionsOfConsole = globSync('console/src/**/*.test.ts', {
  cwd: import.meta.dirname,
}).filter(
  (file) =>
    !names(file, ofOwnModules) && !names(file, /@vitest-environment|createServer|document\./),
)

/**
 * Files of the console that test components with a simulated document. They share a process,
 * because loading React and the document takes longer than their tests.
 */
const componentsOfConsole = globSync('console/src/**/*.test.{ts,tsx}', {
  cwd: import.meta.dirname,
}).filter((file) => names(file, /@vitest-environment happy-dom/) && !names(file, ofOwnModules))

/** Files that take longest, in this order. */
const long = [
  'screens.e2e',
  'first-path.e2e',
  'faults/life',
  'kill-changes',
  'two-processes',
  'kill-creation.long',
  'many-clusters.long',
  'shared/gate.long',
  'trials/cuts-control-plane.long',
  'trials/cuts-worker.long',
  'shared/forty.long',
  'patches/writers',
  'history/index.long',
  'trials/undone',
  'faults/database',
  'early-signals',
  'snapshots/restore',
  'create/faults',
  'rotate/rotate',
  'configure/configure',
  'member/resetting',
  'kubernetes-upgrade/upgrade',
  'whole/overtaken',
  'leave/leaving',
  'members/leaving',
  'src/main',
  'engine/queue',
  'commands/backup',
  'patches/hostile',
  'load/attack',
  'talos-fleet/contact',
  'pools/simulated',
  'members/growing',
  'members/interplay',
  'restoration/restoration',
  'joining/joining',
  'tools/patterns',
  'simulator/src/configured',
]

/**
 * Starts the longest files first. A long file that started last would run alone at the end and
 * leave a processor idle. Files whose project shares its processes come one after another, because
 * vitest ends a process whose project isn't that of the next file, and to load the modules again
 * takes seconds.
 */
class LongestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const at = long.findIndex((name) => moduleId.includes(`${name}.`))
      return at === -1 ? long.length : at
    }
    const filesOf = Map.groupBy(files, ({ project }) => project.name)
    const placeOfProject = (file: TestSpecification) =>
      file.project.config.isolate
        ? place(file) < long.length
          ? -1
          : long.length
        : Math.min(...filesOf.get(file.project.name)!.map(place))
    return Promise.resolve(
      files.toSorted(
        (a, b) =>
          placeOfProject(a) - placeOfProject(b) ||
          a.project.name.localeCompare(b.project.name) ||
          place(a) - place(b),
      ),
    )
  }
}

export default defineConfig({
  test: {
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    projects: [
      nodeRoom('contract', shared),
      nodeRoom('talos', shared),
      nodeRoom('redfish', shared),
      nodeRoom('conformance', { ...shared, exclude: [...never, 'conformance/redfish/**'] }),
      nodeRoom('simulator', shared),
      nodeRoom('backend', {
        ...onDatabase,
        ...shared,
        exclude: [...never, ...alone, ...withMachines],
      }),
      nodeRoom('backend-machines', { ...onDatabase, ...shared, include: withMachines }),
      nodeRoom('backend-alone', { ...onDatabase, include: alone }),
      nodeRoom('cli', shared),
      // The import rules' resolver fails in a process that other files have used.
      nodeRoom('tools'),
      // Tests that kill real processes. Each file starts its own installation and mostly waits for
      // it.
      {
        test: {
          name: 'faults',
          ...native,
          ...shared,
          include: ['e2e/faults/**/*.test.ts'],
          exclude: never,
          globalSetup: ['tools/built.ts', 'e2e/template.ts'],
          // Only ends a test that hangs. In full one test ends 30 starts at different moments.
          testTimeout: longTests ? 1_800_000 : 300_000,
          hookTimeout: 300_000,
          expect: { poll: { timeout: 120_000 } },
        },
      },
      // Tests of the whole product in a real browser and from the command line. Each file starts
      // its own installation and leaves nothing behind.
      {
        test: {
          name: 'e2e',
          ...native,
          ...shared,
          include: ['e2e/*.e2e.ts', 'e2e/*.test.ts', 'e2e/long/*'],
          exclude: never,
          globalSetup: ['tools/built.ts', 'e2e/template.ts'],
          maxConcurrency: 2,
          // Only ends a test that hangs. In full one test visits every page of the documentation.
          testTimeout: longTests ? 900_000 : 300_000,
          hookTimeout: 300_000,
          expect: { poll: { timeout: 120_000 } },
        },
      },
      // Generators of clients and Schemathesis read the OpenAPI document of a running Steelyard.
      {
        test: {
          name: 'clients',
          ...native,
          include: ['e2e/clients/*.test.ts'],
          exclude: never,
          globalSetup: ['tools/built.ts', 'e2e/template.ts'],
          maxWorkers: 1,
          testTimeout: 600_000,
          hookTimeout: 300_000,
          expect: { poll: { timeout: 120_000 } },
        },
      },
      // Others' programs for Redfish, against simulated BMCs.
      nodeRoom('redfish-by-others', { include: ['conformance/redfish/*.test.ts'] }),
      {
        ...room('console'),
        test: {
          ...room('console').test,
          include: ['console/{src,build}/**/*.test.ts', 'console/src/**/*.test.tsx'],
          exclude: [...never, ...functionsOfConsole, ...componentsOfConsole],
          setupFiles: ['console/src/testing/patience.ts'],
        },
      },
      room('console-components', {
        ...shared,
        include: componentsOfConsole,
        setupFiles: ['console/src/testing/patience.ts', 'console/src/testing/end.ts'],
      }),
      room('console-functions', {
        ...shared,
        include: functionsOfConsole,
        setupFiles: ['console/src/testing/end.ts'],
      }),
    ],
  },
})
