import type { NewSnapshotScheduleInput } from '#contract/clusters/changes/snapshot-schedule.ts'
import {
  type Snapshot,
  snapshotDownload,
  snapshotGet,
  snapshotImport,
  snapshotList,
  snapshotRemove,
  type SnapshotSchedule,
  snapshotScheduleGet,
  snapshotScheduleRemove,
  snapshotScheduleSet,
  snapshotVerify,
} from '#contract/clusters/changes/snapshots.ts'
import { counted } from '#contract/words.ts'
import { beSure, sureOption } from '../../ask.ts'
import type { Api } from '../../api/client.ts'
import {
  command,
  type Command,
  given,
  type Given,
  listCommand,
  objectCommand,
  type Operands,
} from '../../command.ts'
import { CliError } from '../../exit.ts'
import { writeSecretFile } from '../../files.ts'
import * as noun from '../../nouns.ts'
import { facts } from '../../table.ts'
import type { Colour, Terminal } from '../../terminal.ts'
import { localTime, memory, oneLine } from '../../text.ts'

const colours: Readonly<Record<Snapshot['status'], Colour>> = {
  taking: 'yellow',
  ready: 'green',
  failed: 'red',
  removing: 'yellow',
}

const snapshotText = (terminal: Terminal, s: Snapshot): string =>
  facts(terminal, [
    ['Id', s.id],
    ['Cluster', s.cluster.name],
    ['Status', s.status],
    ['Reason', s.reason],
    ['Taken', s.taken_at && localTime(s.taken_at)],
    ['From', s.taken_from],
    ['For', s.purpose],
    ['By', s.created_by && `${s.created_by} (${s.made_by})`],
    ['Size', s.size_bytes === null ? null : memory(s.size_bytes)],
    ['Revision', s.revision],
    ['etcd', s.etcd_version],
    ['Identity', s.identity],
    ['SHA-256', s.sha256],
    ['Store', s.store.name],
    ['File', s.key],
    ['Verified', s.verified_at && localTime(s.verified_at)],
  ])

export const scheduleText = (terminal: Terminal, s: SnapshotSchedule | null): string =>
  s === null
    ? 'No schedule\n'
    : facts(terminal, [
        ['Store', s.store.name],
        ['Interval', `every ${s.every_hours} h, from ${String(s.at_hour).padStart(2, '0')}:00 UTC`],
        [
          'Keeps',
          [
            s.keep_count === null ? '' : counted(s.keep_count, 'snapshot'),
            s.keep_days === null ? '' : counted(s.keep_days, 'day'),
          ]
            .filter(Boolean)
            .join(', ') || 'all',
        ],
        ['Next', s.next_at === null ? 'paused' : localTime(s.next_at)],
        ['Last ready', s.last_ready_at === null ? 'none' : localTime(s.last_ready_at)],
        ['Problem', s.problem],
      ])

/** Options that set a schedule. */
export const planOptions = {
  store: { kind: 'text', value: 'STORE', help: 'Name or id of the store' },
  every: {
    kind: 'number',
    value: 'HOURS',
    help: 'Hours between two snapshots: 1, 2, 3, 4, 6, 8, 12, 24, 48, 72 or 168 (default: 24)',
  },
  at: {
    kind: 'number',
    value: 'HOUR',
    help: 'Hour of the day, UTC, of the first snapshot (default: 2)',
  },
  keep: { kind: 'number', value: 'N', help: 'How many snapshots are kept (default: 14)' },
  'keep-all': { kind: 'flag', help: 'The number of snapshots is not limited' },
  'keep-days': {
    kind: 'number',
    value: 'DAYS',
    help: 'How many days snapshots are kept; the newest is always kept',
  },
  'any-age': { kind: 'flag', help: 'The age of snapshots is not limited' },
  pause: { kind: 'flag', help: 'Take no snapshots for now' },
  resume: { kind: 'flag', help: 'Take snapshots again' },
} as const

const limit = (option: number | undefined, off: boolean): number | null | undefined =>
  off ? null : option

/** The schedule with the given options; other fields keep their value. @throws CliError */
export async function wishOf(
  api: Api,
  now: SnapshotSchedule | null,
  o: Given<Operands, typeof planOptions>['options'],
): Promise<NewSnapshotScheduleInput> {
  if (o.pause && o.resume) throw new CliError('usage', 'Give either --pause or --resume')
  const store_id = o.store === undefined ? now?.store.id : await noun.idOf(api, noun.store, o.store)
  if (store_id === undefined)
    throw new CliError('usage', 'There is no schedule yet: give --store', {
      hint: 'steelyard store list shows the stores',
    })
  const kept =
    now === null
      ? { every_hours: 24 }
      : {
          every_hours: now.every_hours,
          at_hour: now.at_hour,
          keep_count: now.keep_count,
          keep_days: now.keep_days,
          paused: now.paused,
        }
  const asked = given({
    every_hours: o.every,
    at_hour: o.at,
    keep_count: limit(o.keep, o['keep-all']),
    keep_days: limit(o['keep-days'], o['any-age']),
    paused: o.pause ? true : o.resume ? false : undefined,
  })
  // The client validates the request before it sends it, so an invalid interval is refused there.
  return { ...kept, ...asked, store_id } as NewSnapshotScheduleInput
}

