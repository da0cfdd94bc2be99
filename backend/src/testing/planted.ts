import { expect } from 'vitest'

/** Name → secret. */
export const secrets = new Map<string, string>()
export const plant = (name: string, value: string): string => {
  expect(
    value.length,
    `${name} is long enough to be found by chance nowhere`,
  ).toBeGreaterThanOrEqual(16)
  secrets.set(name, value)
  return value
}

/** The lines of a PEM private key. Finding any one of them counts as a leak. */
export const plantPem = (name: string, pem: string): void => {
  for (const [i, line] of pem.split('\n').entries())
    if (/^[A-Za-z0-9+/=]{24,}$/.test(line)) plant(`${name}, line ${i + 1}`, line)
}

/** Every secret text of the secrets bundle: all texts but certificates and the cluster's id. */
export function plantBundle(node: unknown, at: string): void {
  if (typeof node === 'object' && node !== null)
    for (const [key, value] of Object.entries(node)) plantBundle(value, `${at}.${key}`)
  else if (typeof node === 'string' && !/\.(crt|id)$/.test(at)) {
    plant(at, node)
    const text = Buffer.from(node, 'base64').toString('latin1')
    if (text.includes('PRIVATE KEY')) plantPem(at, text)
  }
}

/**
 * The encodings of a secret: unchanged, hexadecimal, and base64 at each of the three offsets in a
 * longer text.
 */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const base64 = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6))
  })
  return [secret, encodeURIComponent(secret), bytes.toString('hex'), ...base64]
}

export const found = (places: Readonly<Record<string, string>>): string[] => {
  const everything = Object.values(places).join('\n')
  return [...secrets].flatMap(([name, secret]) =>
    formsOf(secret)
      .filter((form) => everything.includes(form))
      .flatMap((form) =>
        Object.entries(places).flatMap(([place, text]) =>
          text.includes(form) ? [`${name} in ${place}`] : [],
        ),
      ),
  )
}
