/**
 * Declarations of commands, and the commands that follow from the contract: lists, and actions on
 * one object.
 */
import {
  type AnyList,
  type BareColumn,
  choicesOf,
  type ColumnKey,
  filtersOf,
  helpOf,
  type ItemOf,
  type ListColumn,
  type ListFilter,
  noValue,
  sortKeys,
} from '#contract/list.ts'
import type { Answer, Asked, Operation } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import type { Api } from './api/client.ts'
import { formatNames } from './output/format.ts'
import { type Column, shownOf, table } from './table.ts'
import type { Colour, Terminal } from './terminal.ts'
import { disk, localTime, memory, words } from './text.ts'
import { watchOption, watchView } from './watch-view.ts'

/** `help`: one line. `value`: placeholder of the value in the help. */
export interface TextOption {
  readonly kind: 'text'
  readonly help: string
  readonly value: string
  readonly choices?: readonly string[]
  /** Values that the completion offers beside others. */
  readonly suggested?: readonly string[]
  /**
   * The option may be given several times. Each value may be a comma-separated list, unless the
   * option is `whole`.
   */
  readonly many?: true
  /** A comma is part of the value. */
  readonly whole?: true
  /** Each server takes at most one of the values. */
  readonly onePerServer?: true
  /** One letter, for a short form such as `-f`. */
  readonly short?: string
}
interface NumberOption extends Pick<TextOption, 'help' | 'value'> {
  readonly kind: 'number'
  /** Accepts fractions and negative numbers too, such as coordinates. */
  readonly decimal?: true
}
interface FlagOption {
  readonly kind: 'flag'
  readonly help: string
}
type Option = TextOption | NumberOption | FlagOption
export type Options = Readonly<Record<string, Option>>

/** A positional argument. Only the last one may be optional or repeated. */
interface Operand {
  readonly help: string
  readonly value: string
  readonly optional?: true
  readonly many?: true
}
export type Operands = Readonly<Record<string, Operand>>

type TextValue<O> = O extends { choices: readonly (infer C)[] } ? C : string
/** Value of a declared option, or of any option if the declaration isn't known. */
type OptionValue<O> = Option extends O
  ? string | string[] | number | boolean | undefined
  : O extends FlagOption
    ? boolean
    : O extends { many: true }
      ? TextValue<O>[]
      : (O extends NumberOption ? number : TextValue<O>) | undefined
type OperandValue<O> = Operand extends O
  ? string | string[] | undefined
  : O extends { many: true }
    ? string[]
    : O extends { optional: true }
      ? string | undefined
      : string
export interface Given<P extends Operands, O extends Options> {
  readonly operands: { readonly [K in keyof P]: OperandValue<P[K]> }
  readonly options: { readonly [K in keyof O]: OptionValue<O[K]> }
}

/** Operands and options of a command whose declaration isn't known. */
export type AnyGiven = Given<Operands, Options>

export interface Context {
  readonly terminal: Terminal
  readonly api: Api
  /** Whether the result is for a program: JSON or another form of `-o`. */
  readonly json: boolean
  /** The value on a line of its own, in the form that `json` stands for. */
  readonly line: (value: unknown) => string
  /** Prints the value in the form of `-o`, or else the text that the function returns. */
  readonly show: <T>(value: T, people: (value: T) => string) => void
  /**
   * Runs a command of the server program, which must be installed on this machine. Resolves to its
   * exit code.
   */
  readonly runProgram: (args: readonly string[]) => Promise<number>
}

/** Declaration of a command. Parsing, help and completion are derived from it. */
export interface Command<P extends Operands = Operands, O extends Options = Options> {
  /** `server list` */
  readonly name: string
  readonly summary: string
  readonly operands: P
  readonly options: O
  /** Command lines without the leading `steelyard`. */
  readonly examples: readonly string[]
  /** Whether the command has --json. */
  readonly json: boolean
  /** A command of the server program. The standalone client refuses it. */
  readonly local: boolean
  /** Resolves to the exit code, or to nothing for 0. */
  run(context: Context, given: Given<P, O>): Promise<number | undefined | void>
}
type Optional = 'operands' | 'options' | 'json' | 'local'

export const command = <
  const P extends Operands = Record<string, never>,
  const O extends Options = Record<string, never>,
>(
  declared: Omit<Command<P, O>, Optional> & Partial<Pick<Command<P, O>, Optional>>,
): Command<P, O> => ({ operands: {} as P, options: {} as O, json: true, local: false, ...declared })

