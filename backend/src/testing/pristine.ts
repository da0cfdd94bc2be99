/** What a migrated database contains before anything is written to it. */
import { type Client, escapeIdentifier, escapeLiteral } from 'pg'

export interface Pristine {
  /** What `catalogState` returns. */
  readonly catalog: string
  /** Statements that replace the rows of all tables by those of the template. */
  readonly renew: string
}

/**
 * A query of one text that is another one after any change of a table, function or trigger: each
 * such change writes a row of a catalog, whose `xmin` is the transaction that wrote it.
 */
export const catalogState = `select concat_ws(' ', ${[
  'pg_attrdef',
  'pg_attribute',
  'pg_class',
  'pg_constraint',
  'pg_index',
  'pg_namespace',
  'pg_proc',
  'pg_trigger',
  'pg_type',
]
  .map((table) => `(select count(*) || '/' || sum(xmin::text::bigint) from ${table})`)
  .join()})`

interface Table {
  readonly name: string
  /** Without the generated columns. */
  readonly columns: readonly string[]
}

/** Reads it from the template. */
export async function pristineOf(client: Client): Promise<Pristine> {
  const { rows: tables } = await client.query<Table>(`
    select relname as name, array_agg(attname::text order by attnum) as columns
    from pg_class join pg_attribute on attrelid = pg_class.oid
    where relkind = 'r' and relnamespace = 'public'::regnamespace
      and attnum > 0 and not attisdropped and attgenerated = '' group by relname order by relname`)
  const { rows: sequences } = await client.query<{ name: string }>(
    `select relname as name from pg_class where relkind = 'S' and relnamespace = 'public'::regnamespace`,
  )
  // As a replica, because triggers refuse to change the audit log, and foreign keys would demand an
  // order.
  // Only from tables that have pages, because to open each of the others takes longer.
  const statements = [
    'set session_replication_role = replica',
    `do $$ declare written regclass; begin
      for written in select oid from pg_class where relkind = 'r'
        and relnamespace = 'public'::regnamespace and pg_relation_size(oid) > 0
      loop execute 'delete from ' || written; end loop; end $$`,
  ]
  for (const { name, columns } of tables) {
    const table = escapeIdentifier(name)
    const all = columns.map((column) => escapeIdentifier(column)).join()
    // In an order of their own: PostgreSQL returns rows in the order of its pages, and puts inserted
    // rows into pages that a vacuum has emptied.
    const { rows } = await client.query<{ rows: string | null }>(
      `select jsonb_agg(to_jsonb(t) order by t::text)::text as rows from ${table} t`,
    )
    if (rows[0]!.rows !== null)
      statements.push(
        `insert into ${table} (${all}) overriding system value
          select ${all} from jsonb_populate_recordset(null::${table}, ${escapeLiteral(rows[0]!.rows)})`,
      )
  }
  for (const { name } of sequences) {
    const { rows } = await client.query<{ last_value: string; is_called: boolean }>(
      `select last_value, is_called from ${escapeIdentifier(name)}`,
    )
    const { last_value: last, is_called: isCalled } = rows[0]!
    statements.push(`select setval('${escapeIdentifier(name)}', ${last}, ${isCalled})`)
  }
  const { rows } = await client.query<{ text: string }>(`select (${catalogState}) as text`)
  return { catalog: rows[0]!.text, renew: statements.join(';\n') }
}
