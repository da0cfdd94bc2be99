import type { PatchProblem } from '#contract/patches.ts'
import { checkPatch } from '#talos/config/patch-check.ts'
import { minors } from '#talos/versions.ts'
import { problemOf } from './render.ts'

/** What speaks against a patch's body by the rules for patches, by line; for the newest Talos unless the server's cluster says another. */
export const checkBody = (body: string, talosVersion: string = minors.at(-1)!.version): PatchProblem[] =>
  checkPatch(body, { talosVersion }).errors.map(problemOf)

/** An error of a body, for a form and for a person. */
export const sentenceOf = ({ line, path, message }: PatchProblem): string =>
  `${line === null ? '' : `Line ${line}: `}${message}${path === null || path === '' || message.includes(path) ? '' : ` (${path})`}`
