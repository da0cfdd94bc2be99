/**
 * Asks the database for one value, by a statement without parameters that each connection prepares
 * once. The driver's own query takes twice the processor time, and so does PostgreSQL if it parses
 * and plans the text each time.
 */
import type { Connection, Pool, PoolClient, Submittable } from 'pg'
import { serialize } from 'pg-protocol'
import { takeClient, typedError } from './away.ts'

interface Statement {
  readonly name: string
  /** Returns one row with one column that is never null. */
  readonly text: string
  /** The messages that run the prepared statement: Bind, Execute and Sync. */
  readonly run: Buffer
}

/** @param name unique in the program */
export const valueStatement = (name: string, text: string): Statement => ({
  name,
  text,
  run: Buffer.concat([serialize.bind({ statement: name }), serialize.execute(), serialize.sync()]),
})

/**
 * What the driver keeps for each connection and what it tells a query (pg/lib/client.js), as in
 * pg-cursor.
 */
type Prepared = Connection & { readonly parsedStatements: Readonly<Record<string, string>> }

class OneValue implements Submittable {
  readonly name: string
  readonly text: string
  readonly #run: Buffer
  #value = ''
  readonly #settle: (error: Error | undefined, value: string) => void

  constructor(
    { name, text, run }: Statement,
    settle: (error: Error | undefined, value: string) => void,
  ) {
    this.name = name
    this.text = text
    this.#run = run
    this.#settle = settle
  }

  submit(connection: Connection): void {
    if (!(this.name in (connection as Prepared).parsedStatements))
      connection.parse({ name: this.name, text: this.text, types: [] }, true)
    connection.stream.write(this.#run)
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
  const client: PoolClient = await takeClient(pool)
  return new Promise((resolve, reject) => {
    client.query(
      new OneValue(statement, (error, value) => {
        client.release(error)
        if (error) reject(typedError(client, error))
        else resolve(value)
      }),
    )
  })
}
