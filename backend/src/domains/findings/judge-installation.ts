/** Judges Steelyard itself and the channels that tell findings. Pure. */
import { type ChannelCondition, channelTroubles } from '../alerts/api.ts'
import { backupTrouble, type SnapshotCondition } from '../snapshots/api.ts'
import { type Judged, type Said, sentence } from './judged.ts'

interface Known {
  readonly object: Judged['object']
  /** Of its own backups in stores. */
  readonly backups: SnapshotCondition
  readonly channels: ChannelCondition
}

const finding = (object: Judged['object'], { reason, ...said }: Said): Judged => ({
  ...said,
  reason: sentence(reason),
  object,
  cluster: null,
  datacenter: null,
})

export function judgeInstallation({ object, backups, channels }: Known, now: number): Judged[] {
  const backup = backupTrouble(backups, now)
  return [
    ...(backup === null ? [] : [finding(object, backup)]),
    ...channelTroubles(channels, now).map(({ id, name, problem: reason, since }) =>
      finding({ kind: 'channel', id, name }, { kind: 'channel_fails', since, reason }),
    ),
  ]
}
