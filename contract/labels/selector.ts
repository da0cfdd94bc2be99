/**
 * Selectors of labels, as Kubernetes writes them: conditions with commas between, all of which must
 * hold (https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors).
 *
 * `rack=3` (or `==`), `gen!=r640`, `rack in (3,4)`, `gen notin (r640)`, `rack` (has the label),
 * `!rack` (lacks it). An object without the label passes `!=` and `notin`, as in Kubernetes.
 */
export type Labels = Readonly<Record<string, string>>

/** The forms of keys and values, as sources of regular expressions. */
export const labelName = '[A-Za-z0-9](?:[\\w.-]{0,61}[A-Za-z0-9])?'
export const labelKey = `(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?/)?${labelName}`
const value = `(?:${labelName})?`
let made: RegExp | undefined
/** Made when it is first needed: a page that only declares the filter doesn't load it. */
const condition = (): RegExp =>
  (made ??= new RegExp(
    `^(?:(!) ?(${labelKey})|(${labelKey})(?: ?(!)?==? ?(${value})| (not)?in ?\\( ?(${value}(?: ?,${value})*) ?\\))?)$`,
  ))

interface Condition {
  readonly key: string
  /** The values of which the label must have one. Null: it must have any. */
  readonly values: readonly string[] | null
  /** The opposite must hold. */
  readonly not: boolean
}

/** Most characters of a selector. */
export const longestSelector = 1000

/** The conditions of a selector; null if the text is none. */
export function selectorOf(text: string): readonly Condition[] | null {
  if (text.length > longestSelector) return null
  const found = text
    .trim()
    .replaceAll(/\s+/g, ' ')
    // A space between two commas would belong to either, so that each doubles the ways to read a
    // list of empty values.
    .replaceAll(', ', ',')
    // Commas in parentheses separate values.
    .split(/ ?,(?![^()]*\))/)
    .map((part) => {
      const match = condition().exec(part)
      if (!match) return null
      const [, lacks, lacked, key, differs, one, notIn, several] = match
      return {
        key: lacked ?? key!,
        values: several?.split(/ ?,/) ?? (one === undefined ? null : [one]),
        not: (lacks ?? differs ?? notIn) !== undefined,
      }
    })
  return found.every((one) => one !== null) ? found : null
}

/** Whether the labels pass all conditions. */
export const selects = (selector: readonly Condition[], labels: Labels): boolean =>
  selector.every(({ key, values, not }) => {
    // Keys such as `constructor` are names of inherited properties, none of which is a string. A
    // list asks this of 10,000 servers, for which `Object.hasOwn` takes four times as long.
    const value: unknown = labels[key]
    return (typeof value === 'string' && (values?.includes(value) ?? true)) !== not
  })

/** The number of conditions of a selector; 0 if the text is none. */
export const conditionsIn = (text: string): number => selectorOf(text)?.length ?? 0

/** Says what a selector is, if a text is none. */
export const selectorSentence =
  'Conditions on labels look like rack=3,gen!=r640: key=value, key!=value, key, !key, key in (a,b) or key notin (a,b), with commas between'
