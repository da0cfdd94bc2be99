/** Parsing of credential files from other programs. */
import { parse } from 'yaml'

type Fields = Readonly<Record<string, unknown>>

/** Returns a mapping, or throws an Error that says what is expected. */
export function yaml(text: string, what: string): Fields {
  let root: unknown
  try {
    root = parse(text, { schema: 'failsafe', maxAliasCount: 0 })
  } catch {
    throw new Error(`The ${what} is no YAML`)
  }
  if (typeof root !== 'object' || root === null || Array.isArray(root)) throw new Error(`This is no ${what}`)
  return root as Fields
}

export function mapAt(fields: Fields | undefined, key: string): Fields | undefined {
  const value = fields?.[key]
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined
}

export const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** PEM in base64. @throws Error with the sentence */
export function decodedPem(value: string | undefined, missing: string): string {
  const pem = Buffer.from(value ?? '', 'base64').toString('utf8')
  if (!pem.startsWith('-----BEGIN ')) throw new Error(missing)
  return pem
}
