import type { Operation } from '#contract/operation.ts'

/**
 * The few calls of the first screen, by name, method and path alone: their declarations bring the schema library with them, which would be a tenth of what a visitor has to fetch.
 * `entry-calls.test.ts` holds them to the contract.
 */
export const entryCalls = {
  authorize: { name: 'authorize', method: 'POST', path: '/v1/authorize' },
  authorizeRefresh: { name: 'authorizeRefresh', method: 'POST', path: '/v1/authorize/refresh' },
  authorizeLogout: { name: 'authorizeLogout', method: 'POST', path: '/v1/authorize/logout' },
  sessionGet: { name: 'sessionGet', method: 'GET', path: '/v1/session' },
  installationGet: { name: 'installationGet', method: 'GET', path: '/v1/installation' },
} as const satisfies Record<string, Pick<Operation, 'name' | 'method' | 'path'>>
