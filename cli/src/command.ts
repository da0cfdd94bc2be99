import type { Api } from './api/client.ts'
import type { Terminal } from './terminal.ts'

interface Described {
  /** One line for the help. */
  readonly help: string
}
export interface TextOption extends Described {
  readonly kind: 'text'
  /** Stands for the value in the help. */
  readonly value: string
  readonly choices?: readonly string[]
  /** May be given several times, each also as a comma-separated list unless it is `whole`. */
  readonly many?: true
  /** A comma is part of the value. */
  readonly whole?: true
}
export interface NumberOption extends Described {
  readonly kind: 'number'
  readonly value: string
  /** Takes fractions and negative numbers too, such as coordinates. */
  readonly decimal?: true
}
export interface FlagOption extends Described {
  readonly kind: 'flag'
}
export type Option = TextOption | NumberOption | FlagOption
export type Options = Readonly<Record<string, Option>>

/** A positional argument. Only the last one may be optional or repeated. */
export interface Operand extends Described {
  readonly value: string
  readonly optional?: true
  readonly many?: true
}
export type Operands = Readonly<Record<string, Operand>>

type TextValue<O> = O extends { choices: readonly (infer C)[] } ? C : string
/** Of a declared option; of any option, where the declaration isn't known. */
type OptionValue<O> = Option extends O
  ? string | string[] | number | boolean | undefined
  : O extends FlagOption
    ? boolean
    : O extends { many: true }
      ? TextValue<O>[]
      : (O extends NumberOption ? number : TextValue<O>) | undefined
type OperandValue<O> = Operand extends O
  ? string | string[] | undefined
  : O extends { many: true }
    ? string[]
    : O extends { optional: true }
      ? string | undefined
      : string
export interface Given<P extends Operands, O extends Options> {
  readonly operands: { readonly [K in keyof P]: OperandValue<P[K]> }
  readonly options: { readonly [K in keyof O]: OptionValue<O[K]> }
}

/** Operands and options of a command whose declaration isn't known. */
export type AnyGiven = Given<Operands, Options>

export interface Context {
  readonly terminal: Terminal
  readonly api: Api
  readonly json: boolean
  /** Prints the value as JSON with --json, otherwise the text that the function returns. */
  readonly show: <T>(value: T, people: (value: T) => string) => void
  /** Runs a command of the server program, which must be installed on this machine. Resolves to its exit code. */
  readonly runProgram: (args: readonly string[]) => Promise<number>
}

/** Declaration of a command. Parsing, help and completion are derived from it. */
export interface Command<P extends Operands = Operands, O extends Options = Options> {
  /** `server list` */
  readonly name: string
  readonly summary: string
  readonly operands: P
  readonly options: O
  /** Command lines without the leading `steelyard`. */
  readonly examples: readonly string[]
  /** Whether the command has --json. */
  readonly json: boolean
  /** A command of the server program. The standalone client refuses it. */
  readonly local: boolean
  /** Resolves to the exit code, or to nothing for 0. */
  run(context: Context, given: Given<P, O>): Promise<number | undefined | void>
}
type Optional = 'operands' | 'options' | 'json' | 'local'

export const command = <const P extends Operands = Record<string, never>, const O extends Options = Record<string, never>>(
  declared: Omit<Command<P, O>, Optional> & Partial<Pick<Command<P, O>, Optional>>,
): Command<P, O> => ({ operands: {} as P, options: {} as O, json: true, local: false, ...declared })

/** The choices without the descending variants (`-name`). */
export const shownChoices = (choices: readonly string[] = []): readonly string[] => choices.filter((c) => !c.startsWith('-'))

/** Options of every command. */
export const globalOptions = {
  url: { kind: 'text', value: 'URL', help: 'Address of Steelyard (or STEELYARD_URL; else the one that was signed in to last)' },
  json: { kind: 'flag', help: 'Print JSON for scripts' },
  help: { kind: 'flag', help: 'Show this help' },
} as const satisfies Options

/** The object without its undefined values. */
export const given = <T extends object>(values: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as { [K in keyof T]: Exclude<T[K], undefined> }
