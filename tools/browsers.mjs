// Finds the browser for tests and measurements. Plain JavaScript, because the machine's own Node.js
// runs `npm test`.
import { existsSync } from 'node:fs'

const whole = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

const find = (paths) => [process.env.CHROME_PATH, ...paths].find((path) => path && existsSync(path))

export const findBrowser = () => find(whole)

export const findTestBrowser = () => find(['/usr/bin/chromium-headless-shell', ...whole])
