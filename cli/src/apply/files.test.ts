import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readDocuments } from './files.ts'

const folder = await mkdtemp(join(tmpdir(), 'apply-files-'))
afterAll(() => rm(folder, { recursive: true }))

const problems = async (text: string): Promise<string[]> => {
  const path = join(folder, 'some.yaml')
  await writeFile(path, text)
  return (await readDocuments([path])).problems.map(({ line, message }) => `${line}: ${message}`)
}
const cluster = (fields: string) =>
  `kind: cluster\nname: web\ndatacenter: PL-POZ-1\n${fields}\nservers: [{server: a, role: worker}]\n`

test.each([
  [
    'a version that YAML reads as a number',
    cluster('kubernetes_version: 1.30'),
    '4: kubernetes_version: Write it in quotes: it is text',
  ],
  [
    'a word that is true in YAML 1.1 only',
    cluster('virtual_ip: yes'),
    '4: virtual_ip: Write true or false, without quotes',
  ],
  [
    'a single value in place of a list',
    'kind: subnet\nname: s\ndatacenter: PL-POZ-1\ncidr: 10.0.0.0/24\nexclude: 10.0.0.1\n',
    '5: exclude: Write a list: its entries below, each with a hyphen before it',
  ],
  [
    'a list without entries',
    'kind: cluster\nname: web\ndatacenter: PL-POZ-1\nservers:\n',
    '4: servers: The list is empty: write its entries below, each with a hyphen before it',
  ],
  [
    'a patch that is no text',
    'kind: patch\nserver: web-1\nname: p\nbody:\n  machine: {}\n',
    '4: body: Write it as text: a | behind the colon, and the text below, indented',
  ],
  [
    'a number in quotes',
    cluster('maintenance_window: {days: [monday], from: "02:30", minutes: "120", time_zone: UTC}'),
    '4: maintenance_window.minutes: Write a number, without quotes',
  ],
  [
    'a sentence of the schema itself',
    'kind: server\nserial: 0123\n',
    '2: serial: Write it in quotes: it is text',
  ],
])('%s is said with what to write', async (_what, text, said) => {
  expect(await problems(text)).toContain(said)
})

test('special spaces and marks of copied text are said once, with their place', async () => {
  const space = (column: number) =>
    `There is a special space (U+00A0) in column ${column}, which often comes with text that is copied from a web page: type it anew`
  expect(await problems('kind:\u00a0server\nserial: "A"\n')).toEqual([`1: ${space(6)}`])
  expect(
    await problems(
      'kind: server\nserial: "A"\n---\nkind: server\nserial: "B"\nlabels:\n\u00a0\u00a0rack: "3"\n',
    ),
  ).toEqual([`7: ${space(1)}`])
  expect(await problems('```yaml\nkind: server\nserial: "A"\n```\n')).toEqual([
    '1: ``` is a mark of Markdown and not of YAML: remove the line, and the one at the end',
  ])
  // What is wrong beside them is said too.
  expect(await problems('kind:\u00a0server\n')).toEqual([
    `1: ${space(6)}`,
    '1: uuid: Give the system UUID or the serial number of the server',
  ])
  expect(await problems('kind: patch\nserver: a\nnaem: p\nbody: |\n  -\u00a0b\n')).toEqual([
    `5: ${space(4)}`,
    '1: name is missing',
    '3: There is no field naem. Did you mean name?',
  ])
  // Text may have them.
  expect(await problems('kind: server\nserial: "A\u00a0B"\n# a\u00a0b\n')).toEqual([])
})
