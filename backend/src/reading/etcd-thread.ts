/**
 * The thread that reads one snapshot of etcd: a message is its next piece, or null after the last.
 */
import { EtcdReader } from '../backup/etcd-file.ts'
import { serve } from './serve.ts'

const file = new EtcdReader()

serve((piece: Uint8Array | null) =>
  piece === null
    ? file.end()
    : file.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)),
)
