import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Folders of the Go programs, one for each Talos minor that is compared. */
export const versions = readdirSync(import.meta.dirname).filter((name) => /^v1\.\d+$/.test(name))

/** File with Talos's answers for one of `versions`. */
export const answersFile = (version: string): string =>
  join(import.meta.dirname, version, 'answers.json')

/**
 * File with certificate authorities for one of `versions`, made by Talos's own code. No cluster
 * uses them.
 */
export const authoritiesFile = (version: string): string =>
  join(import.meta.dirname, version, 'authorities.json')
