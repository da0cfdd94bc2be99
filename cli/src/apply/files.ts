/** Reads the documents of files and folders, and reports every problem with its file and line. */
import { opendir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod/mini'
import {
  type AnyDocument,
  type DocumentKind,
  documentKinds,
  documentSchemas,
} from '#contract/apply/documents.ts'
import { CliError } from '../exit.ts'
import { readBytes, textIn } from '../files.ts'
import { meant } from '../parse.ts'
import { oneLine } from '../text.ts'
import { copiedSlip, typeSlip, withoutSlips } from './slips.ts'
import { mostDocuments, readYaml, splitDocuments, type YamlDocument } from './yaml.ts'

/** A document and its place in a file. */
export interface Placed<D = AnyDocument> {
  readonly document: D
  readonly file: string
  readonly line: number
  /** The line of a field. */
  readonly lineOf: YamlDocument['lineOf']
}

export interface Problem {
  readonly file: string
  readonly line: number
  readonly message: string
}

/** Largest file in bytes. A file this large has about 100 000 servers. */
export const largestFile = 16 * 1024 * 1024
const mostFiles = 10_000
const unreadable = (path: string, cause: unknown): CliError => {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const why: Record<string, string> = {
    ENOENT: 'there is no such file',
    EACCES: 'you may not read it',
    EISDIR: 'it is a folder',
  }
  return new CliError(
    'failure',
    `${oneLine(path)} cannot be read${why[code] ? `: ${why[code]}` : ''}`,
    { cause },
  )
}

/**
 * The YAML files of a folder and its subfolders, in order. Hidden entries are left out. A folder
 * that contains a link to itself is read once.
 */
async function filesIn(folder: string, seen: Set<string>): Promise<string[]> {
  const real = await realpath(folder)
  if (seen.has(real)) return []
  seen.add(real)
  const entries: string[] = []
  for await (const { name } of await opendir(folder)) if (!name.startsWith('.')) entries.push(name)
  const files: string[] = []
  for (const name of entries.toSorted()) {
    const path = join(folder, name)
    const isFolder = (await stat(path).catch(() => null))?.isDirectory() ?? false
    if (isFolder) files.push(...(await filesIn(path, seen)))
    else if (/\.ya?ml$/i.test(name)) files.push(path)
    if (files.length > mostFiles)
      throw new CliError('usage', `${oneLine(folder)} contains more than ${mostFiles} YAML files`)
  }
  return files
}

/** The text of a file, or of standard input (`-`), of at most `largestFile` bytes. */
async function textOf(path: string): Promise<string> {
  const bytes = await readBytes(path, largestFile)
  if (bytes.length > largestFile)
    throw new CliError(
      'usage',
      `${oneLine(path)} is larger than ${largestFile / 1024 ** 2} MiB: split it into several files`,
    )
  return textIn(path, bytes)
}

const isKind = (kind: unknown): kind is DocumentKind =>
  typeof kind === 'string' && Object.hasOwn(documentSchemas, kind)

/** The sentences of a document's problems, with their lines. */
function problemsOf(
  yaml: YamlDocument,
  issues: readonly z.core.$ZodIssue[],
  known: readonly string[],
): { line: number; message: string }[] {
  return issues.flatMap((issue) => {
    const where = issue.path.join('.')
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => ({
        line: yaml.lineOf(issue.path, key),
        message: `There is no field ${oneLine([...issue.path, key].join('.'))}${issue.path.length === 0 ? meant(key, known) : ''}`,
      }))
    // The sentence of a key, such as that of a label, is in the issues of the key.
    const sentence =
      issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message
    const isMissing =
      (issue.code === 'invalid_type' || issue.code === 'invalid_value') && issue.input === undefined
    return [
      {
        line: yaml.lineOf(issue.path),
        message: isMissing ? `${where} is missing` : `${where}: ${typeSlip(issue) ?? sentence}`,
      },
    ]
  })
}

function readOne(yaml: YamlDocument, file: string): { placed?: Placed; problems: Problem[] } {
  const { value, line, lineOf } = yaml
  const say = (at: number, message: string) => ({ problems: [{ file, line: at, message }] })
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return say(line, 'A document is a map that begins with kind: …')
  const { kind } = value as { kind?: unknown }
  if (kind === undefined) return say(line, `kind is missing: ${documentKinds.join(', ')}`)
  if (!isKind(kind))
    return say(
      lineOf([], 'kind'),
      typeof kind === 'string'
        ? `There is no kind ${oneLine(kind)}${meant(kind, documentKinds)}`
        : `kind must be a word: ${documentKinds.join(', ')}`,
    )
  const schema = documentSchemas[kind]
  const read = z.safeParse<z.core.$ZodType>(schema, value, { reportInput: true })
  if (read.success)
    return { placed: { document: read.data as AnyDocument, file, line, lineOf }, problems: [] }
  return {
    problems: problemsOf(yaml, read.error.issues, Object.keys(schema.shape)).map((p) => ({
      file,
      ...p,
    })),
  }
}

/**
 * The problems of a document as they are told. A slip of copied text comes first, and in place of
 * the problems that end with it.
 */
function told(
  { one, before, shown }: { one: string; before: number; shown: string },
  found: readonly Problem[],
): readonly Problem[] {
  const slip = copiedSlip(one)
  if (slip === null) return found
  const mended = readYaml(withoutSlips(one), before)
  return [
    { file: shown, line: before + slip.line, message: slip.message },
    ...(mended.ok ? readOne(mended.document, shown).problems : []),
  ]
}

/**
 * Reads all documents. `paths`: files, folders, or `-` for standard input. The documents are
 * complete only if there are no problems. Throws CliError for a file that can't be read.
 */
export async function readDocuments(
  paths: readonly string[],
): Promise<{ documents: Placed[]; problems: Problem[] }> {
  const documents: Placed[] = []
  const problems: Problem[] = []
  const seen = new Set<string>()
  for (const path of paths) {
    let files: string[]
    try {
      files = path !== '-' && (await stat(path)).isDirectory() ? await filesIn(path, seen) : [path]
    } catch (cause) {
      throw cause instanceof CliError ? cause : unreadable(path, cause)
    }
    if (files.length === 0)
      throw new CliError('usage', `${oneLine(path)} contains no file with the ending .yaml or .yml`)
    for (const file of files) {
      const text = await textOf(file).catch((cause: unknown) => {
        throw cause instanceof CliError ? cause : unreadable(file, cause)
      })
      const shown = file === '-' ? 'standard input' : file
      for (const { text: one, before } of splitDocuments(text)) {
        const reading = readYaml(one, before)
        const { placed, problems: found } = reading.ok
          ? readOne(reading.document, shown)
          : { problems: reading.problems.map((p) => ({ file: shown, ...p })) }
        if (placed) documents.push(placed)
        problems.push(...(found.length === 0 ? found : told({ one, before, shown }, found)))
        if (documents.length > mostDocuments)
          throw new CliError(
            'usage',
            `There are more than ${mostDocuments} documents: apply them in parts`,
          )
      }
    }
  }
  return { documents, problems }
}
