/** Labels as people type and read them. */

/** "key=value" or "key"; null without a key. */
export function readLabel(text: string): [key: string, value: string] | null {
  const [key = '', ...rest] = text.trim().split('=')
  return key.trim() === '' ? null : [key.trim(), rest.join('=').trim()]
}

export const labelText = ([key, value]: readonly [string, string]): string =>
  value === '' ? key : `${key}=${value}`
