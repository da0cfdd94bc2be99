/** Commands about labels and notes of servers and clusters. */
import { clusterGet, clusterList } from '#contract/clusters/clusters.ts'
import { clusterUpdate } from '#contract/clusters/update.ts'
import { labelsText } from '#contract/labels/changed.ts'
import { clusterLabels, serverLabels } from '#contract/labels/known.ts'
import type { LabelChange } from '#contract/labels/labels.ts'
import { labelFilter } from '#contract/labels/filter.ts'
import type { Labels } from '#contract/labels/selector.ts'
import { quarantineText } from '#contract/servers/quarantine.ts'
import { serverGet, serverRows, serverUpdate } from '#contract/servers/servers.ts'
import { counted } from '#contract/words.ts'
import type { Api } from '../../api/client.ts'
import { command, type Command, type Noun, objectCommand } from '../../command.ts'
import { CliError, exitCodes } from '../../exit.ts'
import * as noun from '../../nouns.ts'
import { table } from '../../table.ts'
import { manyLines, oneLine } from '../../text.ts'

interface Labelled {
  readonly id: string
  readonly name: string
  readonly labels?: Labels | undefined
}
interface Kind {
  readonly of: Noun
  readonly word: 'server' | 'cluster'
  readonly get: (api: Api, id: string) => Promise<Labelled>
  readonly page: (
    api: Api,
    label: string,
    page: number,
  ) => Promise<{ readonly items: readonly Labelled[]; readonly total: number }>
  readonly known: typeof serverLabels
  readonly change: (api: Api, id: string, labels: LabelChange) => Promise<Labelled>
}

const kinds: readonly Kind[] = [
  {
    of: noun.server,
    word: 'server',
    get: (api, id) => api.call(serverGet, { params: { id } }),
    page: (api, label, page) =>
      api.call(serverRows, { query: { fields: 'list', label, page, per_page: 1000 } }),
    known: serverLabels,
    change: (api, id, labels) => api.call(serverUpdate, { params: { id }, body: { labels } }),
  },
  {
    of: noun.cluster,
    word: 'cluster',
    get: (api, id) => api.call(clusterGet, { params: { id } }),
    page: (api, label, page) => api.call(clusterList, { query: { label, page, per_page: 1000 } }),
    known: clusterLabels,
    change: (api, id, labels) => api.call(clusterUpdate, { params: { id }, body: { labels } }),
  },
]

/** The objects that the selector chooses, of all pages. */
async function chosen({ page }: Kind, api: Api, selector: string): Promise<Labelled[]> {
  const all: Labelled[] = []
  for (let n = 1; ; n++) {
    const { items, total } = await page(api, selector, n)
    all.push(...items)
    if (all.length >= total || items.length === 0) return all
  }
}

/** A name ends in no hyphen and has no `=`, so what is a label and what a name is never in doubt. */
const isChange = (text: string): boolean => text.includes('=') || text.endsWith('-')

function changeOf(texts: readonly string[]): LabelChange {
  const entries = texts.map((text): [string, string | null] => {
    const at = text.indexOf('=')
    return at < 0 ? [text.slice(0, -1), null] : [text.slice(0, at), text.slice(at + 1)]
  })
  const keys = entries.map(([key]) => key)
  const twice = keys.find((key, i) => keys.indexOf(key) !== i)
  if (twice !== undefined)
    throw new CliError('usage', `The label ${oneLine(twice)} is given more than once`)
  return Object.fromEntries(entries)
}

