/** Trimming and scrubbing of file systems, which Talos 1.14 leaves out without a word. */
import { durationMs } from '../../config/formats.ts'
import type { Report } from '../../config/report.ts'
import type { Configuration, RuntimeRule } from '../rule.ts'

const folder = 'Talos internal/app/machined/pkg/controllers/block'

const isSet = (report: Report, ...path: string[]): boolean =>
  (durationMs(report.text(...path)) ?? 0) > 0

/** Volumes that ask for trimming or scrubbing themselves. */
const asking = (config: Configuration, what: 'trim' | 'scrub'): Report[] =>
  config
    .of('VolumeConfig', 'UserVolumeConfig', 'ExistingVolumeConfig')
    .filter((one) => one.has(what) && (!one.has(what, 'enabled') || one.flag(what, 'enabled')))

export const upkeepRules: readonly RuntimeRule[] = [
  {
    id: 'upkeep-interval',
    source: `${folder}/internal/volumes/volumeconfig/trim.go and scrub.go (v1.14.1): without an interval it is off, although the documentation of FilesystemScrubConfig names a week`,
    level: 'warn',
    *find(config) {
      for (const [kind, what] of [
        ['FilesystemTrimConfig', 'trimmed'],
        ['FilesystemScrubConfig', 'scrubbed'],
      ] as const)
        for (const document of config.of(kind))
          if (!isSet(document, 'interval'))
            yield {
              document,
              path: ['interval'],
              sentence: `Without an interval no volume is ${what}: write interval: 168h for once a week`,
            }
      const isForAll = config.of('FilesystemTrimConfig').some((one) => isSet(one, 'interval'))
      for (const document of asking(config, 'trim'))
        if (!isForAll && !isSet(document, 'trim', 'interval'))
          yield {
            document,
            path: ['trim'],
            sentence: `The volume ${document.text('name')} is never trimmed, because neither trim.interval nor FilesystemTrimConfig says how often`,
          }
    },
  },
  {
    id: 'trim-of-encrypted',
    source: `${folder}/volume_trim_schedule.go (v1.14.1), trimEligible: an encrypted volume only with allowDiscards`,
    level: 'warn',
    *find(config) {
      for (const document of asking(config, 'trim'))
        if (document.has('encryption', 'provider') && !document.flag('encryption', 'allowDiscards'))
          yield {
            document,
            path: ['trim'],
            sentence: `The volume ${document.text('name')} is encrypted and never trimmed without encryption.allowDiscards`,
          }
    },
  },
  {
    id: 'scrub-of-others',
    source: `${folder}/fs_scrub_schedule.go (v1.14.1), scrubEligible: only XFS`,
    level: 'warn',
    *find(config) {
      for (const document of asking(config, 'scrub')) {
        const type = document.text('filesystem', 'type')
        if (['ext4', 'btrfs'].includes(type))
          yield {
            document,
            path: ['scrub'],
            sentence: `The volume ${document.text('name')} is never scrubbed: Talos scrubs xfs only, and it has ${type}`,
          }
      }
    },
  },
]
