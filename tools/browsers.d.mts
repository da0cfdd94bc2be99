/** Path of the user's browser, or undefined. `CHROME_PATH` overrides it. */
export function findBrowser(): string | undefined
/**
 * Path of the browser of the tests: Chromium without a window system if it is installed, because it
 * needs less processor time.
 */
export function findTestBrowser(): string | undefined
