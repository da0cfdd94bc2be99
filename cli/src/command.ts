import type { Api } from './api/client.ts'
import type { Terminal } from './terminal.ts'
import { safeJson } from './text.ts'

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
type OptionValue<O> = O extends FlagOption ? boolean : O extends { many: true } ? TextValue<O>[] : (O extends NumberOption ? number : TextValue<O>) | undefined
type OperandValue<O> = O extends { many: true } ? string[] : O extends { optional: true } ? string | undefined : string
export interface Given<P extends Operands, O extends Options> {
  readonly operands: { readonly [K in keyof P]: OperandValue<P[K]> }
  readonly options: { readonly [K in keyof O]: OptionValue<O[K]> }
}

export interface Context {
  readonly terminal: Terminal
  readonly api: Api
  readonly json: boolean
  /** Prints the value as JSON with --json, otherwise the text that the function returns. */
  readonly show: <T>(value: T, people: (value: T) => string) => void
  /** Runs a command of the server program, which must be installed on this machine. Resolves to its exit code. */
  readonly runProgram: (args: readonly string[]) => Promise<number>
}

/** A parsed command line: operands and options by their declared names. */
export interface Read {
  readonly operands: Readonly<Record<string, string | string[] | undefined>>
  readonly options: Readonly<Record<string, string | string[] | number | boolean | undefined>>
}

/** Declaration of a command. Parsing, help and completion are derived from it. */
export interface Command {
  /** `server list` */
  readonly name: string
  readonly summary: string
  readonly operands: Operands
  readonly options: Options
  /** Command lines without the leading `steelyard`. */
  readonly examples: readonly string[]
  /** Whether the command has --json. */
  readonly json: boolean
  /** A command of the server program. The standalone client refuses it. */
  readonly local: boolean
  /** Resolves to the exit code, or to nothing for 0. */
  readonly run: (context: Context, read: Read) => Promise<number | undefined>
}

interface Declared<P extends Operands, O extends Options> extends Pick<Command, 'name' | 'summary' | 'examples'> {
  readonly operands?: P
  readonly options?: O
  readonly json?: false
  readonly local?: true
  readonly run: (context: Context, given: Given<P, O>) => Promise<number | undefined | void>
}

export function command<const P extends Operands = Record<string, never>, const O extends Options = Record<string, never>>(declared: Declared<P, O>): Command {
  const { operands = {}, options = {}, json = true, local = false, run, ...rest } = declared
  return {
    ...rest,
    operands,
    options,
    json,
    local,
    // The parser builds its result from these declarations, so the narrower type holds.
    run: async (context, read) => (await run(context, read as unknown as Given<P, O>)) ?? undefined,
  }
}

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

export const printer =
  (terminal: Terminal, json: boolean): Context['show'] =>
  (value, people) =>
    terminal.out(json ? `${safeJson(value, 2)}\n` : people(value))