/** The choices without the descending variants (`-name`). */
export const shownChoices = (choices: readonly string[] = []): readonly string[] =>
  choices.filter((c) => !c.startsWith('-'))

/** Options of commands with a result. */
const resultOptions: ReadonlySet<string> = new Set(['output', 'no-headers', 'json'])
/** The options of every command that the command has. */
export const generalOptions = ({ options, json }: Pick<Command, 'options' | 'json'>): Options =>
  Object.fromEntries(
    Object.entries<Option>(globalOptions).filter(
      ([name]) => !(name in options) && (json || !resultOptions.has(name)),
    ),
  )
/** The options of a command, and those of every command that it has. */
export const allOptions = (of: Pick<Command, 'options' | 'json'>): Options => ({
  ...of.options,
  ...generalOptions(of),
})

/** Options of every command. */
export const globalOptions = {
  url: {
    kind: 'text',
    value: 'URL',
    help: 'Address of Steelyard (default: STEELYARD_URL, then the address of the last sign-in)',
  },
  context: { kind: 'text', value: 'NAME', help: 'Name of a Steelyard; see steelyard context list' },
  'ca-file': {
    kind: 'text',
    value: 'FILE',
    help: 'PEM file of the authority that signed the certificate of Steelyard (default: STEELYARD_CA_FILE)',
  },
  output: {
    kind: 'text',
    value: 'FORMAT',
    short: 'o',
    suggested: formatNames,
    help: `Print the result as ${formatNames.join(', ')}`,
  },
  'no-headers': { kind: 'flag', help: 'Print tables without their first line' },
  json: { kind: 'flag', help: 'Print JSON for scripts, as -o json' },
  help: { kind: 'flag', help: 'Show this help' },
} as const satisfies Options

/** The object without its undefined values. */
export const given = <T extends object>(values: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }

/** A column that only the CLI has, or whose cells the CLI formats differently from the console. */
interface Cell<Item> {
  readonly title?: string
  readonly text?: (item: Item, now: number) => string
  readonly colour?: (item: Item, now: number) => Colour | null
  readonly right?: true
  /** The column is left out if it is empty in every row. */
  readonly optional?: true
  /** The column is left out before others if the terminal is too narrow. */
  readonly minor?: true
}
type Cells<L extends AnyList> = {
  readonly [K in BareColumn<L>]: Cell<ItemOf<L>> & Required<Pick<Cell<ItemOf<L>>, 'text'>>
} & Readonly<Record<string, Cell<ItemOf<L>>>>

interface DeclaredList<L extends AnyList, C, P extends Operands, O extends Options>
  extends Pick<Command, 'name'>, Partial<Pick<Command, 'summary' | 'examples'>> {
  readonly operation: Operation & { readonly list: L }
  /**
   * The table's columns in order, unless `--columns` is given. Default: the list's columns that
   * aren't hidden.
   */
  readonly shown?: readonly (ColumnKey<L> | (keyof C & string))[]
  readonly cells: C & Cells<L>
  readonly operands?: P
  /** Options in addition to those of the list. */
  readonly options?: O
  /** Returns the call's parameters other than search, filters, order and page. */
  ask?(context: Context, given: Given<P, O>): Promise<{ params?: object; query?: object }>
}

const flagOf = (key: string, { flag }: ListFilter): string => flag ?? key.replaceAll('_', '-')
const filterOption = (key: string, filter: ListFilter): TextOption => {
  const choices = choicesOf(filter)?.map(([value]) => value)
  return {
    kind: 'text',
    value: filter.placeholder ?? key.toUpperCase(),
    help: helpOf(filter),
    ...(choices && { choices }),
    ...(filter.none !== undefined && { suggested: [noValue] }),
    ...(filter.short && { short: filter.short }),
  }
}

/** The options for a list's filters. */
export const narrowingOptions = (list: AnyList): Options =>
  Object.fromEntries(
    filtersOf(list).map(([key, filter]) => [flagOf(key, filter), filterOption(key, filter)]),
  )
