import { CliError } from '../exit.ts'
import { oneLine } from '../text.ts'

/** Where `npm start` listens. */
export const defaultUrl = 'http://127.0.0.1:8080'

/** Normalizes an address, without a trailing slash, because sessions are stored by it. Throws CliError `usage`. */
export function readUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || !['http:', 'https:'].includes(url.protocol)) throw new CliError('usage', `${oneLine(text)} is no address such as https://steelyard.example.com`)
  if (url.username || url.password || url.search || url.hash) throw new CliError('usage', 'The address has no user, password, query or fragment')
  return url.origin + url.pathname.replace(/(?<!\/)\/+$/, '')
}

const isLoopback = (host: string) => host === 'localhost' || host === '[::1]' || /^127(?:\.\d+){3}$/.test(host)

/** Refuses to send passwords and tokens over a network without TLS. */
export function checkSafe(url: string, env: Readonly<Record<string, string | undefined>>): void {
  const { protocol, hostname } = new URL(url)
  if (protocol === 'https:' || isLoopback(hostname) || env['STEELYARD_INSECURE'] === '1') return
  throw new CliError('usage', `${url} is not encrypted: what is sent there can be read on the way`, {
    hint: 'Use https://, or set STEELYARD_INSECURE=1 on a network that you trust',
  })
}
