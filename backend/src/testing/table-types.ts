/**
 * Writes the query builder's types of all tables from a migrated database. `npm run
 * generate:tables` brings `db/tables.gen.ts` up to date.
 */
import { type Kysely, sql } from 'kysely'

interface Column {
  table: string
  name: string
  /** PostgreSQL's name of the type: `text`, `timestamp with time zone`, `integer[]`. */
  type: string
  required: boolean
  hasDefault: boolean
  computed: boolean
  /**
   * The check constraint of the column alone: `CHECK ((role = ANY (ARRAY['viewer'::text,
   * 'admin'::text])))`.
   */
  check: string | null
}

const askColumns = sql<Column>`
  select c.relname as table, a.attname as name, format_type(a.atttypid, null) as type, a.attnotnull as required, a.atthasdef as "hasDefault",
    a.attgenerated <> '' or a.attidentity = 'a' as computed,
    (select pg_get_constraintdef(k.oid) from pg_constraint k
      where k.conrelid = c.oid and k.contype = 'c' and k.conkey = array[a.attnum] and pg_get_constraintdef(k.oid) like '%= ANY (ARRAY[%' limit 1) as check
  from pg_class c join pg_attribute a on a.attrelid = c.oid
  where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and c.relname <> 'migration' and a.attnum > 0 and not a.attisdropped
  order by c.relname, a.attnum`

const types: Readonly<Record<string, string>> = {
  integer: 'number',
  smallint: 'number',
  bigint: 'number',
  'double precision': 'number',
  boolean: 'boolean',
  'timestamp with time zone': 'Date',
  bytea: 'Uint8Array',
}
/** Types whose values are sent and received as text. */
const texts = new Set(['text', 'uuid', 'inet', 'cidr', 'macaddr', 'numeric', 'xid8'])

function typeOf({ table, name, type, check }: Column, declared: ReadonlySet<string>): string {
  if (declared.has(`${table}.${name}`)) return `Columns['${table}.${name}']`
  const values = check?.includes('ARRAY')
    ? [...check.matchAll(/'((?:[^']|'')*)'::text/g)].map((m) => `'${m[1]}'`)
    : []
  if (values.length > 0) return values.join(' | ')
  const of = type.replace('[]', '')
  const found = texts.has(of) ? 'string' : types[of]
  if (found === undefined)
    throw new Error(`${table}.${name} has the type ${type}: declare it in db/columns.ts`)
  return type.endsWith('[]') ? `${found}[]` : found
}

/**
 * @param declared keys of the interface `Columns` in `db/columns.ts`. @throws Error for a key
 * without a column, or a column of an unknown type
 */
export async function tableTypes(
  db: Kysely<never>,
  declared: ReadonlySet<string>,
): Promise<string> {
  const { rows } = await askColumns.execute(db)
  const missing = [...declared].filter((key) => !rows.some((c) => key === `${c.table}.${c.name}`))
  if (missing.length > 0)
    throw new Error(`db/columns.ts declares what the database doesn't have: ${missing.join(', ')}`)
  const lineOf = (column: Column) => {
    const type = typeOf(column, declared)
    const full = column.required ? type : `${type} | null`
    if (column.computed) return `${column.name}: GeneratedAlways<${full}>`
    if (column.type === 'jsonb')
      return `${column.name}: ${column.required ? (column.hasDefault ? 'DefaultJson' : 'Json') : 'OptionalJson'}<${type}>`
    return `${column.name}: ${column.hasDefault ? `Generated<${full}>` : full}`
  }
  const tables = [...Map.groupBy(rows, (c) => c.table)].map(
    ([table, columns]) =>
      `  ${table}: {\n${columns.map((c) => `    ${lineOf(c)}\n`).join('')}  }\n`,
  )
  return `// Generated from the migrated database by npm run generate:tables.
import type { ColumnType, Generated, GeneratedAlways } from 'kysely'
import type { Columns } from './columns.ts'

/** Values are parsed when read, and written as JSON text. */
type Json<T> = ColumnType<T, string, string>
type DefaultJson<T> = ColumnType<T, string | undefined, string>
type OptionalJson<T> = ColumnType<T | null, string | null | undefined, string | null>

export interface Tables {
${tables.join('')}}
`
}
