/** Validates a whole configuration as Talos does on a server, before it is sent to a server. */
import { has, modelledMinor } from '../versions.ts'
import { type ConfigDocument, decodeDocuments, duplicates } from './decode.ts'
import { ConfigError, type ConfigProblem, readDocuments } from './tree.ts'
import { validateAgainstMain, validateDocument } from './validate-documents.ts'
import { validateMain } from './validate-main.ts'
import { validateWhole } from './validate/whole.ts'

export interface Validation {
  /** Problems for which Talos refuses the configuration, with their lines in the text. */
  errors: ConfigProblem[]
  /** Warnings of Talos. */
  warnings: string[]
}

/** Validates the text of a whole configuration. Never throws, whatever the text. */
export function validateConfig(
  yaml: string,
  options: { talosVersion: string; inContainer?: boolean },
): Validation {
  if (modelledMinor(options.talosVersion) === undefined)
    return { errors: [{ message: `Talos ${options.talosVersion} is not supported` }], warnings: [] }
  let documents: ConfigDocument[]
  const errors: ConfigProblem[] = []
  try {
    const decoded = decodeDocuments(readDocuments(yaml, 'config'), {
      talosVersion: options.talosVersion,
    })
    documents = decoded.documents
    errors.push(...decoded.problems, ...duplicates(documents))
  } catch (error) {
    if (error instanceof ConfigError) return { errors: [...error.problems], warnings: [] }
    throw error
  }
  // Like Talos, stop if the text can't be loaded.
  if (errors.length > 0) return { errors, warnings: [] }
  const main = documents.find(({ shape }) => shape.kind === '')
  const reports = []
  if (main === undefined) errors.push({ message: 'The machine’s main document is missing' })
  else
    reports.push(
      validateMain(main.root, {
        talosVersion: options.talosVersion,
        inContainer: options.inContainer ?? false,
      }),
    )
  for (const document of documents) {
    if (document === main) continue
    const report = validateDocument(document, options.talosVersion)
    if (main !== undefined) validateAgainstMain(document, main.root, report)
    reports.push(report)
  }
  const whole =
    main !== undefined && has(options.talosVersion, 'kubernetesDocuments')
      ? [validateWhole(documents, main.root, options.inContainer ?? false)]
      : []
  return {
    errors: [...errors, ...[...reports, ...whole].flatMap((r) => r.errors)],
    warnings: [...reports, ...whole].flatMap((r) => r.warnings),
  }
}
