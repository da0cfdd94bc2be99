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
  /** A comma belongs to the value. */
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

/** What stands on the command line without a name. Only the last may be optional or many. */
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
  /** Prints the value itself with --json, and for people what the function makes of it. */
  readonly show: <T>(value: T, people: (value: T) => string) => void
  /** Runs a command of the program itself, which has to be on this machine. Resolves to its exit code. */
  readonly runProgram: (args: readonly string[]) => Promise<number>
}

/** What the parser makes of a command line, by the names of the declarations. */
export interface Read {
  readonly operands: Readonly<Record<string, string | string[] | undefined>>
  readonly options: Readonly<Record<string, string | string[] | number | boolean | undefined>>
}

/** One command, declared once: parsing, help and completion follow from it. */
export interface Command {
  /** `server list` */
  readonly name: string
  readonly summary: string
  readonly operands: Operands
  readonly options: Options
  /** Command lines without the word steelyard. */
  readonly examples: readonly string[]
  /** Whether --json means anything here. */
  readonly json: boolean
  /** A command of the program itself: it does nothing in a client that has no program beside it. */
  readonly local: boolean
  /** Resolves to the exit code where it isn't 0 and nothing was thrown. */
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
    // The parser builds what it read from these very declarations, which is what makes the narrower type true.
    run: async (context, read) => (await run(context, read as unknown as Given<P, O>)) ?? undefined,
  }
}

/** The choices without those that are another one the other way round. */
export const shownChoices = (choices: readonly string[] = []): readonly string[] => choices.filter((c) => !c.startsWith('-'))

/** Options of every command. */
export const globalOptions = {
  url: { kind: 'text', value: 'URL', help: 'Address of Steelyard (or STEELYARD_URL; else the one that was signed in to last)' },
  json: { kind: 'flag', help: 'Print JSON for scripts' },
  help: { kind: 'flag', help: 'Show this help' },
} as const satisfies Options

/** The object without the keys that were not given: an undefined filter is no filter. */
export const given = <T extends object>(values: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as { [K in keyof T]: Exclude<T[K], undefined> }

export const printer =
  (terminal: Terminal, json: boolean): Context['show'] =>
  (value, people) =>
    terminal.out(json ? `${safeJson(value, 2)}\n` : people(value))
