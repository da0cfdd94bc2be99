/**
 * What a new cluster takes over from a template or another cluster. One file, which loads when a
 * cluster is created in this way.
 */
export { ByNeed } from './ByNeed.tsx'
export { StartFrom } from './StartFrom.tsx'
