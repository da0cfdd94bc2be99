/** Fills the variables of a shared patch for servers, and checks and masks its body. */
import { Problem } from '#contract/errors.ts'
import { patchMask, problemSentence } from '#contract/patches.ts'
import {
  fill,
  replaceVariables,
  unknownVariable,
  unknownVariableSentence,
} from '#contract/shared-patches/variables.ts'
import { counted } from '#contract/words.ts'
import type { Audience } from '#talos/config/mask.ts'
import type { Platform } from '../../../platform.ts'
import { type For, ours } from '../../../reading/asker.ts'
import type { SharedLayer } from '../../configurations/api.ts'
import type { ServerFacts } from '../../servers/api.ts'
import type { Definition } from './store.ts'
import type { TargetServer } from './targets.ts'

/** A server for which the patch is filled, or why it can't be. */
export type FilledFor = { readonly server: TargetServer } & (
  | { readonly layer: SharedLayer }
  | { readonly refused: string; readonly isMissing: boolean }
)

/**
 * Stands for a variable while the text is read as YAML. It is a scalar wherever the variable may
 * stand, and doesn't occur by chance.
 */
const mark = 'steelyard0variable0'
/** Replaces variables by placeholders and back. Equal variables get equal placeholders. */
function marker() {
  const names: string[] = []
  return {
    mark: (text: string): string =>
      replaceVariables(text, (name) => {
        if (!names.includes(name)) names.push(name)
        return `${mark}${names.indexOf(name)}0end`
      }),
    back: (text: string): string =>
      text.replaceAll(/steelyard0variable0(\d{1,4})0end/g, (_, n) => `{{${names[Number(n)]}}}`),
  }
}

export function filling({ read }: Pick<Platform, 'read'>) {
  return {
    /** The body as the audience may read it. */
    async shown(who: For, body: string, audience: Audience): Promise<string> {
      const { mark: hide, back } = marker()
      return back((await read(who, 'mask', hide(body), audience)).text)
    },

    /** The body with the stored secrets in place of their masks. */
    async unmasked(who: For, body: string, stored: string, audience: Audience): Promise<string> {
      if (!body.includes(patchMask)) return body
      const { mark: hide, back } = marker()
      return back(await read(who, 'unmask', hide(body), hide(stored), audience))
    },

    /** @throws Problem invalid for a variable that doesn't exist */
    demandKnown(body: string): void {
      const unknown = unknownVariable(body)
      if (unknown === null) return
      const sentence = `Line ${unknown.line}: ${unknownVariableSentence(unknown.name)}`
      throw new Problem('invalid', sentence, { body: sentence })
    },

    /**
     * Checks the rules of patches on the text of one server, or on placeholders if there is none.
     * @throws Problem invalid with the line
     */
    async demandBody(who: For, body: string, example: string | undefined): Promise<void> {
      const text = example ?? replaceVariables(body, () => '1')
      const errors = await read(who, 'check', text)
      const [first] = errors
      if (first)
        throw new Problem('invalid', problemSentence(first), {
          body: errors.slice(0, 20).map(problemSentence).join('\n'),
        })
    },

    /**
     * Fills the patch for each server. `facts`: of the same servers. `links`: those of texts that
     * were read before. Servers with the same values get the same text, whose links are read once.
     */
    async fillFor(
      { name, weight, body }: Omit<Definition, 'targets'>,
      revision: number,
      servers: readonly TargetServer[],
      facts: ReadonlyMap<string, ServerFacts>,
      links = new Map<string, string[]>(),
    ): Promise<FilledFor[]> {
      const filled: FilledFor[] = []
      for (const server of servers) {
        const { address, link } = facts.get(server.id)!
        const of = { name: server.name, address, link, labels: server.labels }
        const made = fill(body, of)
        if (!('text' in made)) {
          filled.push({
            server,
            isMissing: made.why === 'missing',
            refused:
              made.why === 'missing'
                ? `${server.name} has no value for {{${made.variable}}}`
                : `The value of {{${made.variable}}} on ${server.name} has characters that YAML reads as more than a value`,
          })
          continue
        }
        if (!links.has(made.text)) links.set(made.text, await readLinks(made.text))
        filled.push({
          server,
          layer: {
            name,
            weight,
            body: made.text,
            revision,
            links: links.get(made.text)!,
            filled: { ...made.values },
          },
        })
      }
      return filled
    },
  }

  /** The links that a text configures; none if can't be read, which its check says. */
  async function readLinks(text: string): Promise<string[]> {
    try {
      return await read(ours, 'links', text)
    } catch (error) {
      if (error instanceof Problem) return []
      throw error
    }
  }
}
export type Filling = ReturnType<typeof filling>

/** @throws Problem invalid with the names of the servers without a value for a variable */
export function demandFilled(filled: readonly FilledFor[]): void {
  const refused = filled.flatMap((one) => ('refused' in one ? [one] : []))
  const [first] = refused
  if (!first) return
  const others = refused.slice(1).map(({ server }) => server.name)
  const sentence =
    others.length === 0
      ? first.refused
      : `${first.refused}; the same or another variable fails on ${counted(others.length, 'other server')}: ${others.slice(0, 20).join(', ')}`
  throw new Problem('invalid', sentence, { body: sentence })
}
