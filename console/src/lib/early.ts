/**
 * The first calls of pages, by path. `early.js` sends them before the page's scripts have loaded.
 * `early.test.ts` checks that the pages make these calls.
 */
export const earlyCalls: Readonly<Record<string, readonly string[]>> = {
  '/': ['/v1/overview'],
  '/infra/servers': [
    '/v1/nodes?page=1&per_page=1000&fields=list',
    '/v1/datacenters?per_page=1000&sort=code',
  ],
}

/** The call that every page of a signed-in user makes: the validation of the session. */
export const callsOfEveryPage: readonly string[] = ['/v1/session']

/** Set by `early.js`: responses by address, and the access token with which they were requested. */
const page = globalThis as {
  steelyardEarly?: { token: string; responses: Record<string, Promise<Response>> }
}

/**
 * The response to a call that `early.js` sent with the same token; undefined if there is none. A
 * second request for the same response returns undefined.
 */
export function takeEarly(address: string, token: string | null): Promise<Response> | undefined {
  const { steelyardEarly: early } = page
  if (early === undefined || early.token !== token) return undefined
  const response = early.responses[address]
  delete early.responses[address]
  return response
}

/** Drops the remaining responses. Called when they may be out of date. */
export const dropEarly = (): void => void delete page.steelyardEarly