/** The option for a list's search. */
const searchOption = {
  search: { kind: 'text', value: 'TEXT', help: 'Only rows that contain the text' },
} as const
/** The options for what an export has of a list. */
export const exportOptions = (list: AnyList): Options => ({
  ...narrowingOptions(list),
  ...searchOption,
})
/** Converts the values of `exportOptions` to a query. */
export const exportQuery = (list: AnyList, options: AnyGiven['options']) => ({
  ...narrowingOf(list, options),
  ...given({ q: options['search'] as string | undefined }),
})
/** Converts the values of the filter options to the filters of a query. */
export const narrowingOf = (list: AnyList, options: AnyGiven['options']): Record<string, string> =>
  given(
    Object.fromEntries(filtersOf(list).map(([key, filter]) => [key, options[flagOf(key, filter)]])),
  ) as Record<string, string>

/** The options for what of a list is shown: its filters, a search, the order and the columns. */
export const shownOptions = (
  list: AnyList,
  columns: { readonly help: string; readonly choices: readonly string[] },
) => {
  const sorts: readonly string[] = sortKeys(list)
  return {
    ...narrowingOptions(list),
    ...searchOption,
    sort: {
      kind: 'text',
      value: 'COLUMN',
      help: `Order, descending as --sort=-${sorts[0]}`,
      choices: sorts.flatMap((key) => [key, `-${key}`]),
    },
    columns: { kind: 'text', value: 'COLUMNS', many: true, ...columns },
  } as const
}

const writers = {
  text: String,
  mono: String,
  number: String,
  word: (value: unknown) => words(String(value)),
  memory: (value: unknown) => memory(Number(value)),
  disk: (value: unknown) => disk(Number(value)),
  time: (value: unknown) => localTime(String(value)),
} as const
const rightKinds: ReadonlySet<string> = new Set(['number', 'memory', 'disk'])

function columnOf<Item>(
  key: string,
  declared: ListColumn<Item> | undefined,
  cell: Cell<Item>,
  now: number,
): Column<Item> & Pick<Cell<Item>, 'optional'> {
  const { kind = 'text', label = words(key), value } = declared ?? {}
  const plain = (item: Item): string => {
    const known = value?.(item) ?? null
    return known === null ? '' : writers[kind](known)
  }
  const {
    title = label.toUpperCase(),
    text = plain,
    colour,
    right = rightKinds.has(kind),
    optional = false as never,
    minor = false as never,
  } = cell
  return {
    title,
    text: (item) => text(item, now),
    right,
    optional,
    minor,
    ...(colour && { colour: (item: Item) => colour(item, now) }),
  }
}

/**
 * The command that shows a list: its options, its query and its table follow from the list's
 * declaration in the contract.
 */
export function listCommand<
  L extends AnyList,
  const C extends Readonly<Record<string, Cell<ItemOf<L>>>>,
  const P extends Operands = Record<string, never>,
  const O extends Options = Record<string, never>,
>({ operation, cells, options, ...declared }: DeclaredList<L, C, P, O>): Command {
  const asking: {
    ask?(context: Context, given: AnyGiven): Promise<{ params?: object; query?: object }>
  } = declared
  const { nouns } = operation.list
  const columns = operation.list.columns as Readonly<Record<string, ListColumn<ItemOf<L>>>>
  const { shown = Object.keys(columns).filter((key) => !columns[key]!.hidden) } = declared
  const all = [...new Set([...Object.keys(columns), ...Object.keys(cells)])]
  for (const [key, { text }] of Object.entries<Cell<ItemOf<L>>>(cells))
    if (!(key in columns) && !text) throw new Error(`${nouns[1]} have no column ${key}`)
  return command<Operands, Options>({
    summary: operation.summary,
    examples: [declared.name],
    ...declared,
    options: {
      ...options,
      ...shownOptions(operation.list, { help: 'Columns to show', choices: all }),
      page: { kind: 'number', value: 'N', help: 'Page, from 1' },
      'per-page': {
        kind: 'number',
        value: 'N',
        help: `Rows per page, at most ${operation.list.mostPerPage}`,
      },
      ...watchOption,
    },
    async run(context, read) {
      const { terminal, api, show } = context
      const o = read.options as Readonly<Record<string, string | number | boolean | undefined>> & {
        readonly columns: readonly string[]
      }
      const more = await asking.ask?.(context, read)
      const query = given({
        ...more?.query,
        ...narrowingOf(operation.list, read.options),
        q: o['search'],
        sort: o['sort'],
        page: o['page'],
        per_page: o['per-page'],
      })
      const load = async () =>
        (await api.call<Operation>(operation, { ...more, query })) as Page<ItemOf<L>>
      const draw = (page: Page<ItemOf<L>>): string => {
        const wanted: readonly string[] =
          o.columns.length > 0 ? o.columns : terminal.layout?.wide ? all : shown
        const drawn = wanted
          .map((key) =>
            columnOf<ItemOf<L>>(
              key,
              columns[key],
              (cells as Readonly<Record<string, Cell<ItemOf<L>>>>)[key] ?? {},
              terminal.now(),
            ),
          )
          .filter(
            (column) => !column.optional || page.items.some((item) => column.text(item) !== ''),
          )
        const rows = table(terminal, page.items, drawn, `No ${nouns[1]}`)
        return terminal.layout?.headers === false ? rows : rows + shownOf(page)
      }
      if (o['watch'] === true) return watchView(context, load, draw)
      const page = await load()
      // A program reads only rows, so the note that there are more goes to standard error.
      if (context.json || terminal.layout?.headers === false) terminal.err(shownOf(page))
      show(page, draw)
      return undefined
    },
  })
}

