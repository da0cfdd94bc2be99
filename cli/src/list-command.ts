import { type AnyList, type BareColumn, choicesOf, type ColumnKey, filtersOf, type ItemOf, type ListColumn, type ListFilter, sortKeys } from '#contract/list.ts'
import type { Operation } from '#contract/operation.ts'
import type { Page } from '#contract/page.ts'
import { type AnyGiven, command, type Command, type Context, type Given, given, type Operands, type Options, type TextOption } from './command.ts'
import { type Column, shownOf, table } from './table.ts'
import type { Colour } from './terminal.ts'
import { disk, localTime, memory, words } from './text.ts'

/** What a table shows of a column in another way than its declaration says, or a column that only the CLI has. */
interface Cell<Item> {
  readonly title?: string
  readonly text?: (item: Item, now: number) => string
  readonly colour?: (item: Item, now: number) => Colour | null
  readonly right?: true
  /** Left out where it is empty in every row. */
  readonly optional?: true
}
type Cells<L extends AnyList> = { readonly [K in BareColumn<L>]: Cell<ItemOf<L>> & Required<Pick<Cell<ItemOf<L>>, 'text'>> } & Readonly<
  Record<string, Cell<ItemOf<L>>>
>

interface Declared<L extends AnyList, C, P extends Operands, O extends Options> extends Pick<Command, 'name' | 'summary' | 'examples'> {
  readonly operation: Operation & { readonly list: L }
  /** The table's columns, in their order, where `--columns` names no others. */
  readonly shown: readonly (ColumnKey<L> | (keyof C & string))[]
  readonly cells: C & Cells<L>
  readonly operands?: P
  /** Beside those of the list. */
  readonly options?: O
  /** Parameters of the call beside search, filters, order and page. */
  ask?(context: Context, given: Given<P, O>): Promise<{ params?: object; query?: object }>
}

const flagOf = (key: string, { flag }: ListFilter): string => flag ?? key.replaceAll('_', '-')
const filterOption = (key: string, filter: ListFilter): TextOption => {
  const choices = choicesOf(filter)?.map(([value]) => value)
  return { kind: 'text', value: filter.value ?? key.toUpperCase(), help: filter.help, ...(choices && { choices }) }
}

/** The options that narrow a list by its filters. */
export const narrowingOptions = (list: AnyList): Options =>
  Object.fromEntries(filtersOf(list).map(([key, filter]) => [flagOf(key, filter), filterOption(key, filter)]))
/** The filters of a query, as those options were given. */
export const narrowingOf = (list: AnyList, options: AnyGiven['options']): Record<string, string> =>
  given(Object.fromEntries(filtersOf(list).map(([key, filter]) => [key, options[flagOf(key, filter)]]))) as Record<string, string>

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

function columnOf<Item>(key: string, declared: ListColumn<Item> | undefined, cell: Cell<Item>, now: number): Column<Item> & Pick<Cell<Item>, 'optional'> {
  const { kind = 'text', label = words(key), value } = declared ?? {}
  const plain = (item: Item): string => {
    const known = value?.(item) ?? null
    return known === null ? '' : writers[kind](known)
  }
  const { title = label.toUpperCase(), text = plain, colour, right = rightKinds.has(kind), optional = false as never } = cell
  return { title, text: (item) => text(item, now), right, optional, ...(colour && { colour: (item: Item) => colour(item, now) }) }
}

/** The command that shows a list: its options, its query and its table follow from the list's declaration in the contract. */
export function listCommand<
  L extends AnyList,
  const C extends Readonly<Record<string, Cell<ItemOf<L>>>>,
  const P extends Operands = Record<string, never>,
  const O extends Options = Record<string, never>,
>({ operation, shown, cells, options, ...declared }: Declared<L, C, P, O>): Command {
  const asking: { ask?(context: Context, given: AnyGiven): Promise<{ params?: object; query?: object }> } = declared
  const { nouns } = operation.list
  const columns = operation.list.columns as Readonly<Record<string, ListColumn<ItemOf<L>>>>
  const all = [...new Set([...Object.keys(columns), ...Object.keys(cells)])]
  const sorts = sortKeys(operation.list)
  return command<Operands, Options>({
    ...declared,
    options: {
      ...options,
      ...narrowingOptions(operation.list),
      search: { kind: 'text', value: 'TEXT', help: 'Only what contains the text' },
      sort: { kind: 'text', value: 'COLUMN', help: `Order, descending as --sort=-${sorts[0]}`, choices: sorts.flatMap((key) => [key, `-${key}`]) },
      columns: { kind: 'text', value: 'COLUMNS', help: 'Columns to show', choices: all, many: true },
      page: { kind: 'number', value: 'N', help: 'Page, from 1' },
      'per-page': { kind: 'number', value: 'N', help: 'Rows per page, at most 1000' },
    },
    async run(context, read) {
      const { terminal, api, show } = context
      const o = read.options as Readonly<Record<string, string | number | undefined>> & { readonly columns: readonly string[] }
      const more = await asking.ask?.(context, read)
      const query = given({
        ...more?.query,
        ...narrowingOf(operation.list, read.options),
        q: o['search'],
        sort: o['sort'],
        page: o['page'],
        per_page: o['per-page'],
      })
      const answer = (await api.call<Operation>(operation, { ...more, query })) as Page<ItemOf<L>>
      show(answer, (page) => {
        const wanted: readonly string[] = o.columns.length > 0 ? o.columns : shown
        const drawn = wanted
          .map((key) => columnOf<ItemOf<L>>(key, columns[key], (cells as Readonly<Record<string, Cell<ItemOf<L>>>>)[key] ?? {}, terminal.now()))
          .filter((column) => !column.optional || page.items.some((item) => column.text(item) !== ''))
        return table(terminal, page.items, drawn, `No ${nouns[1]}`) + shownOf(page)
      })
    },
  })
}
