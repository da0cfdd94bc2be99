/** What a template asks of the servers of a role: hardware, labels, and disks by rule. */
import * as z from 'zod/mini'
import { longestSelector, selectorOf, selectorSentence } from '../labels/selector.ts'
import { wholeIn } from '../page.ts'
import { isBlank, mediaOf } from '../disks/choice.ts'
import { type DiskFacts } from '../disks/disks.ts'

/** Types of fixed disks, as servers report them. */
export const diskTypes = ['NVME', 'SSD', 'HDD'] as const
export const gigabyte = 1000 ** 3
export const gibibyte = 1024 ** 3

/** A disk that has all of what is given. */
const diskRule = {
  type: z.optional(z.enum(diskTypes, `A disk is of type ${diskTypes.join(', ')}`)),
  /** Least size, in GB of 1000³ bytes as on the label of a disk. */
  size_gb: z.optional(wholeIn(1, 1_000_000, 'The size of a disk is 1 to 1,000,000 GB')),
  /** Part of the model's name. */
  model: z.optional(z.string().check(z.trim(), z.minLength(1), z.maxLength(100))),
}
export const DiskRule = z.strictObject(diskRule)
export type DiskRule = z.infer<typeof DiskRule>

const DiskNeed = z.strictObject({
  count: wholeIn(1, 100, 'The number of disks is 1 to 100'),
  ...diskRule,
})

export const Needs = z.strictObject({
  cores: z.optional(wholeIn(1, 10_000, 'The number of cores is 1 to 10,000')),
  memory_gib: z.optional(wholeIn(1, 100_000, 'The memory is 1 to 100,000 GiB')),
  /** Fixed disks that the server has. The one for Talos counts too. */
  disks: z._default(z.array(DiskNeed).check(z.maxLength(10, 'At most 10 kinds of disks')), []),
  /** Selector of labels. */
  labels: z.optional(
    z.string().check(
      z.trim(),
      z.maxLength(longestSelector, selectorSentence),
      z.refine((text) => selectorOf(text) !== null, { error: selectorSentence }),
    ),
  ),
})
export type Needs = z.infer<typeof Needs>

export const preferences = ['smallest', 'largest'] as const
/** Which of a server's disks gets Talos. Empty disks come before those with content. */
export const InstallDisk = z.strictObject({
  ...diskRule,
  prefer: z._default(z.enum(preferences), 'smallest'),
})
export type InstallDisk = z.infer<typeof InstallDisk>

/** The disks that are reserved for the workload: empty fixed ones beside the one with Talos. */
export const WorkloadDisks = z.strictObject({
  ...diskRule,
  /** Exactly so many, the smallest first. Default: all that there are. */
  count: z.optional(wholeIn(1, 64, 'The number of disks for the workload is 1 to 64')),
})
export type WorkloadDisks = z.infer<typeof WorkloadDisks>

/** "NVME, at least 400 GB, model PM9A3"; empty if any disk will do. */
export const diskRuleSaid = ({ type, size_gb, model }: DiskRule): string =>
  [
    ...(type === undefined ? [] : [type]),
    ...(size_gb === undefined ? [] : [`at least ${size_gb} GB`]),
    ...(model === undefined ? [] : [`model ${model}`]),
  ].join(', ')

/** Whether a disk has what the rule asks for. Of a size or model that isn't known it has nothing. */
export const fitsRule = (disk: DiskFacts, { type, size_gb, model }: DiskRule): boolean =>
  (type === undefined || disk.type === type) &&
  (size_gb === undefined || (disk.size ?? 0) >= size_gb * gigabyte) &&
  (model === undefined || (disk.model ?? '').toLowerCase().includes(model.toLowerCase()))

/** Whether the disk is fixed, can be written, and holds nothing. */
export const isFree = (disk: DiskFacts): boolean =>
  isBlank(disk) && mediaOf(disk) === null && !disk.readonly
