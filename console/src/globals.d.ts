/// <reference types="vite/client" />

/** Version of the package, put in by the build. */
declare const __VERSION__: string

interface ImportMetaEnv {
  /** `1` or `true`: the menu has the marketplace. Never undefined in a build. */
  readonly VITE_MENU_MARKETPLACE?: string
}
