/** Reads and writes facts in the text of a configuration by name, in whichever home they have. */
import { changedBy, rootsOf } from '../config/whole.ts'
import type { MapNode } from '../config/tree.ts'
import { copyFrom, type Fact, homeIn, readIn, rootOf, writeTo } from './home.ts'
import { withIssuer } from './issuer.ts'
import { virtualAddresses } from './network.ts'
import { facts, secretFacts } from './table.ts'

type ValueOf<F> = F extends Fact<infer V> ? V : never
type Values<Table> = { readonly [name in keyof Table]: ValueOf<Table[name]> }
export type FactValues = Values<typeof facts>
type Secrets = Values<typeof secretFacts>

/** The facts of a configuration, without secrets. */
export interface Facts extends FactValues {
  /** Virtual addresses of the machine's links. */
  readonly virtualAddresses: readonly string[]
}

const readAll = <Table extends object>(roots: readonly MapNode[], table: Table) =>
  Object.fromEntries(
    Object.entries(table).map(([name, fact]) => [name, readIn(roots, fact as Fact<unknown>)]),
  ) as Values<Table>

/** @throws ConfigError for invalid YAML */
export function factsOf(config: string): Facts {
  const roots = rootsOf(config)
  return { ...readAll(roots, facts), virtualAddresses: virtualAddresses(roots) }
}

/** The keys, tokens and authorities of a configuration. @throws ConfigError for invalid YAML */
export const secretsIn = (config: string): Secrets => readAll(rootsOf(config), secretFacts)

/**
 * The configuration with other values of facts. Null, and an empty list of authorities, remove what
 * is there. Tokens of service accounts are issued by another endpoint. @throws ConfigError for
 * invalid YAML
 */
export const withFacts = (config: string, values: Partial<FactValues & Secrets>): string =>
  changedBy(config, (roots) => {
    const changed = Object.entries(values).reduce<readonly MapNode[]>((all, [name, value]) => {
      const fact = { ...facts, ...secretFacts }[name as keyof typeof values] as Fact<unknown>
      return writeTo(all, homeIn(all, fact), value)
    }, roots)
    return values.endpoint
      ? withIssuer(changed, readIn(roots, facts.endpoint), values.endpoint)
      : changed
  })

/**
 * Our configuration with the keys, tokens and authorities of another one. If somebody else has
 * rotated a machine's secrets and changed nothing else, the result equals the machine's
 * configuration.
 */
export function withSecretsOf(config: string, other: string): string {
  const from = rootsOf(other)
  if (rootOf(from, '') === undefined) return config
  return changedBy(config, (roots) =>
    Object.values(secretFacts).reduce<readonly MapNode[]>(
      (all, fact) => copyFrom(all, from, fact as Fact<unknown>),
      roots,
    ),
  )
}
