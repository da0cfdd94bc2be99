/** Fills the variables of a shared patch for servers, and checks and masks its body. */
import { Problem } from '#contract/errors.ts'
import { patchMask, problemSentence } from '#contract/patches.ts'
import { canHaveTargets, type Targets } from '#contract/shared-patches/shared-patches.ts'
import {
  canFill,
  canHaveVariables,
  filledBytes,
  filledText,
  replaceVariables,
  templateOf,
  unknownVariable,
  unknownVariableSentence,
  type Values,
  valuesFor,
} from '#contract/shared-patches/variables.ts'
import { yes } from '#contract/rule.ts'
import { counted } from '#contract/words.ts'
import type { Audience } from '#talos/config/mask.ts'
import type { Platform } from '../../../platform.ts'
import { type For, ours } from '../../../reading/asker.ts'
import type { SharedLayer } from '../../configurations/api.ts'
import type { ServerFacts } from '../../servers/api.ts'
import { slices } from '../../../slices.ts'
import type { Definition } from './store.ts'
import type { TargetServer } from './targets.ts'

/** The links that the text with these values configures, by the values as JSON. */
export type LinksByValues = Map<string, readonly string[]>

/** A server for which the patch is filled. The text is made when it is asked for: all are long. */
export interface FilledServer {
  readonly server: TargetServer
  readonly values: Values
  readonly bytes: number
  readonly text: () => string
  /** Reads the links of the text, unless they were read before. */
  readonly readLinks: () => Promise<readonly string[]>
  readonly layer: () => Promise<SharedLayer>
}
interface NotFilled {
  readonly server: TargetServer
  readonly refused: string
}
/** A server for which the patch is filled, or why it can't be. */
export type FilledFor = FilledServer | NotFilled

/**
 * Stands for a variable while the text is read as YAML. It is a scalar wherever the variable may
 * stand, and doesn't occur by chance.
 */
const mark = 'steelyard0variable0'
/** Replaces variables by placeholders and back. Equal variables get equal placeholders. */
function marker() {
  const names: string[] = []
  const numbers = new Map<string, number>()
  return {
    mark: (text: string): string =>
      replaceVariables(text, (name) => {
        const number = numbers.get(name) ?? names.push(name) - 1
        numbers.set(name, number)
        return `${mark}${number}0end`
      }),
    back: (text: string): string =>
      text.replaceAll(/steelyard0variable0(\d{1,6})0end/g, (_, n) => `{{${names[Number(n)]}}}`),
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

    /** @throws Problem invalid with both numbers if filling the body would cost too much */
    demandFewVariables(body: string): void {
      const verdict = canHaveVariables(templateOf(body))
      if (!verdict.ok) throw new Problem('invalid', verdict.reason, { body: verdict.reason })
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
     * Fills the patch for each server. `facts`: of the same servers. `links`: those that were read
     * before. Servers with the same values get the same text, whose links are read once.
     */
    async fillFor(
      { name, weight, body }: Omit<Definition, 'targets'>,
      revision: number,
      servers: readonly TargetServer[],
      facts: ReadonlyMap<string, ServerFacts>,
      links: LinksByValues = new Map(),
    ): Promise<FilledFor[]> {
      const template = templateOf(body)
      const slice = slices()
      const filled: FilledFor[] = []
      for (const server of servers) {
        if (slice.isOver()) await slice.next()
        const { address, link } = facts.get(server.id)!
        const made = valuesFor(template, {
          name: server.name,
          address,
          link,
          labels: server.labels,
        })
        if (!('values' in made)) {
          filled.push({
            server,
            refused:
              made.why === 'missing'
                ? `${server.name} has no value for {{${made.variable}}}`
                : `The value of {{${made.variable}}} on ${server.name} has characters that YAML reads as more than a value`,
          })
          continue
        }
        const { values } = made
        const key = JSON.stringify(values)
        const text = () => filledText(template, values)
        const readLinks = async () => {
          const known = links.get(key) ?? (await readLinksOf(text()))
          links.set(key, known)
          return known
        }
        filled.push({
          server,
          values,
          bytes: filledBytes(template, values),
          text,
          readLinks,
          layer: async () => ({
            name,
            weight,
            body: text(),
            revision,
            links: [...(await readLinks())],
            filled: { ...values },
          }),
        })
      }
      return filled
    },
  }

  /** The links that a text configures; none if can't be read, which its check says. */
  async function readLinksOf(text: string): Promise<string[]> {
    try {
      return await read(ours, 'links', text)
    } catch (error) {
      if (error instanceof Problem) return []
      throw error
    }
  }
}
export type Filling = ReturnType<typeof filling>

/** The text of a server, to check the body by; undefined if it can be filled for none. */
export const exampleOf = (filled: readonly FilledFor[]): string | undefined =>
  filled.find((one) => 'text' in one)?.text()

/** @throws Problem invalid with both numbers if the targets are compared at too many conditions */
export function demandTargets(targets: Targets): void {
  const verdict = canHaveTargets(targets)
  if (!verdict.ok)
    throw new Problem('invalid', verdict.reason, { 'targets.labels': verdict.reason })
}

/** @throws Problem invalid with both numbers if the text of a server is too long */
export function demandShort(filled: readonly FilledFor[]): void {
  for (const one of filled) {
    const verdict = 'bytes' in one ? canFill(one.server.name, one.bytes) : yes
    if (!verdict.ok) throw new Problem('invalid', verdict.reason, { body: verdict.reason })
  }
}

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
