/** Long texts that are the same for every client: made and compressed once. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { packed } from '../tags.ts'
import { accepts } from './files.ts'

/**
 * Sends a text that is made at its first request and kept as bytes, so that many slow readers share
 * one copy in memory; compressed for clients that accept gzip.
 */
export function madeOnce(type: string, make: () => string) {
  let bytes: Buffer | undefined
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    bytes ??= Buffer.from(make())
    void reply.type(type).header('vary', 'accept-encoding')
    if (!accepts(request, 'gzip')) return reply.send(bytes)
    return reply.header('content-encoding', 'gzip').send(await packed(bytes))
  }
}
