/** What is wrong with the text of a configuration or a patch. */

export interface ConfigProblem {
  message: string
  /** Keys and indexes with dots: `machine.network.interfaces.0.mtu`. */
  path?: string
  line?: number
  column?: number
}

/** A text can't be parsed, merged or validated. Lists all problems. */
export class ConfigError extends Error {
  readonly problems: readonly ConfigProblem[]
  /** The layer with the error, if there are several. */
  readonly layer: string | undefined
  /** The text can't be read as YAML. */
  readonly isUnreadable: boolean = false

  constructor(problems: readonly ConfigProblem[], layer?: string) {
    super(problems.map((p) => p.message).join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
    this.layer = layer
  }
}