/** `name`: the object's name, or its id if the user entered the id. */
export interface Found {
  readonly id: string
  readonly name: string
}

export interface Noun extends Operand {
  /** An example operand for the help. */
  readonly example: string
  /** The list that has these objects, and the field of its items that names them (jsonpath). */
  readonly names: readonly [command: string, field: string]
  /**
   * Finds the object by its name or id. Throws CliError `not_found`, or `usage` for an id in a
   * wrong format.
   */
  readonly find: (api: Api, text: string) => Promise<Found>
}

interface DeclaredObject<O extends Operation, P extends Operands, Q extends Options> extends Pick<
  Command,
  'name'
> {
  /** The kind of object that the first operand names. */
  readonly of: Noun
  /** The API operation to call. Its path parameter is the object's id. */
  readonly operation: O
  /** Default: the operation's summary. */
  readonly summary?: string
  /** Default: one command line, with the example of `of` as operand. */
  readonly examples?: Command['examples']
  /** Operands after the operand that names the object. */
  readonly operands?: P
  readonly options?: Q
  /**
   * Returns query and body of the call, and the object's version if the body was made from what was
   * read. Asks the user first if the action can't be undone.
   */
  ask?(context: Context, given: Given<P, Q>, object: Found): Promise<Sent<O>>
  /**
   * Returns the text to print for the response. `name`: the object's name as the user entered it.
   */
  say?(answer: Answer<O>, name: string, context: Context): string
  /**
   * Instead of `say`: prints the response and resolves to the exit code. `name`: the object's name.
   */
  done?(
    context: Context,
    answer: Answer<O>,
    given: Given<P, Q>,
    name: string,
  ): number | undefined | Promise<number | undefined>
}
type Sent<O extends Operation> = Partial<Pick<Asked<O>, 'query' | 'body'>> & {
  readonly version?: number | undefined
}
/** The functions of a declaration, with general types for operands and options. */
type Acts<O extends Operation> = Pick<DeclaredObject<O, Operands, Options>, 'ask' | 'say' | 'done'>

/**
 * A command about one object: finds the object that the first operand names, calls the API with its
 * id, prints the response.
 */
export function objectCommand<
  O extends Operation,
  const P extends Operands = Record<string, never>,
  const Q extends Options = Record<string, never>,
>(declared: DeclaredObject<O, P, Q>): Command {
  const {
    name,
    of,
    operation,
    summary = operation.summary,
    examples = [`${name} ${of.example}`],
    operands,
    options = {},
  } = declared
  const acts: Acts<O> = declared
  const operand = of.value.toLowerCase()
  const canWatch = operation.method === 'GET' && acts.done === undefined
  return command<Operands, Options>({
    name,
    summary,
    examples,
    operands: { [operand]: of, ...operands },
    options: { ...options, ...(canWatch && watchOption) },
    async run(context, given) {
      const object = await of.find(context.api, String(given.operands[operand]))
      const { id } = object
      const { version, ...sent } = (await acts.ask?.(context, given, object)) ?? {}
      const load = async () =>
        (await context.api.call<Operation>(
          operation,
          { params: { id }, ...sent },
          { version },
        )) as Answer<O>
      const draw = (answer: Answer<O>): string => acts.say?.(answer, object.name, context) ?? ''
      if (canWatch && given.options['watch'] === true) return watchView(context, load, draw)
      const answer = await load()
      if (acts.done) return acts.done(context, answer, given, object.name)
      context.show(answer ?? { id }, () => draw(answer))
      return undefined
    },
  })
}
