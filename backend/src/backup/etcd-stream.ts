/** Checks a snapshot of etcd on a thread, while its bytes are passed on. */
import { etcdStream } from '../reading/stream.ts'
import type { EtcdFile } from './etcd-file.ts'

/**
 * Passes the bytes on and checks them. Calls `found` after the last byte.
 * @throws BackupRefused if the bytes are no snapshot of etcd, are cut off, or don't have the hash
 * at their end; Problem `unavailable` if reading them takes too much time or memory
 */
export async function* checkedEtcdFile(
  source: AsyncIterable<Uint8Array>,
  found: (file: EtcdFile) => void,
): AsyncGenerator<Uint8Array> {
  const thread = etcdStream<EtcdFile>()
  try {
    for await (const piece of source) {
      await thread.push(piece)
      yield piece
    }
    found(await thread.end())
  } finally {
    thread.close()
  }
}
