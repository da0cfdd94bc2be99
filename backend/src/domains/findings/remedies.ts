/** What mends a finding, with the ids of what it is about. Pure. */
import type { Finding } from '#contract/findings/findings.ts'
import { type FindingKind, findingKinds } from '#contract/findings/kinds.ts'

/** The words in braces of the calls (`contract/findings/kinds.ts`). */
interface Names {
  readonly id: string
  readonly finding: string | null
  readonly cluster: string | null
  readonly operation: string | null
}

/** The remedies whose calls name nothing that the finding lacks. */
export const remediesOf = (kind: FindingKind, names: Names): Finding['remedies'] =>
  findingKinds[kind].remedies.flatMap(({ title, action, call }) => {
    const filled = call.replaceAll(/\{(\w+)\}/g, (whole, name: keyof Names) => names[name] ?? whole)
    return filled.includes('{') ? [] : [{ title, action, call: filled }]
  })
