/**
 * What happens when a file of the console is gone. Files have a hash of their content in their
 * name, so a new release of Steelyard removes the files of the page that a browser still shows.
 */

/**
 * Whether an error says that a file of the console could not be loaded, in the words of Chromium,
 * Firefox, Safari, and Vite (for styles). Some browsers then fail every further import of the file,
 * until the page is reloaded.
 */
export const isMissingCode = (error: unknown): boolean =>
  error instanceof Error && /dynamically imported|module script|preload CSS/.test(error.message)

/**
 * Reloads the page if the server answers: without a server, a reload would lose the page. Returns
 * whether it reloads.
 */
export async function reloadFromServer(): Promise<boolean> {
  const answer = await fetch('/', { method: 'HEAD', cache: 'no-store' }).catch(() => null)
  if (answer?.ok !== true) return false
  location.reload()
  return true
}

/** The console's entry script in the text of index.html. It has another name in each release. */
function entryIn(html: string): string | null {
  const tag = html.split('<script').find((one) => one.split('>', 1)[0]!.includes(' type="module"'))
  return / src="([^"]+)"/.exec(tag ?? '')?.[1] ?? null
}

/** Path of the entry script that this page runs. */
const running = (): string | null =>
  document.querySelector('script[type="module"][src]')?.getAttribute('src') ?? null

/** The entry script of the console that the server has now; null if it doesn't answer. */
async function served(): Promise<string | null> {
  try {
    const response = await fetch('/', {
      headers: { accept: 'text/html' },
      credentials: 'omit',
      cache: 'no-store',
    })
    return response.ok ? entryIn(await response.text()) : null
  } catch {
    return null
  }
}

interface Mark {
  /**
   * The entry script for which this page was reloaded. Kept in the history entry, which outlasts
   * the reload.
   */
  reloadedFor?: string
}

/**
 * Follows failed imports (`vite:preloadError`). If the server has another release than the page,
 * reloads the page, but only once for each release. The error is thrown on, so that the part that
 * needs the file can show it. A page with unsaved input asks the user before it reloads.
 * @returns a function that stops following
 */
export function followReleases(reload: () => void = () => location.reload()): () => void {
  let looking = false
  const look = async () => {
    if (looking) return
    looking = true
    const now = await served()
    looking = false
    const state = (history.state ?? {}) as Mark
    if (now === null || now === running() || now === state.reloadedFor) return
    history.replaceState({ ...state, reloadedFor: now } satisfies Mark, '')
    reload()
  }
  const onFailure = () => void look()
  window.addEventListener('vite:preloadError', onFailure)
  return () => window.removeEventListener('vite:preloadError', onFailure)
}
