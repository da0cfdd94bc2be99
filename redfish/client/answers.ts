/** Reads answers: documents, and the words in which a BMC refuses. */
import { RedfishError } from '../errors.ts'
import type { DocumentKind, Outcome, Read } from '../readers/readers.ts'
import { printable } from './paths.ts'
import type { Reply } from './transport.ts'

/** Reads a document where the caller wants that done, such as on another thread. */
export type DocumentReader = <K extends DocumentKind>(
  kind: K,
  bytes: Uint8Array<ArrayBuffer>,
) => Promise<Outcome<K>>

export const okay = (status: number): boolean => status >= 200 && status < 300

/** Status of an answer as a kind of error. */
function kindOf(status: number): RedfishError['kind'] {
  if (status === 401) return 'denied'
  if (status === 403) return 'forbidden'
  if (status === 404) return 'not_found'
  if (status === 412 || status === 428) return 'stale'
  return status === 409 || status === 429 || status >= 500 ? 'busy' : 'refused'
}

export interface Answers {
  /** What the BMC wrote; null if nothing. Without the secrets, should it repeat them. */
  readonly said: (reply: Reply) => Promise<string | null>
  /** The error of an answer that refuses. @param what completes "The BMC refused" */
  readonly refusal: (reply: Reply, what: string) => Promise<RedfishError>
  /** @throws RedfishError if the answer is no such document */
  readonly parse: <K extends DocumentKind>(kind: K, reply: Reply, path: string) => Promise<Read<K>>
}

/** @param secrets what no message may repeat */
export function answers(read: DocumentReader, secrets: () => readonly string[]): Answers {
  const said = async (reply: Reply): Promise<string | null> => {
    if (reply.bytes.length === 0) return null
    const found = await read('problem', reply.bytes)
    if ('unreadable' in found) return null
    const { error } = found.read
    const line =
      error['@Message.ExtendedInfo'].find((one) => one.Message !== null)?.Message ?? error.message
    if (line === null) return null
    return secrets().reduce((text, secret) => text.replaceAll(secret, '…'), line)
  }

  const refusal = async (reply: Reply, what: string): Promise<RedfishError> => {
    const { status } = reply
    const line = await said(reply)
    const why = line === null ? `with ${status}` : `(${status}): ${line.replace(/\.$/, '')}`
    return new RedfishError(kindOf(status), `The BMC refused ${what} ${why}`, { status })
  }

  const parse = async <K extends DocumentKind>(
    kind: K,
    reply: Reply,
    path: string,
  ): Promise<Read<K>> => {
    const found = await read(kind, reply.bytes)
    if ('unreadable' in found)
      throw new RedfishError(
        kind === 'root' ? 'unsupported' : 'unreadable',
        `The BMC answered ${printable(path, 100)} with ${found.unreadable}`,
        { status: reply.status },
      )
    return found.read
  }

  return { said, refusal, parse }
}
