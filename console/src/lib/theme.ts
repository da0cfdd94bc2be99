import { createStore } from './store.ts'

export type Theme = 'dark' | 'light'

const root = document.documentElement
/** The theme on the screen: set before the first paint by public/theme.js from the cookie or the system. */
export const theme = createStore<Theme>(root.dataset['theme'] === 'light' ? 'light' : 'dark')

/** Changes the theme at once and keeps it in the cookie that is read before the first paint. */
export function setTheme(next: Theme): void {
  root.dataset['theme'] = next
  document.cookie = `theme=${next}; path=/; max-age=31536000; samesite=strict${location.protocol === 'https:' ? '; secure' : ''}`
  theme.set(next)
}

/** Whether somebody chose a theme in this browser. */
export const hasThemeHere = (): boolean => /(?:^|; )theme=/.test(document.cookie)
