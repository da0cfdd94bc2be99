import {
  clusterMeasurements,
  clusterSeries,
  dayMs,
  serverMeasurements,
  serverSeries,
} from '#contract/measurements/measurements.ts'
import { command, type Command } from '../../command.ts'
import * as noun from '../../nouns.ts'
import { table } from '../../table.ts'
import type { Terminal } from '../../terminal.ts'
import { disk, localTime } from '../../text.ts'

const days = { '24h': 1, '7d': 7, '30d': 30, '1y': 365 } as const
const options = {
  range: {
    kind: 'text',
    value: 'RANGE',
    choices: Object.keys(days) as (keyof typeof days)[],
    help: 'How far back: 24h (default), 7d, 30d or 1y',
  },
} as const

interface Series {
  readonly name: string
  readonly unit: 'share' | 'rate' | 'bytes' | 'seconds' | 'count'
  readonly mean: readonly (number | null)[]
  readonly max: readonly (number | null)[]
}
interface Answer {
  readonly step_seconds: number
  readonly simulated_before: string | null
  readonly series: readonly Series[]
}

const texts: Readonly<Record<Series['unit'], (value: number) => string>> = {
  share: (value) => `${Number((value * 100).toFixed(1))} %`,
  rate: (value) => `${disk(Math.round(value))}/s`,
  bytes: (value) => disk(Math.round(value)),
  seconds: (value) => `${Number((value * 1000).toFixed(1))} ms`,
  count: (value) => String(Number(value.toFixed(1))),
}
const isKnown = (value: number | null): value is number => value !== null

/** Least, mean, highest and newest value of a series; null if nothing was measured. */
function summary({ unit, mean, max }: Series) {
  const [means, highest] = [mean.filter(isKnown), max.filter(isKnown)]
  const said = (values: readonly number[], of: (values: readonly number[]) => number) =>
    values.length === 0 ? null : texts[unit](of(values))
  return {
    least: said(means, (values) => Math.min(...values)),
    mean: said(means, (values) => values.reduce((sum, value) => sum + value, 0) / values.length),
    highest: said(highest, (values) => Math.max(...values)),
    newest: said(means, (values) => values.at(-1)!),
  }
}

const usageText = (
  terminal: Terminal,
  { series, simulated_before }: Answer,
  titles: Readonly<Record<string, { readonly title: string }>>,
): string => {
  const rows = series.map((one) => ({ title: titles[one.name]!.title, ...summary(one) }))
  const column = (title: string, key: 'least' | 'mean' | 'highest' | 'newest') => ({
    title,
    right: true,
    text: (row: (typeof rows)[number]) => row[key] ?? '-',
  })
  const shown = table(
    terminal,
    rows.filter(({ newest }) => newest !== null),
    [
      { title: 'WHAT', text: (row) => row.title },
      column('MIN', 'least'),
      column('MEAN', 'mean'),
      column('MAX', 'highest'),
      column('NEWEST', 'newest'),
    ],
    'Nothing was measured in this period',
  )
  return simulated_before === null
    ? shown
    : `${shown}\nValues before ${localTime(simulated_before)} are simulated.\n`
}

const fromOf = (terminal: Terminal, range: keyof typeof days | undefined): string =>
  new Date(terminal.now() - days[range ?? '24h'] * dayMs).toISOString()

export const usageCommands: Command[] = [
  command({
    name: 'server usage',
    summary: 'How much of a server is in use: least, mean, highest and newest value of a period.',
    operands: { server: noun.server },
    options,
    examples: ['server usage falcon-01', 'server usage falcon-01 --range 30d -o json'],
    async run({ api, show, terminal }, { operands, options: { range } }) {
      const params = { id: await noun.idOf(api, noun.server, operands.server) }
      const query = { from: fromOf(terminal, range) }
      show(await api.call(serverMeasurements, { params, query }), (answer) =>
        usageText(terminal, answer, serverSeries),
      )
    },
  }),
  command({
    name: 'cluster usage',
    summary:
      'How fast a cluster answered, how large its etcd is and how many nodes are Ready: least, mean, highest and newest value of a period.',
    operands: { cluster: noun.cluster },
    options,
    examples: ['cluster usage web', 'cluster usage web --range 7d'],
    async run({ api, show, terminal }, { operands, options: { range } }) {
      const params = { id: await noun.idOf(api, noun.cluster, operands.cluster) }
      const query = { from: fromOf(terminal, range) }
      show(await api.call(clusterMeasurements, { params, query }), (answer) =>
        usageText(terminal, answer, clusterSeries),
      )
    },
  }),
]
