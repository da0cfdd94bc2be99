/** The preview of a shared patch as text. */
import type { SharedPatchPreview } from '#contract/shared-patches/shared-patches.ts'
import { counted, someOf } from '#contract/words.ts'
import { manyLines, oneLine } from '../../text.ts'

const effects: Record<SharedPatchPreview['groups'][number]['effect'], string> = {
  no_reboot: 'without a reboot',
  reboot: 'with a reboot',
  at_install: 'when they are installed',
}
const namesOf = (servers: readonly { readonly name: string }[]): string =>
  oneLine(
    someOf(
      servers.map(({ name }) => name),
      5,
    ),
  )

/** What a shared patch would change, as lines. */
export function previewText(preview: SharedPatchPreview): string {
  const { groups, refused, unchanged, losses } = preview
  return [
    ...groups.map(
      ({ servers, lines, effect, warnings }) =>
        `${counted(servers.length, 'server')} (${namesOf(servers)}), ${effects[effect]}:\n${lines.map((line) => `  ${manyLines(line)}\n`).join('')}${warnings.map((one) => `  # ${oneLine(one)}\n`).join('')}`,
    ),
    ...refused.map(
      ({ server, reason, for_now }) =>
        `${oneLine(server.name)}: ${for_now ? 'a roll-out waits for it' : 'refused'}, ${oneLine(reason)}\n`,
    ),
    ...losses.map(({ reason }) => `Warning: ${oneLine(reason)}\n`),
    ...(unchanged > 0 ? [`${counted(unchanged, 'server')}: no difference\n`] : []),
    ...(preview.servers === 0 ? ['No server: choose targets\n'] : []),
  ].join('')
}
