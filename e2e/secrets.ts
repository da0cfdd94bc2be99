/**
 * Remembers every secret that a browser sends or gets in a test, and searches the database, the log
 * and the metrics of the installation for them at its end. The database includes the audit log, the
 * events and the stored responses of repeated requests.
 */
import type { BrowserContext } from 'playwright-core'
import { databaseText } from '../tools/database-text.ts'

/** Shorter texts could be found by chance. */
const shortest = 16
const secrets = new Map<string, string>()

/** `name`: the kind of secret, such as `accessToken`. */
export function plant(name: string, value: string): void {
  if (value.length >= shortest) secrets.set(value, name)
}

/** Names of JSON fields whose texts are secrets. */
const fields = new Set([
  'password',
  'new_password',
  'code',
  'accessToken',
  'refreshToken',
  'access_token',
  'refresh_token',
  'token',
  'secret',
  'recovery_codes',
])
function plantFields(value: unknown, name = ''): void {
  if (typeof value === 'string') {
    if (fields.has(name)) plant(name, value)
    // The token of a link is after the #.
    else if (name === 'url' && value.includes('#'))
      plant('token of a link', value.slice(value.indexOf('#') + 1))
  } else if (Array.isArray(value)) for (const item of value) plantFields(item, name)
  else if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value)) plantFields(item, key)
}

function plantText(text: string | null): void {
  if (text === null) return
  // The private keys of a kubeconfig and a talosconfig: any line of the PEM counts.
  for (const [, key] of text.matchAll(/(?:client-key-data|\bkey): (\S{100,})/g))
    for (const line of Buffer.from(key!, 'base64').toString('latin1').split('\n'))
      if (/^[A-Za-z0-9+/=]{24,}$/.test(line)) plant('private key', line)
  try {
    plantFields(JSON.parse(text))
  } catch {
    // Not JSON.
  }
}

/** Plants the secrets in the API's requests and responses of a browser. */
export function watchSecrets(context: BrowserContext): void {
  context.on('request', (request) => {
    if (new URL(request.url()).pathname.startsWith('/v1/')) plantText(request.postData())
  })
  context.on('response', (response) => {
    const { pathname } = new URL(response.url())
    // Other reads return no secret, and take long to search.
    const isRead =
      response.request().method() === 'GET' && !/\/(?:kube|talos)config$/.test(pathname)
    if (!pathname.startsWith('/v1/') || isRead || !response.ok()) return
    response.text().then(plantText, () => undefined)
  })
}

/** @throws Error with the kinds of the secrets that were found, and the places */
export async function demandNoSecret({
  data,
  url,
  log,
}: {
  data: string
  url: string
  log: string
}): Promise<void> {
  if (secrets.size === 0) return
  const metrics = await (await fetch(`${url}/metrics`)).text()
  const places = Object.entries({ ...(await databaseText(data)), log, metrics })
  if (!places.some(([, text]) => text.includes('session.started')))
    throw new Error('The database was not read: it has no sign-in')
  const found = places.flatMap(([place, text]) =>
    [...secrets].flatMap(([secret, name]) =>
      text.includes(secret) ? [`${name} in ${place}`] : [],
    ),
  )
  const kinds = new Set(secrets.values())
  process.stderr.write(
    `secrets: ${secrets.size} of ${kinds.size} kinds (${[...kinds].join(', ')}) searched in ${places.length} places\n`,
  )
  if (found.length > 0) throw new Error(`Secrets were found: ${[...new Set(found)].join('; ')}`)
}
