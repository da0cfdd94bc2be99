import { defineConfig } from 'vitest/config'

// Each room is a project of its own, so that `npx vitest run --project talos` runs one room and the report says what each took.
const room = (name: string, more: object = {}) => ({ test: { name, include: [`${name}/**/*.test.ts`], exclude: ['**/node_modules/**', '**/dist/**'], testTimeout: 20_000, hookTimeout: 60_000, ...more } })

export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      room('contract'),
      room('talos'),
      room('simulator'),
      room('backend'),
      room('cli'),
      room('tools'),
      { ...room('console'), test: { ...room('console').test, include: ['console/src/**/*.test.ts', 'console/src/**/*.test.tsx'] } },
    ],
  },
})
