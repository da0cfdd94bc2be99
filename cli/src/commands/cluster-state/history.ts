import {
  beginningSaid,
  history,
  type HistoryEntry,
  historyGet,
  historyKept,
  historyList,
} from '#contract/history/history.ts'
import { kindTitles } from '#contract/operations.ts'
import { count } from '#contract/words.ts'
import {
  type AnyGiven,
  command,
  type Command,
  type Context,
  given,
  narrowingOf,
  narrowingOptions,
  type Options,
} from '../../command.ts'
import * as noun from '../../nouns.ts'
import { facts, table } from '../../table.ts'
import type { Terminal } from '../../terminal.ts'
import { localTime, oneLine } from '../../text.ts'

const hourMs = 3_600_000
const defaultLimit = 50

const options: Options = {
  ...narrowingOptions(history),
  hours: { kind: 'number', value: 'N', help: 'Only entries of the last hours' },
  search: {
    kind: 'text',
    value: 'WORDS',
    help: 'Only entries with words that begin like these',
  },
  limit: { kind: 'number', value: 'N', help: `Entries, at most 1000 (default: ${defaultLimit})` },
  after: { kind: 'text', value: 'NEXT', help: 'Continues where an earlier answer ended' },
}
const withoutObject = (leaveOut: readonly string[]): Options =>
  Object.fromEntries(Object.entries(options).filter(([key]) => !leaveOut.includes(key)))

/** Who made the change: "Steelyard, for ada@example.com". */
const who = ({ by, operation }: HistoryEntry): string => {
  const asked = operation?.by ?? null
  const name = by.kind === 'token' ? `${by.name} (API token)` : by.name
  return asked === null || asked === by.name ? name : `${name}, for ${asked}`
}

const tableOf = (terminal: Terminal, items: readonly HistoryEntry[], none: string): string =>
  table(
    terminal,
    items,
    [
      { title: 'TIME', text: (e) => localTime(e.at) },
      { title: 'OF', text: (e) => e.object.name },
      {
        title: 'WHAT',
        text: (e) =>
          `${e.simulated ? 'simulated: ' : ''}${e.message}${e.has_log ? ` (log: history show ${e.id})` : ''}`,
      },
      { title: 'WHO', text: who },
    ],
    none,
  )

async function show(
  { api, show: print, terminal }: Context,
  { options: o }: AnyGiven,
  of: { readonly object?: string; readonly cluster?: string },
): Promise<void> {
  const { hours, search, limit, after } = o as Readonly<Record<string, string | number>>
  const since =
    typeof hours === 'number' ? new Date(terminal.now() - hours * hourMs).toISOString() : undefined
  print(
    await api.call(historyList, {
      query: given({
        ...(since !== undefined && { since }),
        ...narrowingOf(history, o),
        ...of,
        q: search as string | undefined,
        after: after as string | undefined,
        per_page: (limit as number | undefined) ?? defaultLimit,
      }),
    }),
    ({ items, next, read_to, beginning }) =>
      `${tableOf(terminal, items, read_to === null ? 'No entries match' : 'No entry that was read matches')}\n${
        next === null
          ? `History begins ${localTime(beginning.at)}. ${oneLine(beginningSaid(beginning, (of.object ?? of.cluster) ? 'object' : 'all'))}`
          : read_to === null
            ? `Older entries: --after ${next}`
            : `Read back to ${localTime(read_to)}. Older entries may match: --after ${next}`
      }\n`,
  )
}

const entryText = (terminal: Terminal, e: HistoryEntry & { log: string[] | null }): string =>
  `${facts(terminal, [
    ['Time', localTime(e.at)],
    ['Of', `${e.object.kind} ${e.object.name}`],
    ['Cluster', e.cluster?.name ?? null],
    ['What', e.message],
    ['Simulated', e.simulated ? 'yes, it did not happen' : null],
    ['Who', who(e)],
    [
      'Operation',
      e.operation === null
        ? null
        : `${e.operation.kind === null ? '' : `${kindTitles[e.operation.kind]}, `}${e.operation.id}`,
    ],
  ])}${e.log === null ? '' : `\n${e.log.map(oneLine).join('\n')}\n`}`

export const historyCommands: Command[] = [
  command({
    name: 'history',
    summary: 'What happened to servers, clusters and datacenters, newest first.',
    options,
    examples: [
      'history --hours 12',
      'history --kind server_contact --since 2026-11-01T00:00:00Z',
      'history --by ada@example.com --search patch',
    ],
    run: (context, read) => show(context, read, {}),
  }),
  command({
    name: 'history show',
    summary: 'One entry of the history, with the lines of a log that were kept with it.',
    operands: { entry: { value: 'NUMBER', help: 'Number of the entry, from the JSON of history' } },
    examples: ['history show 1234'],
    async run({ api, show: print, terminal }, { operands }) {
      print(await api.call(historyGet, { params: { id: Number(operands.entry) } }), (e) =>
        entryText(terminal, e),
      )
    },
  }),
  command({
    name: 'history kept',
    summary: 'How much of the history is kept, and for how long.',
    examples: ['history kept'],
    async run({ api, show: print, terminal }) {
      print(await api.call(historyKept, {}), (kept) =>
        facts(terminal, [
          ['Entries', `${count(kept.entries)} of at most ${count(kept.most_entries)}`],
          ['Size', `${count(kept.bytes / 1024 / 1024)} MiB`],
          ['Kept for', `${count(kept.days)} days`],
          ['Oldest', kept.oldest_at === null ? null : localTime(kept.oldest_at)],
        ]),
      )
    },
  }),
  command({
    name: 'server history',
    summary: 'What happened to a server, newest first, also after it was removed.',
    operands: { server: noun.server },
    options: withoutObject(['object', 'cluster', 'about']),
    examples: ['server history falcon-01', 'server history falcon-01 --kind server_contact'],
    run: async (context, read) =>
      show(context, read, {
        object: await noun.idOf(context.api, noun.server, read.operands.server),
      }),
  }),
  command({
    name: 'cluster history',
    summary: 'What happened to a cluster and its servers, newest first.',
    operands: { cluster: noun.cluster },
    options: withoutObject(['object', 'cluster']),
    examples: ['cluster history web', 'cluster history web --about cluster --hours 12'],
    run: async (context, read) =>
      show(context, read, {
        cluster: await noun.idOf(context.api, noun.cluster, read.operands.cluster),
      }),
  }),
]
