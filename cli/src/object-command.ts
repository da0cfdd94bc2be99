import type { Answer, Asked, Operation } from '#contract/operation.ts'
import { type AnyGiven, type Command, type Context, type Given, type Operands, type Options } from './command.ts'
import type { Found, Noun } from './nouns.ts'

interface Declared<O extends Operation, P extends Operands, Q extends Options> extends Pick<Command, 'name'> {
  /** The object that the command is about: its first operand. */
  readonly of: Noun
  /** The call, whose path parameter is the object's id. */
  readonly operation: O
  /** Default: the operation's own. */
  readonly summary?: string
  /** Default: the command with an example of the object. */
  readonly examples?: Command['examples']
  /** After the object's own. */
  readonly operands?: P
  readonly options?: Q
  /** Query and body of the call. Asks the user first, where the act can't be undone. */
  ask?(context: Context, given: Given<P, Q>, object: Found): Promise<Sent<O>>
  /** What is printed of the answer. `name`: the object, as the user named it. */
  say?(answer: Answer<O>, name: string, context: Context): string
  /** Instead of `say`: prints the answer and resolves to the exit code. */
  done?(context: Context, answer: Answer<O>, given: Given<P, Q>): number | undefined | Promise<number | undefined>
}
type Sent<O extends Operation> = Partial<Pick<Asked<O>, 'query' | 'body'>>
/** Without the types of operands and options, which the declaration alone knows. */
type Acts<O extends Operation> = Pick<Declared<O, Operands, Options>, 'ask' | 'say' | 'done'>

/** A command about one object: finds the object that the first operand names, calls the API with its id, prints the answer. */
export function objectCommand<O extends Operation, const P extends Operands = Record<string, never>, const Q extends Options = Record<string, never>>(
  declared: Declared<O, P, Q>,
): Command {
  const { name, of, operation, summary = operation.summary, examples = [`${name} ${of.example}`], operands, options = {} } = declared
  const acts: Acts<O> = declared
  const operand = of.value.toLowerCase()
  return {
    name,
    summary,
    examples,
    operands: { [operand]: of, ...operands },
    options,
    json: true,
    local: false,
    async run(context: Context, given: AnyGiven) {
      const object = await of.find(context.api, String(given.operands[operand]))
      const { id } = object
      const answer = (await context.api.call<Operation>(operation, { params: { id }, ...(await acts.ask?.(context, given, object)) })) as Answer<O>
      if (acts.done) return acts.done(context, answer, given)
      context.show(answer ?? { id }, () => acts.say?.(answer, object.name, context) ?? '')
      return undefined
    },
  }
}
