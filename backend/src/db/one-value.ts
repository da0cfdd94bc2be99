/**
 * Asks the database for one value, by a statement without parameters that each connection prepares once. The driver's own query takes twice the processor time,
 * and so does PostgreSQL if it parses and plans the text each time.
 */
import type { Connection, Pool, PoolClient, Submittable } from 'pg'

interface Statement {
  /** Unique in the program. */
  readonly name: string
  /** Returns one row with one column that is never null. */
  readonly text: string
}

/** What the driver keeps for each connection and what it tells a query (pg/lib/client.js), as in pg-cursor. */
type Prepared = Connection & { readonly parsedStatements: Readonly<Record<string, string>> }

class OneValue implements Submittable {
  readonly name: string
  readonly text: string
  #value = ''
  readonly #settle: (error: Error | undefined, value: string) => void

  constructor({ name, text }: Statement, settle: (error: Error | undefined, value: string) => void) {
    this.name = name
    this.text = text
    this.#settle = settle
  }

  submit(connection: Connection): void {
    const { stream } = connection
    stream.cork()
    if (!(this.name in (connection as Prepared).parsedStatements)) connection.parse({ name: this.name, text: this.text, types: [] }, true)
    connection.bind({ statement: this.name }, true)
    connection.execute({}, true)
    connection.sync()
    stream.uncork()
  }

  handleDataRow({ fields }: { readonly fields: readonly [string] }): void {
    this.#value = fields[0]
  }

  handleCommandComplete(): void {
    // The answer is over when the connection is ready for the next query.
  }

  handleReadyForQuery(): void {
    this.#settle(undefined, this.#value)
  }

  handleError(error: Error): void {
    this.#settle(error, '')
  }
}

export async function oneValue(pool: Pool, statement: Statement): Promise<string> {
  const client: PoolClient = await pool.connect()
  return new Promise((resolve, reject) => {
    client.query(
      new OneValue(statement, (error, value) => {
        client.release(error)
        if (error) reject(error)
        else resolve(value)
      }),
    )
  })
}
