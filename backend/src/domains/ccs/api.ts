/** What other domains may call of capacity commitments. */
export { serverRemoved } from './removed.ts'
