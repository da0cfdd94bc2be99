/** Releases a cluster that only a set of files changes. */
import { clusterGet } from '#contract/clusters/clusters.ts'
import { clusterFilesRelease } from '#contract/clusters/files.ts'
import { beSure, sureOption } from '../../ask.ts'
import { command } from '../../command.ts'
import * as noun from '../../nouns.ts'
import { oneLine } from '../../text.ts'

export const releaseCommand = command({
  name: 'cluster release',
  summary:
    'Let everybody who may change clusters change this one again, although a set of files has locked it. The next apply may lock it anew. Only a person can do this, not an API token.',
  operands: { cluster: noun.cluster },
  options: sureOption,
  examples: ['cluster release web'],
  async run({ api, terminal, show }, { operands, options }) {
    const params = { id: await noun.idOf(api, noun.cluster, operands.cluster) }
    const { name, files = null } = await api.call(clusterGet, { params })
    if (files !== null)
      await beSure(
        terminal,
        `Only the files of the set ${files.set} change ${oneLine(name)} now.`,
        name,
        options.yes,
      )
    show(await api.call(clusterFilesRelease, { params }), (c) => `${oneLine(c.name)} is released\n`)
  },
})
