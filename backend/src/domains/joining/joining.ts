/** Joining as other domains see it. */
import type { Tokens } from './tokens.ts'

export type Joining = Pick<Tokens, 'tokenFor' | 'usableIn'>