export const snapshotCommands: Command[] = [
  listCommand({
    name: 'snapshot list',
    summary: 'Snapshots of clusters, newest first.',
    examples: [
      'snapshot list --cluster web',
      'snapshot list --status ready --sort=-taken_at --json',
    ],
    operation: snapshotList,
    shown: [
      'id',
      'cluster',
      'taken_at',
      'status',
      'size',
      'etcd_version',
      'store',
      'made_by',
      'purpose',
      'reason',
    ],
    cells: {
      status: { colour: (s) => colours[s.status] },
      purpose: { optional: true },
      reason: { optional: true },
    },
  }),
  objectCommand({
    name: 'snapshot show',
    of: noun.snapshot,
    operation: snapshotGet,
    say: (s, _name, { terminal }) => snapshotText(terminal, s),
  }),
  objectCommand({
    name: 'snapshot verify',
    of: noun.snapshot,
    operation: snapshotVerify,
    done({ show }, answer) {
      show(answer, (s) =>
        s.status === 'ready'
          ? 'The file was read back and is intact\n'
          : `The snapshot is damaged: ${oneLine(s.reason ?? '')}\n`,
      )
      return answer.status === 'ready' ? 0 : 1
    },
  }),
  command({
    name: 'snapshot download',
    summary:
      'Write a snapshot, decrypted, to a file as etcdctl snapshot save does. It contains all secrets of the cluster.',
    operands: { snapshot: noun.snapshot },
    options: {
      output: { kind: 'text', value: 'FILE', help: 'File that only you can read. Required' },
      force: { kind: 'flag', help: 'Replace the file if it exists' },
    },
    examples: ['snapshot download 0198c0de-0000-7000-8000-000000000001 --output web.etcd'],
    json: false,
    async run({ terminal, api }, { operands, options }) {
      if (options.output === undefined) throw new CliError('usage', '--output is missing')
      const bytes = api.readBytes(snapshotDownload, {
        params: { id: await noun.idOf(api, noun.snapshot, operands.snapshot) },
      })
      await writeSecretFile(options.output, bytes, options.force)
      terminal.err(`Written to ${oneLine(options.output)}\n`)
    },
  }),
  command({
    name: 'snapshot import',
    summary: 'Import a file of etcdctl snapshot save from a store.',
    operands: { cluster: noun.cluster },
    options: {
      store: { kind: 'text', value: 'STORE', help: 'Name or id of the store. Required' },
      file: {
        kind: 'text',
        value: 'FILE',
        help: 'Name of the file in the store, without its prefix. Required',
      },
    },
    examples: ['snapshot import web --store offsite --file import/web.db'],
    async run({ api, show }, { operands, options: { store, file } }) {
      if (store === undefined || file === undefined)
        throw new CliError('usage', 'Give --store and --file')
      const params = { id: await noun.idOf(api, noun.cluster, operands.cluster) }
      show(
        await api.call(snapshotImport, {
          params,
          body: { store_id: await noun.idOf(api, noun.store, store), file },
        }),
        (s) => `The import has begun: steelyard snapshot show ${s.id}\n`,
      )
    },
  }),
  objectCommand({
    name: 'snapshot remove',
    of: noun.snapshot,
    operation: snapshotRemove,
    summary: 'Remove a snapshot and its file.',
    options: sureOption,
    examples: ['snapshot remove 0198c0de-0000-7000-8000-000000000001'],
    async ask({ api, terminal }, { options }, { id }) {
      const { cluster, taken_at: at } = await api.call(snapshotGet, { params: { id } })
      await beSure(
        terminal,
        `This removes the snapshot of ${oneLine(cluster.name)}${at === null ? '' : ` of ${localTime(at)}`} from its store.`,
        cluster.name,
        options.yes,
      )
      return {}
    },
    say: () => 'The snapshot is being removed\n',
  }),
  objectCommand({
    name: 'snapshot schedule',
    of: noun.cluster,
    operation: snapshotScheduleGet,
    summary: 'The schedule of the snapshots of a cluster.',
    say: ({ schedule }, _name, { terminal }) => scheduleText(terminal, schedule),
  }),
  command({
    name: 'snapshot plan',
    summary: 'Set or change the schedule of the snapshots of a cluster.',
    operands: { cluster: noun.cluster },
    options: planOptions,
    examples: [
      'snapshot plan web --store offsite --every 6 --keep 28',
      'snapshot plan web --pause',
    ],
    async run({ api, terminal, show }, { operands, options }) {
      const params = { id: await noun.idOf(api, noun.cluster, operands.cluster) }
      const { schedule: now } = await api.call(snapshotScheduleGet, { params })
      const body = await wishOf(api, now, options)
      show(
        await api.call(snapshotScheduleSet, { params, body }, { version: now?.version }),
        (schedule) => scheduleText(terminal, schedule),
      )
    },
  }),
  objectCommand({
    name: 'snapshot unplan',
    of: noun.cluster,
    operation: snapshotScheduleRemove,
    say: (_none, name) =>
      `The snapshot schedule of ${oneLine(name)} is removed; the snapshots stay\n`,
  }),
]