const labelCommand = (kind: Kind): Command => {
  const { of, word } = kind
  return command({
    name: `${word} label`,
    summary: `Set or remove labels of ${word}s, or show them. Nothing is sent to a server.`,
    operands: {
      given: {
        value: `${of.value}|LABEL`,
        help: `Names of ${word}s; KEY=VALUE sets a label, KEY- removes it`,
        many: true,
        optional: true,
      },
    },
    options: {
      label: {
        kind: 'text',
        value: labelFilter.placeholder,
        short: labelFilter.short,
        help: `The ${word}s with these labels, such as rack=3,gen!=r640`,
      },
    },
    examples: [
      `${word} label ${of.example} rack=3 gen-`,
      `${word} label -l 'rack=3,gen!=r640' checked=2026-11`,
      `${word} label ${of.example}`,
    ],
    async run({ api, terminal, show }, { operands, options }) {
      const changes = operands.given.filter(isChange)
      const names = operands.given.filter((text) => !isChange(text))
      if ((names.length === 0) === (options.label === undefined))
        throw new CliError('usage', `Give either names of ${word}s or --label`)
      const labels = changeOf(changes)
      const found =
        options.label === undefined
          ? await Promise.all(names.map((name) => of.find(api, name)))
          : await chosen(kind, api, options.label)
      if (found.length === 0)
        throw new CliError('not_found', `No ${word} has these labels: ${oneLine(options.label!)}`)
      const done: Labelled[] = []
      let failed = 0
      for (const { id, name } of found)
        try {
          done.push(
            changes.length === 0 ? await kind.get(api, id) : await kind.change(api, id, labels),
          )
        } catch (error) {
          // What holds for one holds for all, unless only this object refuses.
          if (found.length === 1 || !(error instanceof CliError) || error.exit !== 'conflict')
            throw error
          failed++
          terminal.err(`${oneLine(name)}: ${oneLine(error.message)}\n`)
        }
      show(
        done.map(({ id, name, labels: now = {} }) => ({ id, name, labels: now })),
        (all) =>
          all
            .map(
              (one) => `${oneLine(one.name)}: ${oneLine(labelsText(one.labels) || 'no labels')}\n`,
            )
            .join(''),
      )
      if (failed === 0) return undefined
      terminal.err(`${counted(failed, word)} of ${found.length} not changed\n`)
      return exitCodes.conflict
    },
  })
}

const knownCommand = ({ of, word, known }: Kind): Command =>
  command({
    name: `${word} labels`,
    summary: `Labels that ${word}s have, the most used first, with the number of ${word}s.`,
    examples: [`${word} labels`],
    async run({ api, show, terminal }) {
      show(await api.call(known, {}), ({ items, more }) =>
        table(
          terminal,
          items,
          [
            { title: 'LABEL', text: ({ key, value }) => oneLine(labelsText({ [key]: value })) },
            { title: `${of.value}S`, text: ({ count }) => String(count) },
          ],
          `No ${word} has labels`,
        ).concat(more ? 'Labels that are used less are not shown\n' : ''),
      )
    },
  })

const noteParts = {
  operands: {
    text: { value: 'TEXT', help: 'The notes, at most 4 KiB', optional: true },
  },
  options: { remove: { kind: 'flag', help: 'Remove the notes' } },
} as const

async function notesOf(
  _context: unknown,
  given: {
    readonly operands: { readonly text: string | undefined }
    readonly options: { readonly remove: boolean }
  },
): Promise<{ body: { notes: string } }> {
  const { text = '' } = given.operands
  if ((text === '') !== given.options.remove)
    throw new CliError('usage', 'Give either the notes or --remove')
  return { body: { notes: text } }
}

const notesText = ({ notes = '' }: { readonly notes?: string | undefined }): string =>
  notes === '' ? 'The notes were removed\n' : `The notes are now:\n${manyLines(notes)}\n`

export const labelCommands: Command[] = [
  objectCommand({
    name: 'server quarantine',
    of: noun.server,
    operation: serverUpdate,
    summary:
      'Say that a server is not to be used, and why: no cluster gets it, but it is still contacted.',
    operands: { reason: { value: 'REASON', help: 'Why, at most 200 characters', optional: true } },
    options: { lift: { kind: 'flag', help: 'The server may be used again' } },
    examples: [
      'server quarantine brave-otter-042 bad-disk',
      'server quarantine brave-otter-042 --lift',
    ],
    async ask(_context, { operands: { reason = '' }, options: { lift } }) {
      if ((reason === '') !== lift) throw new CliError('usage', 'Give either the reason or --lift')
      return { body: { quarantine: lift ? null : { reason } } }
    },
    say: ({ name, quarantine }) =>
      quarantine
        ? `${oneLine(name)}: ${oneLine(quarantineText(quarantine))}\n`
        : `${oneLine(name)} may be used again\n`,
  }),
  ...kinds.flatMap((kind) => [labelCommand(kind), knownCommand(kind)]),
  objectCommand({
    name: 'server note',
    of: noun.server,
    operation: serverUpdate,
    summary: 'Replace or remove the notes of a server.',
    ...noteParts,
    examples: ['server note brave-otter-042 noisy'],
    ask: notesOf,
    say: notesText,
  }),
  objectCommand({
    name: 'cluster note',
    of: noun.cluster,
    operation: clusterUpdate,
    summary: 'Replace or remove the notes of a cluster.',
    ...noteParts,
    examples: ['cluster note web shop'],
    ask: notesOf,
    say: notesText,
  }),
]
