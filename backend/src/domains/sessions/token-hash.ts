import { createHash } from 'node:crypto'

/**
 * What the database stores of a token: SHA-256, because tokens are random and can't be guessed from
 * their hash.
 */
export const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()
