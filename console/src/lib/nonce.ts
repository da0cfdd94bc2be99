/** The nonce of this answer of index.html, for the few libraries that put a style element into the page. Absent while developing. */
export const nonce: string | undefined = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce || undefined
