const setting = import.meta.env['VITE_API_URL'] ?? ''

/**
 * `VITE_API_URL`: the API's origin, without a slash at the end. '' if it is the page's own origin,
 * which is the default.
 */
export const apiBase: string = setting === '' ? '' : new URL(setting).origin

/**
 * Whether the API has another origin than the page. The server of the page then knows nothing about
 * the API's data.
 */
export const isApiElsewhere = apiBase !== ''

/** The API's origin, for commands that users copy. */
export const apiOrigin = (): string => (isApiElsewhere ? apiBase : location.origin)
