/** The first calls of pages, by path. `early.js` sends them before the page's scripts have loaded. `early.test.ts` compares them with what the pages ask. */
export const earlyCalls: Readonly<Record<string, readonly string[]>> = {
  '/': ['/v1/overview'],
  '/infra/servers': ['/v1/nodes?page=1&per_page=1000&fields=summary', '/v1/datacenters?per_page=1000&sort=code'],
}

/** Set by `early.js`: responses by address, and the access token with which they were requested. */
const page = globalThis as { steelyardEarly?: { token: string; responses: Record<string, Promise<Response>> } }

/** The response to a call that was sent early with the same token. Each is handed out once. */
export function takeEarly(address: string, token: string | null): Promise<Response> | undefined {
  const { steelyardEarly: early } = page
  if (early === undefined || early.token !== token) return undefined
  const response = early.responses[address]
  delete early.responses[address]
  return response
}

/** Drops the responses that nobody took. Called when something has changed since. */
export const dropEarly = (): void => void delete page.steelyardEarly
