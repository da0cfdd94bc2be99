/** The table of settings in the documentation is the one of the program. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { type SettingRow, settings } from '../../backend/src/settings.ts'

const page = fileURLToPath(new URL('../../docs/running/settings.md', import.meta.url))

const rowOf = ([name, { fallback, shown, about }]: readonly [string, SettingRow]): string =>
  `| \`${name}\` | ${shown ?? (fallback === undefined ? '' : `\`${fallback}\``)} | ${about} |`

test('docs/running/settings.md has the generated table of all settings (npm run generate:settings updates it)', async () => {
  const table = [
    '| Setting | Default |  |',
    '| --- | --- | --- |',
    ...Object.entries(settings).map(rowOf),
  ]
  const text = readFileSync(page, 'utf8')
  const found = /^\| Setting \|.*\n(?:\|.*\n)*/m.exec(text)
  expect(found).not.toBeNull()
  await expect(text.replace(found![0], () => `${table.join('\n')}\n`)).toMatchFileSnapshot(page)
})
