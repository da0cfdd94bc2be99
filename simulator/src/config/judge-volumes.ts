/**
 * The checks of documents of RAID arrays and LVM volumes, in Talos's words (Talos:
 * pkg/machinery/config/types/storage).
 */
import { celProblem } from './cel/cel.ts'
import type { ConfigDocument } from './load.ts'
import { object, text } from './shape.ts'

const judgeName = (name: string, longest: number): string[] => [
  ...(name === '' ? ['name is required'] : []),
  ...(name.length < 1 || name.length > longest
    ? [`name must be between 1 and ${longest} characters long`]
    : []),
  ...(/[^A-Za-z0-9_-]/.test(name)
    ? ['name can only contain ASCII letters, digits, hyphens and underscores']
    : []),
]

const judgeMembers = ({ body }: ConfigDocument): string[] => {
  const match = text(object(object(body.provisioning).volumeSelector).match)
  if (match === '') return ['provisioning.volumeSelector.match is required']
  const problem = celProblem(match, 'member', 14)
  return problem === null ? [] : [`provisioning.volumeSelector.match: ${problem}`]
}

/** Values that Talos refuses when it decodes the document. */
const judgeChoice = (value: unknown, choices: readonly string[], type: string): string[] =>
  value === undefined || choices.includes(text(value))
    ? []
    : [`${text(value)} does not belong to ${type} values`]

const judgeArray = (document: ConfigDocument): string[] => [
  ...judgeChoice(document.body.level, ['raid1'], 'MDLevel'),
  ...judgeChoice(document.body.metadata, ['1.0', '1.2'], 'MDMetadata'),
  ...judgeName(document.name, 32),
  ...judgeMembers(document),
]

const judgeLogical = ({ name, body }: ConfigDocument): string[] => {
  const type = text(body.type) || 'linear'
  const { volumeGroup, maxSize } = object(body.provisioning)
  const { mirrors, stripes } = body
  const refuse = (isWrong: boolean, message: string): string[] => (isWrong ? [message] : [])
  const hasMirrors = type === 'raid1' || type === 'raid10'
  const hasStripes = type === 'raid0' || type === 'raid10'
  return [
    ...judgeChoice(body.type, ['linear', 'raid1', 'raid0', 'raid10'], 'LVMLogicalVolumeType'),
    ...judgeName(name, 63),
    ...(mirrors === undefined
      ? []
      : hasMirrors
        ? refuse(Number(mirrors) < 1, 'mirrors must be at least 1')
        : [`mirrors is only valid for raid1/raid10, not ${type}`]),
    ...(stripes === undefined
      ? []
      : hasStripes
        ? refuse(Number(stripes) < 2, 'stripes must be at least 2')
        : [`stripes is only valid for raid0/raid10, not ${type}`]),
    ...refuse(text(volumeGroup) === '', 'provisioning.volumeGroup is required'),
    ...refuse(text(maxSize) === '', 'provisioning.maxSize is required'),
    ...refuse(text(maxSize).startsWith('-'), 'provisioning.maxSize must not be negative'),
  ]
}

export const judgeOfVolumes: Readonly<Record<string, (document: ConfigDocument) => string[]>> = {
  RAIDArrayConfig: judgeArray,
  LVMVolumeGroupConfig: (document) => [...judgeName(document.name, 63), ...judgeMembers(document)],
  LVMLogicalVolumeConfig: judgeLogical,
}
