import { defineConfig } from 'vitest/config'

// Each room is a project of its own, so that `npx vitest run --project talos` runs one room and the report says what each took.
const room = (name: string, more: object = {}) => ({
  test: {
    name,
    include: [`${name}/**/*.test.ts`],
    exclude: ['**/node_modules/**', '**/dist/**'],
    testTimeout: 20_000,
    hookTimeout: 60_000,
    // What is waited for comes when it comes: the library's one second is a limit on the machine, not on the program.
    expect: { poll: { timeout: 10_000 } },
    ...more,
  },
})

export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      room('contract'),
      room('talos'),
      room('simulator'),
      room('backend', { globalSetup: ['backend/src/testing/postgres.ts'] }),
      room('cli'),
      room('tools'),
      // Real processes, killed: one at a time.
      { test: { name: 'faults', include: ['e2e/faults/**/*.test.ts'], fileParallelism: false, testTimeout: 300_000, hookTimeout: 120_000 } },
      // The whole product in a real browser and from the command line.
      {
        test: {
          name: 'e2e',
          include: ['e2e/*.e2e.ts', 'e2e/*.test.ts'],
          fileParallelism: false,
          maxConcurrency: 2,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 10_000 } },
        },
      },
      { ...room('console'), test: { ...room('console').test, include: ['console/src/**/*.test.ts', 'console/src/**/*.test.tsx'] } },
    ],
  },
})
