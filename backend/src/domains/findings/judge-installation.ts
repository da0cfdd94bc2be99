/** Judges Steelyard itself and the channels that tell findings. Pure. */
import { counted } from '#contract/words.ts'
import { type ChannelCondition, channelTroubles } from '../alerts/api.ts'
import { backupTrouble, type SnapshotCondition } from '../snapshots/api.ts'
import type { HaltedOperation } from '../operations/api.ts'
import { type Judged, type Said, sentence } from './judged.ts'

interface Known {
  readonly object: Judged['object']
  /** Of its own backups in stores. */
  readonly backups: SnapshotCondition
  readonly channels: ChannelCondition
  /** The operations whose work ends Steelyard, oldest first. */
  readonly halted: readonly HaltedOperation[]
}

const finding = (object: Judged['object'], { reason, ...said }: Said): Judged => ({
  ...said,
  reason: sentence(reason),
  object,
  cluster: null,
  datacenter: null,
})

const haltedOf = ([first, ...others]: readonly HaltedOperation[]): Said[] =>
  first === undefined
    ? []
    : [
        {
          kind: 'installation_operation_halted',
          since: null,
          reason: `"${first.title}"${others.length === 0 ? '' : ` and ${counted(others.length, 'other operation')}`} ended Steelyard three times in a row while nothing else ran. Steelyard tries again by itself, at most once an hour; its log may say why.`,
          operationId: first.operation_id,
        },
      ]

export function judgeInstallation(
  { object, backups, channels, halted }: Known,
  now: number,
): Judged[] {
  const backup = backupTrouble(backups, now)
  return [
    ...(backup === null ? [] : [finding(object, backup)]),
    ...haltedOf(halted).map((said) => finding(object, said)),
    ...channelTroubles(channels, now).map(({ id, name, problem, since, isGone }) =>
      finding(
        { kind: 'channel', id, name },
        isGone
          ? {
              kind: 'channel_gone',
              since,
              reason: `${problem}, so it gets nothing more. Change the URL of the channel, or remove it`,
            }
          : { kind: 'channel_fails', since, reason: problem },
      ),
    ),
  ]
}
