import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test, vi } from 'vitest'
import { installationGet } from '#contract/users.ts'

const dayMs = 86_400_000

test("every response of the API tells the server's time", async () => {
  const server = createServer((_request, response) =>
    response
      .writeHead(200, {
        'content-type': 'application/json',
        date: new Date(Date.now() - dayMs).toUTCString(),
      })
      .end('{}'),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  vi.stubEnv('VITE_API_URL', `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const { send } = await import('./http.ts')
  const { serverNow } = await import('../lib/time/server-time.ts')
  await send(installationGet, {}, {})
  server.closeAllConnections()
  server.close()
  expect(Math.abs(serverNow() + dayMs - Date.now())).toBeLessThan(60_000)
})
