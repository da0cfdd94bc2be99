import {
  backupCreate,
  backupList,
  backupRemove,
  backupScheduleGet,
  backupScheduleRemove,
  backupScheduleSet,
  backupVerify,
} from '#contract/storage/backups.ts'
import { beSure, sureOption } from '../../ask.ts'
import { command, type Command, listCommand, objectCommand } from '../../command.ts'
import { CliError } from '../../exit.ts'
import * as noun from '../../nouns.ts'
import { oneLine } from '../../text.ts'
import { planOptions, scheduleText, wishOf } from './snapshots.ts'

export const backupCommands: Command[] = [
  listCommand({
    name: 'backup list',
    summary: "Steelyard's own backups in stores, newest first.",
    examples: ['backup list', 'backup list --status ready'],
    operation: backupList,
    shown: ['id', 'taken_at', 'status', 'size', 'store', 'key', 'made_by', 'reason'],
    cells: {
      status: {
        colour: (b) => (b.status === 'ready' ? 'green' : b.status === 'failed' ? 'red' : 'yellow'),
      },
      reason: { optional: true },
    },
  }),
  command({
    name: 'backup take',
    summary: 'Write a backup of Steelyard to a store, and read it back.',
    options: { store: { kind: 'text', value: 'STORE', help: 'Name or id of the store. Required' } },
    examples: ['backup take --store offsite'],
    async run({ api, show }, { options: { store } }) {
      if (store === undefined) throw new CliError('usage', '--store is missing')
      show(
        await api.call(backupCreate, {
          body: { store_id: await noun.idOf(api, noun.store, store) },
        }),
        () => 'The backup has begun: steelyard backup list shows it\n',
      )
    },
  }),
  objectCommand({
    name: 'backup verify',
    of: noun.backup,
    operation: backupVerify,
    done({ show }, answer) {
      show(answer, (b) =>
        b.status === 'ready'
          ? 'The file was read back, opened and is right\n'
          : `The backup is damaged: ${oneLine(b.reason ?? '')}\n`,
      )
      return answer.status === 'ready' ? 0 : 1
    },
  }),
  objectCommand({
    name: 'backup remove',
    of: noun.backup,
    operation: backupRemove,
    options: sureOption,
    async ask({ terminal }, { options }, { id }) {
      await beSure(terminal, 'This removes the backup from its store.', id, options.yes)
      return {}
    },
    say: () => 'The backup is being removed\n',
  }),
  command({
    name: 'backup schedule',
    summary: 'The schedule of the backups of Steelyard.',
    examples: ['backup schedule'],
    async run({ api, terminal, show }) {
      show(await api.call(backupScheduleGet, {}), ({ schedule }) =>
        scheduleText(terminal, schedule),
      )
    },
  }),
  command({
    name: 'backup plan',
    summary: 'Set or change the schedule of the backups of Steelyard.',
    options: planOptions,
    examples: ['backup plan --store offsite --every 24 --at 3 --keep 30', 'backup plan --pause'],
    async run({ api, terminal, show }, { options }) {
      const { schedule: now } = await api.call(backupScheduleGet, {})
      const body = await wishOf(api, now, options)
      show(await api.call(backupScheduleSet, { body }, { version: now?.version }), (schedule) =>
        scheduleText(terminal, schedule),
      )
    },
  }),
  command({
    name: 'backup unplan',
    summary: 'Remove the schedule of the backups of Steelyard.',
    examples: ['backup unplan'],
    async run({ api, show }) {
      await api.call(backupScheduleRemove, {})
      show({}, () => 'The schedule is removed; the backups stay\n')
    },
  }),
]
