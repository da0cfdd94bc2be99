import { createStore } from './store.ts'

export type Theme = 'dark' | 'light'

const root = document.documentElement
/** The current theme. early.js sets it before the first paint from the cookie or the system. */
export const theme = createStore<Theme>(root.dataset['theme'] === 'light' ? 'light' : 'dark')

/** Changes the theme and stores it in the cookie that early.js reads. */
export function setTheme(next: Theme): void {
  root.dataset['theme'] = next
  document.cookie = `theme=${next}; path=/; max-age=31536000; samesite=strict${location.protocol === 'https:' ? '; secure' : ''}`
  theme.set(next)
}

/** Follows the theme of the system, and forgets the theme that was chosen in this browser. */
export function followSystem(): void {
  const next = matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark'
  root.dataset['theme'] = next
  document.cookie = 'theme=; path=/; max-age=0; samesite=strict'
  theme.set(next)
}

/** Whether a theme was chosen in this browser. */
export const hasThemeHere = (): boolean => /(?:^|; )theme=/.test(document.cookie)
