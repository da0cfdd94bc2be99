/**
 * The nonce of this index.html, for libraries that insert a style element. Undefined in
 * development.
 */
export const nonce: string | undefined =
  document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce || undefined
