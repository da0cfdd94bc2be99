/**
 * The worker thread that verifies the audit log (`checking.ts`), with a database connection of its
 * own. It asks the main thread to decrypt the chain's key.
 */
import { parentPort, workerData } from 'node:worker_threads'
import type { AuditHead } from '#contract/audit.ts'
import { type Cause, causeOf } from '../../../causes/causes.ts'
import type { Connection } from '../../../db/connection.ts'
import { connect } from '../../../db/db.ts'
import { SealBroken } from '../../../vault/cipher.ts'
import type { Chain } from '../../events/api.ts'
import type { ChainVerdict } from '../api.ts'
import { checkChain } from './chain-check.ts'

export interface Given {
  readonly connection: Connection
  readonly noted: AuditHead | undefined
  /** How long connecting may take, in ms. */
  readonly connectMs: number | undefined
}
/** From the worker thread. */
export type Told =
  | { readonly is: 'sealed'; readonly sealed: Uint8Array }
  | { readonly is: 'progress'; readonly checked: number; readonly of: number }
  /** What ended the verification, before the error itself, which loses its type between threads. */
  | { readonly is: 'failed'; readonly cause: Cause }
  | { readonly is: 'verdict'; readonly verdict: ChainVerdict }
/** To the worker thread, in response to `sealed`. `broken`: why the key can't be decrypted. */
export type Opened =
  | { readonly key: Uint8Array; readonly after: Chain['after'] }
  | { readonly broken: string }

const port = parentPort!
const { connection, noted, connectMs } = workerData as Given
const tell = (told: Told) => port.postMessage(told, [])

const open = (sealed: Uint8Array): Promise<Chain> =>
  new Promise((resolve, reject) => {
    port.once('message', (opened: Opened) => {
      if ('broken' in opened) reject(new SealBroken(opened.broken))
      else resolve({ key: Buffer.from(opened.key), after: opened.after })
    })
    tell({ is: 'sealed', sealed })
  })

const database = connect({ connection, poolSize: 1 })
if (connectMs !== undefined) database.pool.options.connectionTimeoutMillis = connectMs
try {
  const progress = (checked: number, of: number) => tell({ is: 'progress', checked, of })
  tell({
    is: 'verdict',
    verdict: await checkChain(database.db, {
      open: (_tx, sealed) => open(sealed),
      noted,
      progress,
    }),
  })
} catch (error) {
  tell({ is: 'failed', cause: causeOf(error) })
  throw error
} finally {
  await database.close()
}
